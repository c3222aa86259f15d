"""Run directories: one folder per run, self-describing, and locked while it is written.

<workspace>/runs/<id>/
    run.json  status.json  lock
    checkpoints/<update>-<kind>/      see `checkpoint.py`
    <name>.jsonl                      see `journal.py`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tradingbot import __version__
from tradingbot.data.atomic import (
    atomic_directory,
    is_locked,
    require_no_links,
    storage_errors,
    sweep_temporaries,
    write_text,
)
from tradingbot.domain.errors import StorageError
from tradingbot.runs.journal import read_journal
from tradingbot.runs.lock import hold_lock
from tradingbot.runs.names import automatic_name, free_name, require_name, require_new_name
from tradingbot.runs.record import (
    Resumption,
    RunPlan,
    RunRecord,
    RunState,
    RunStatus,
    content_sha256,
    draw_seed,
)
from tradingbot.runs.recorded_files import record_file, require_recorded

RECORD_FILE, STATUS_FILE, LOCK_FILE = "run.json", "status.json", "lock"
_Stored = TypeVar("_Stored", RunRecord, RunStatus)


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk."""

    path: Path
    record: RunRecord

    @classmethod
    def create(
        cls, root: Path, plan: RunPlan, *, created_at: datetime, name: str | None = None
    ) -> RunDirectory:
        """Make the folder of a new run, whole or not at all.

        Args:
            root: `<workspace>/runs`.
            plan: What is to be run.
            created_at: Now, UTC; results do not depend on it.
            name: Its id; by default time, learner and digits of the configuration's hash.

        Raises:
            ConfigError: If the name is taken or cannot be one.
            StorageError: If the disk refuses.
        """
        wanted = name or automatic_name(plan.learner, plan.config, created_at)
        record = _describe(plan, created_at, wanted)
        with storage_errors(root):
            root.mkdir(parents=True, exist_ok=True)
        with hold_lock(root / ".creation", "runs folder"):
            if name is None:
                record = record.model_copy(update={"id": free_name(root, record.id)})
            require_new_name(root, record.id)
            path = root / record.id
            with atomic_directory(path) as temporary:
                sweep_temporaries(root)
                status = RunStatus(state="running", changed_at=created_at)
                record = record.sealed()
                _dump(temporary / RECORD_FILE, record)
                _dump(temporary / STATUS_FILE, status.sealed())
        return cls(path, record)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open a run's folder.

        Raises:
            StorageError: If it is none, is damaged, or is of a newer version.
        """
        record = _load(path / RECORD_FILE, RunRecord)
        if content_sha256(record.config) != record.config_sha256:
            raise _damaged(path / RECORD_FILE, "configuration does not match its hash")
        return cls(path, record)

    @property
    def id(self) -> str:
        """Name of the run."""
        return self.record.id

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    def journal_path(self, name: str) -> Path:
        """Path of a journal, e.g. `metrics`."""
        return self.path / f"{name}.jsonl"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one process that writes to the run; the lock dies with the process.

        Raises:
            ConfigError: If another process is, at once.
            StorageError: If a file or folder of the run is a link, or the disk refuses.
        """
        require_no_links(self.path)
        with hold_lock(self.path / LOCK_FILE, "run"):
            yield

    def is_held(self) -> bool:
        """Tell whether a process writes to the run now."""
        return is_locked(self.path / LOCK_FILE)

    def status(self) -> RunStatus:
        """Read how far the run is.

        Raises:
            StorageError: If the file is damaged.
        """
        return read_status(self.path)

    def read_journal(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a journal; of a finished run only as they were when it finished.

        Raises:
            StorageError: If the file is missing, was changed since, or a line is damaged.
        """
        path = self.journal_path(name)
        require_recorded(self.path, path.name, self.status())
        yield from read_journal(path)

    def write_status(
        self,
        state: RunState,
        *,
        at: datetime,
        update: int,
        steps: int,
        reason: str | None = None,
        verdicts: tuple[str, ...] = (),
    ) -> None:
        """Say how far the run is; resumptions stay as they are.

        Raises:
            StorageError: If the disk refuses; the old status stays.
        """
        self.store_status(
            self._changed_status(
                state=state,
                reason=reason,
                update=update,
                steps=steps,
                changed_at=at,
                verdicts=verdicts,
            )
        )

    def finished_status(
        self, files: Sequence[str], *, at: datetime, update: int, steps: int
    ) -> RunStatus:
        """Return the status of a run that is finished, for `store_status`.

        Args:
            files: Paths below the run's folder of everything that results and verdicts read; they
                are hashed now.
            at: Now, UTC.
            update: Updates made.
            steps: Environment steps per agent.

        Raises:
            StorageError: If a file is missing.
        """
        recorded = {name: record_file(self.path / name) for name in files}
        return self._changed_status(
            state="finished",
            reason=None,
            update=update,
            steps=steps,
            changed_at=at,
            verdicts=(),
            files=recorded,
        )

    def store_status(self, status: RunStatus) -> None:
        """Replace the status.

        Raises:
            StorageError: If the disk refuses; the old status stays.
        """
        write_text(self.path / STATUS_FILE, _text(status))

    def record_resumption(self, resumption: Resumption) -> None:
        """Write down that the run goes on, from where and against which objections."""
        self.store_status(
            self._changed_status(
                state="running",
                reason=None,
                update=resumption.update,
                changed_at=resumption.at,
                resumptions=(*self.status().resumptions, resumption),
            )
        )

    def _changed_status(self, **changes: Any) -> RunStatus:
        anew: dict[str, Any] = {"version": 2, "files": {}, **changes}
        return self.status().model_copy(update=anew).sealed()


def read_status(run: Path) -> RunStatus:
    """Read how far the run of a folder is.

    Raises:
        StorageError: If the file is missing, damaged or was edited.
    """
    return _load(run / STATUS_FILE, RunStatus)


def _describe(plan: RunPlan, created_at: datetime, name: str) -> RunRecord:
    if created_at.utcoffset() != timedelta(0):
        raise ValueError("created_at must be in UTC")
    require_name(name)
    config: dict[str, Any] = dict(plan.config)
    names = "learner data environment git code_sha256 parent parameters periods tracking"
    return RunRecord(
        **{field: getattr(plan, field) for field in names.split()},
        id=name,
        created_at=created_at,
        config=config,
        config_sha256=content_sha256(config),
        seeds={"root": draw_seed() if plan.seed is None else plan.seed},
        seed_was_drawn=plan.seed is None or plan.seed_was_drawn,
        code_version=__version__,
    )


def _dump(path: Path, content: BaseModel) -> None:
    path.write_text(_text(content), encoding="utf-8")


def _text(content: BaseModel) -> str:
    return content.model_dump_json(indent=1) + "\n"


def _load(path: Path, kind: type[_Stored]) -> _Stored:
    try:
        found = kind.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as e:
        raise _damaged(path, _problem(e)) from e
    if found.version > 1 and not found.is_sealed():
        raise _damaged(path, "edited")
    return found


def _problem(error: OSError | ValidationError | UnicodeDecodeError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}"
    return (error.strerror if isinstance(error, OSError) else None) or "unreadable"


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "run must be described by a readable file of this version",
        was=was,
        where=str(path),
        remedy="Restore the file, or train again",
    )
