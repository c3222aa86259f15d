"""What a check is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tradingbot.envs.envcheck.probe import Probe


class Verdict(StrEnum):
    """The three answers; nothing is passed on trust."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNTESTABLE = "UNTESTABLE"
    """The environment or its probe does not show what the check must see."""


@dataclass(frozen=True)
class Outcome:
    """What one run of a check saw."""

    verdict: Verdict
    says: str
    """One clause with the numbers in words."""
    limit: float | None = None
    """The number the promise allows, where there is one."""
    observed: float | None = None
    """The number seen."""


@dataclass(frozen=True)
class Check:
    """One promise, a market on which its answer is known, and the judge."""

    id: str
    """Also the name of its file."""
    promise: str
    """The sentence that must hold."""
    scenario: str
    """Market and script, in words."""
    remedy: str
    """What to change where it fails."""
    judge: Callable[[Probe], Outcome]
    """May raise `CannotTell`."""
    needs_dictation: bool = True
    """Must have prices it dictates, and the actions and account of a probe."""


def judged(
    holds: bool, says: str, *, limit: float | None = None, observed: float | None = None
) -> Outcome:
    """Make an outcome of a truth value."""
    return Outcome(Verdict.PASS if holds else Verdict.FAIL, says, limit, observed)
