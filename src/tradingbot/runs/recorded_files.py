"""Files of a run by the hashes it keeps of them: what is missing or was changed since is refused.

A finished run has in its status the hash of every file that results and verdicts read. Before that,
and in runs of version 1, the newest checkpoint says how far each journal goes and what it holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.data.atomic import file_sha256, storage_errors
from tradingbot.domain.errors import StorageError
from tradingbot.runs.journal import verify_mark
from tradingbot.runs.loading import list_checkpoints
from tradingbot.runs.manifest import read_manifest
from tradingbot.runs.record import RecordedFile, RunStatus

if TYPE_CHECKING:
    from tradingbot.runs.directory import RunDirectory


def record_file(path: Path) -> RecordedFile:
    """Hash a file for the status of a run.

    Raises:
        StorageError: If it is missing.
    """
    with storage_errors(path):
        return RecordedFile(n_bytes=path.stat().st_size, sha256=file_sha256(path))


def require_recorded(folder: Path, name: str, status: RunStatus) -> None:
    """Refuse a file of a finished run that is not as it was; others have recorded nothing.

    Args:
        folder: Of the run.
        name: Path of the file below it.
        status: Of the run.

    Raises:
        StorageError: If the file is missing or was changed since.
    """
    problem = _problem(folder, name, status) if status.files else None
    if problem is not None:
        raise _refusal(folder / name, problem)


def require_files(run: RunDirectory) -> None:
    """Refuse a run of which any file that results and verdicts read is not as it was.

    Raises:
        StorageError: Naming all that are missing or were changed since.
    """
    problems = file_problems(run)
    if problems:
        raise _refusal(run.path, "; ".join(problems))


def file_problems(run: RunDirectory) -> tuple[str, ...]:
    """Say which files of a run are missing or not as they were, and how.

    Raises:
        StorageError: If the status is damaged.
    """
    status = run.status()
    if not status.files:
        return _journal_problems(run, is_finished=status.state == "finished")
    found = {name: _problem(run.path, name, status) for name in status.files}
    return tuple(f"{name}: {problem}" for name, problem in found.items() if problem)


def _problem(folder: Path, name: str, status: RunStatus) -> str | None:
    recorded, path = status.files.get(name), folder / name
    if recorded is None:
        return "not among the files that the run recorded when it finished"
    if path.is_symlink() or not path.is_file():
        return "missing"
    if path.stat().st_size != recorded.n_bytes:
        return f"{path.stat().st_size:,} bytes instead of {recorded.n_bytes:,}"
    return None if file_sha256(path) == recorded.sha256 else "other content"


def _journal_problems(run: RunDirectory, *, is_finished: bool) -> tuple[str, ...]:
    """Compare journals with the newest whole manifest that says how far they go."""
    problems = []
    for folder in reversed(list_checkpoints(run)):
        try:
            marks = read_manifest(folder).journals
        except StorageError:
            continue
        for name, mark in marks.items():
            path = run.journal_path(name)
            try:
                verify_mark(path, mark)
            except StorageError as e:
                problems.append(f"{path.name}: {e.was}")
                continue
            size = path.stat().st_size if path.is_file() else 0
            if is_finished and size != mark.n_bytes:
                problems.append(f"{path.name}: {size:,} bytes instead of {mark.n_bytes:,}")
        if marks:
            break
    return tuple(problems)


def _refusal(path: Path, was: str) -> StorageError:
    return StorageError(
        "files of a finished run must be as training left them",
        was=was,
        where=str(path),
        remedy="Restore them from a copy, or train again: the same seed gives the same result",
    )
