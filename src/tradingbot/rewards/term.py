"""What a reward term is: a named formula over `RewardInputs`, with options, bounds, version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Protocol, get_args

from tradingbot.domain.checks import CheckedFields
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs


class Bounds(NamedTuple):
    """The interval a number is cut to."""

    low: float
    high: float


class TermOptions(CheckedFields):
    """Options of a term: a frozen dataclass of numbers and flags that knows the term's bounds."""

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


class Formula(Protocol):
    """The formula of a term, written once for tensors and for plain numbers."""

    def __call__(self, step: RewardInputs[T], options: Any, xp: Maths[T]) -> T:
        """Return the term before it is cut to its bounds: (B,), or one number."""


Objective = Literal["profit", "risk", "activity", "timing", "exploration"]
"""What a term is for; a learner with several objectives weighs these against each other."""
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


@dataclass(frozen=True)
class RewardTerm:
    """A term of a reward. Its formula's docstring is its specification."""

    name: str
    version: int
    """Raised whenever the same step can give another number."""
    formula: Formula
    options: type[Any]
    """Frozen dataclass with `bounds`, as `TermOptions` has them; its defaults are the term's."""
    objective: Objective

    @property
    def id(self) -> str:
        """Name and version, such as `pnl-v1`."""
        return f"{self.name}-v{self.version}"

    def make_options(self, changed: Mapping[str, object]) -> TermOptions:
        """Return the term's options with some of them changed.

        Raises:
            ConfigError: If a name is unknown, a value of the wrong kind or out of range.
        """
        defaults = {field.name: field.default for field in fields(self.options)}
        for name, value in changed.items():
            where = f"reward term {self.name}"
            if name not in defaults:
                rule = "an option of a reward term must be known"
                remedy = suggest(name, defaults) if defaults else "This term has none"
                raise ConfigError(rule, was=repr(name), where=where, remedy=remedy)
            _require_kind(name, value, defaults[name], where)
        options: TermOptions = self.options(**changed)
        return options


def _require_kind(name: str, value: object, default: object, where: str) -> None:
    """Flags are true or false, everything else is a number."""
    flag = isinstance(default, bool)
    if not isinstance(value, bool if flag else int | float) or isinstance(value, bool) != flag:
        kind = "true or false" if flag else "a number"
        raise ConfigError(f"{name} must be {kind}", was=repr(value), where=where)
