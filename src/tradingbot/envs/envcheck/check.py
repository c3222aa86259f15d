"""What a check is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tradingbot.envs.envcheck.probe import EnvProbe


class CheckVerdict(StrEnum):
    """The three answers; nothing is passed on trust."""

    PASS = "PASS"  # noqa: S105 - a verdict
    FAIL = "FAIL"
    UNTESTABLE = "UNTESTABLE"
    """The environment or its probe does not show what the check must see."""


@dataclass(frozen=True)
class CheckOutcome:
    """What one run of a check saw."""

    verdict: CheckVerdict
    says: str
    """One clause with the numbers in words."""
    limit: float | None = None
    """The number the promise allows, where there is one."""
    observed: float | None = None
    """The number seen."""


@dataclass(frozen=True)
class EnvCheck:
    """One promise, a market on which its answer is known, and the judge."""

    id: str
    """The name of the function that judges."""
    promise: str
    """The sentence that must hold."""
    scenario: str
    """Market and script, in words."""
    remedy: str
    """What to change where it fails."""
    judge: Callable[[EnvProbe], CheckOutcome]
    """May raise `CannotTell`."""
    needs_dictation: bool = True
    """Must have prices it dictates, and the actions and account of a probe."""


def declare_check(
    *, promise: str, scenario: str, remedy: str, needs_dictation: bool = True
) -> Callable[[Callable[[EnvProbe], CheckOutcome]], EnvCheck]:
    """Make the function below a check of its name; arguments as the fields of `EnvCheck`."""
    return lambda judge: EnvCheck(judge.__name__, promise, scenario, remedy, judge, needs_dictation)


def make_outcome(
    holds: bool, says: str, *, limit: float | None = None, observed: float | None = None
) -> CheckOutcome:
    """Make an outcome of a truth value."""
    return CheckOutcome(CheckVerdict.PASS if holds else CheckVerdict.FAIL, says, limit, observed)
