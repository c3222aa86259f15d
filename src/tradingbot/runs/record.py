"""What a run says of itself: the record that is written once, and the status that changes."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.day_range import DayRange

RunState = Literal["running", "finished", "interrupted", "failed", "halted"]


class StoredModel(BaseModel):
    """Base of what runs keep as JSON: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataIdentity(StoredModel):
    """Which numbers were learned from."""

    label: str
    """Data, period and seed in words."""
    synthetic: bool
    """Generated, not observed."""
    data_sha256: str
    """Hash of the panel's manifest; of the world's arrays where there is no panel."""
    dataset_sha256: str | None = None
    """Hash of the bars before anything was chosen or made of them: all symbols, all days, no
    features; None in runs of older versions that generated their market."""
    certificate_sha256: str | None = None
    """Of the proof that features are causal; None where nothing was to be proved."""
    normaliser_sha256: str | None = None
    """`final_hash` of the statistics that inputs are scaled by; None where there are none."""
    feature_ids: tuple[str, ...] = ()
    """Name and version of every input column, in order."""
    agents: tuple[str, ...] = ()
    """Names of the agents, in order."""

    @property
    def in_words(self) -> str:
        """The data in words; what was generated is called so."""
        is_said = not self.synthetic or "synthetic" in self.label
        return self.label if is_said else f"{self.label}, synthetic"


class GitState(StoredModel):
    """Which sources, where they are under version control."""

    commit: str | None = None
    dirty: bool | None = None
    """Whether files differ from the commit."""


class RunRecord(SealedRecord):
    """`run.json`: everything that identifies a run; never changed."""

    version: Literal[1, 2] = 2
    """Version 1 has no seal; only its configuration is compared with a hash."""
    id: str
    created_at: datetime
    learner: str
    config: dict[str, Any]
    """Merged configuration, plain values."""
    config_sha256: str
    data: DataIdentity
    seeds: dict[str, int]
    """Root seeds; `root` always, drawn where none was given."""
    seed_was_drawn: bool
    environment: dict[str, str | int]
    git: GitState
    code_version: str
    code_sha256: str
    """Hash of the sources that can move a result."""
    parent: str | None = None
    """Run whose weights this one began with."""
    parameters: dict[str, int] = Field(default_factory=dict)
    """Counts of `networks.parameters.ParameterReport`; empty in runs of older versions."""
    periods: dict[str, DayRange] = Field(default_factory=dict)
    """Days of train, validation and test; empty in runs of older versions."""
    tracking: dict[str, str] = Field(default_factory=dict)
    """Where figures go besides this folder, so that a resumed run does not call elsewhere; no
    password; empty in runs of older versions."""


class Resumption(StoredModel):
    """One continuation of a run."""

    at: datetime
    update: int
    """Update of the checkpoint it continued from; 0 from the beginning."""
    checkpoint: str | None = None
    skipped: tuple[str, ...] = ()
    """Damaged checkpoints that were passed over, with the reason."""
    forced: tuple[str, ...] = ()
    """What differed from the record and was accepted by --force."""


class RecordedFile(StoredModel):
    """A file of a run as it was when the run finished."""

    n_bytes: int
    sha256: str


class RunStatus(SealedRecord):
    """`status.json`: how far a run is; replaced whole."""

    version: Literal[1, 2] = 2
    """Version 1 has neither a seal nor `files`."""
    state: RunState
    reason: str | None = None
    """Why it ended, in words."""
    update: int = 0
    steps: int = 0
    """Environment steps per agent."""
    changed_at: datetime
    resumptions: tuple[Resumption, ...] = ()
    verdicts: tuple[str, ...] = ()
    """What the flight recorder found, in words."""
    files: dict[str, RecordedFile] = Field(default_factory=dict)
    """Of a finished run: path below its folder → every file that results and verdicts read."""


@dataclass(frozen=True)
class RunPlan:
    """What the application knows before a run begins."""

    learner: str
    config: Mapping[str, Any]
    """Merged configuration: text, numbers, truth values, lists and mappings only."""
    data: DataIdentity
    code_sha256: str
    seed: int | None = None
    """None: one is drawn and kept."""
    seed_was_drawn: bool = False
    """Whether the seed was drawn, not chosen."""
    environment: Mapping[str, str | int] = field(default_factory=dict)
    git: GitState = field(default_factory=GitState)
    parent: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    """What agents weigh; see `RunRecord.parameters`."""
    periods: Mapping[str, DayRange] = field(default_factory=dict)
    """See `RunRecord.periods`."""
    tracking: Mapping[str, str] = field(default_factory=dict)
    """Where figures go; see `RunRecord.tracking`."""


def content_sha256(content: object) -> str:
    """Hash plain values by their canonical JSON text; NaN and infinity have none.

    Example:
        >>> content_sha256({"a": 1, "b": 2}) == content_sha256({"b": 2, "a": 1})
        True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def draw_seed() -> int:
    """Return a random seed, below 2^63, from the system's entropy."""
    return secrets.randbits(63)
