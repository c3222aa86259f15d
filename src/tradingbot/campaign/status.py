"""The status of a campaign: one JSON file, written whole, that any process may read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tradingbot.data.atomic import write_text
from tradingbot.data.json_files import json_problem
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.domain.redaction import redact
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.gates.result import GateResult

STATUS_FILE, LOCK_FILE = "status.json", "lock"
_SECONDS_BETWEEN_WRITES = 1.0

PhaseState = Literal[
    "waiting", "running", "interrupted", "passed", "failed", "not measured", "left out"
]
CampaignState = Literal["running", "finished", "stopped at a gate", "interrupted", "refused"]
_LATER: dict[str, str] = {"terms": "", "refusal": ""}
"""Fields that files of before do not have."""


@dataclass(frozen=True)
class PhaseRecord:
    """One phase: how far it is, and what its gates said."""

    name: str
    state: PhaseState = "waiting"
    words: str = ""
    """Its result in a sentence, or why it was left out."""
    run: str = ""
    """Training run that it made."""
    took_s: float = 0.0
    gates: tuple[GateResult, ...] = ()

    @property
    def failed(self) -> tuple[GateResult, ...]:
        """Gates that do not hold."""
        return tuple(gate for gate in self.gates if gate.outcome == "fail")


@dataclass(frozen=True)
class CampaignStatus:
    """Everything that `tradingbot run --status` shows."""

    name: str
    label: str
    """Of the data; empty before they are opened."""
    identity: str
    state: CampaignState
    phases: tuple[PhaseRecord, ...]
    done: int = 0
    """Of the phase that runs now."""
    total: int = 0
    doing: str = ""
    phase_left_s: float | None = None
    """Until the end of that phase, as it goes now; None where it cannot be told."""
    verdict: str = ""
    """GO, CONDITIONAL or NO-GO, once there is a dossier of all symbols."""
    headline: str = ""
    updated_at: str = ""
    process: int = 0
    terms: str = ""
    """What figures hold for: learner, steps, seed, costs, presets."""
    refusal: str = ""
    """Why it cannot go on as it is; empty unless its state is `refused`."""

    @property
    def running(self) -> PhaseRecord | None:
        """The phase that runs now."""
        return next((each for each in self.phases if each.state == "running"), None)

    def phase(self, name: str) -> PhaseRecord:
        """Return a phase by its name."""
        return next(each for each in self.phases if each.name == name)

    def with_phase(self, record: PhaseRecord) -> CampaignStatus:
        """Return it with one phase changed."""
        phases = tuple(record if each.name == record.name else each for each in self.phases)
        return replace(self, phases=phases, done=0, total=0, doing="", phase_left_s=None)


@dataclass
class StatusBoard:
    """Keeps the status of a campaign on disk while it runs."""

    folder: Path
    status: CampaignStatus
    told: Callable[[int, int, str], None] = lambda _done, _total, _label: None
    _written_at: float = 0.0
    _began: tuple[str, float] = field(default=("", 0.0))

    def show(self, record: PhaseRecord) -> None:
        """Write a phase down."""
        self.status = self.status.with_phase(record)
        self._began = (record.name, time.monotonic())
        self.write()

    def progress(self, done: int, total: int, label: str) -> None:
        """Take (finished, in all, what is done now) of the phase that runs."""
        self.told(done, total, label)
        took = time.monotonic() - self._began[1]
        left = took / done * (total - done) if 0 < done <= total else None
        told = {"done": done, "total": total, "doing": label, "phase_left_s": left}
        self.status = replace(self.status, **told)  # type: ignore[arg-type]
        if time.monotonic() - self._written_at >= _SECONDS_BETWEEN_WRITES:
            self.write()

    def change(self, **changes: object) -> None:
        """Change other fields, and write them."""
        self.status = replace(self.status, **changes)  # type: ignore[arg-type]
        self.write()

    def refuse(self, message: str) -> None:
        """Write down that the phase that runs cannot go on, and why."""
        if self.status.running is not None:
            ended = replace(self.status.running, state="interrupted")
            self.status = self.status.with_phase(ended)
        self.change(state="refused", refusal=redact(message))

    def write(self) -> None:
        """Write the file, whole."""
        now, self._written_at = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
        self.status = replace(self.status, updated_at=now, process=os.getpid())
        text = json.dumps(to_plain(self.status), indent=1, ensure_ascii=False)
        write_text(self.folder / STATUS_FILE, text + "\n")


def as_it_stands(status: CampaignStatus, *, alive: bool) -> CampaignStatus:
    """Return a status as it is true now: what no process walks any more was interrupted.

    Args:
        status: As it was last written.
        alive: Whether a process walks the campaign.
    """
    if alive or status.state not in ("running", "interrupted"):
        return status
    ended = replace(status, state="interrupted")
    running = ended.running
    return ended if running is None else ended.with_phase(replace(running, state="interrupted"))


def read_status(folder: Path) -> CampaignStatus:
    """Read where a campaign is.

    Raises:
        ConfigError: If there is none.
        StorageError: If its file is damaged.
    """
    path = folder / STATUS_FILE
    if not path.is_file():
        remedy = f"Begin it: tradingbot run {folder.name}"
        raise ConfigError("a campaign must have begun", was=repr(folder.name), remedy=remedy)
    try:
        values = json.loads(path.read_bytes())
        told = {**_LATER, **values} if isinstance(values, dict) else values
        return from_plain(CampaignStatus, told, name=STATUS_FILE)
    except (OSError, ValueError) as e:
        rule, was = "status of a campaign must be readable", json_problem(e)
        remedy = "Delete the file: what is finished is found again"
        raise StorageError(rule, was=was, where=str(path), remedy=remedy) from e
