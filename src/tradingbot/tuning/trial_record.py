"""One trial: its settings and its result; plain values that can be sent to any process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tradingbot.tuning.search_parameter import Choice

TrialState = Literal["finished", "pruned", "failed"]


@dataclass(frozen=True)
class TuningTrial:
    """What is tried."""

    number: int
    """From 0, in the order in which trials were chosen."""
    params: tuple[tuple[str, Choice], ...]
    """Dotted key of the training configuration → value."""
    seeds: tuple[int, ...]
    """Of its trainings."""

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"trial {self.number}"

    @property
    def words(self) -> str:
        """Its settings, for people."""
        return ", ".join(f"{key.rpartition('.')[2]}={_short(value)}" for key, value in self.params)


@dataclass(frozen=True)
class TrialResult:
    """Score, learning curve and state of a trial."""

    spec: TuningTrial
    state: TrialState
    score: float | None
    """Best mean alpha Sharpe of the learning curve; None where it failed before the first."""
    curve: tuple[tuple[int, float], ...]
    """(number of the evaluation from 1, score there)."""
    steps_per_agent: int
    """That were made, of all its trainings together."""
    took_s: float
    config_hash: str
    failed: str = ""
    """Why training was halted."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the pruner wrote down about it."""


def ledger_hash(spec: TuningTrial, config_hash: str) -> str:
    """Return what the ledger knows a trial by: two trials with equal settings are two."""
    return ended_hash(spec.number, spec.seeds, config_hash)


def ended_hash(number: int, seeds: tuple[int, ...], config_hash: str) -> str:
    """Return the same of a trial of which no more is known."""
    text = f"{number} {seeds} {config_hash}"
    return hashlib.sha256(text.encode()).hexdigest()


def best_first(results: list[TrialResult]) -> list[TrialResult]:
    """Order finished trials, the best first; of equal ones the earlier."""
    done = [each for each in results if each.state == "finished" and each.score is not None]
    return sorted(done, key=lambda each: (-(each.score or 0.0), each.spec.number))


def _short(value: Choice) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
