"""One setting that is searched: a range or choices, and what neither may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.errors import ConfigError

Scale = Literal["linear", "log"]
Choice = str | int | float | bool
"""One of a list of values; lists such as widths are written as text, `[64]`."""
_INSIDE_FRAC = 0.381966
"""Where a range is looked at beside its ends: at no whole number, unless only those are meant."""


@dataclass(frozen=True)
class SearchParameter:
    """One setting and where it may lie: from low to high, or one of some choices."""

    key: str
    """Dotted key of the training configuration."""
    low: float = 0.0
    high: float = 0.0
    scale: Scale = "linear"
    """`log`: as many trials in every factor of ten."""
    step: int = 0
    """Whole numbers so far apart; 0: any number."""
    choices: tuple[Choice, ...] = ()
    """Instead of a range."""

    @property
    def words(self) -> str:
        """Where it may lie, for people."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.low:g} … {self.high:g}{' (log)' if self.scale == 'log' else ''}"

    @property
    def first(self) -> Choice:
        """The first choice, or the lowest value."""
        return self.tested[0]

    @property
    def tested(self) -> tuple[Choice, ...]:
        """All choices, or both ends and something between them: a configuration must take each."""
        if self.choices:
            return self.choices
        if self.step:
            return int(self.low), int(self.high)
        inside = self.low * (1.0 - _INSIDE_FRAC) + self.high * _INSIDE_FRAC
        return float(self.low), float(self.high), inside


def check_parameter(made: SearchParameter, where: str | None) -> None:
    """Refuse a setting that leaves nothing to choose, or that would be tried outside of its range.

    Raises:
        ConfigError: Naming the setting.
    """
    if made.choices:
        _check_choices(made, where)
        return
    if not made.low < made.high:
        raise ConfigError(
            f"{made.key} must have low below high, or two choices or more",
            was=f"low {made.low:g}, high {made.high:g}",
            where=where,
            remedy="Give one of the two",
        )
    if made.scale == "log" and made.low <= 0.0:
        rule = f"low of {made.key} must be above 0 where its scale is log"
        raise ConfigError(rule, was=f"{made.low:g}", where=where, remedy="Raise it")
    if made.step:
        _check_step(made, where)


def _check_choices(made: SearchParameter, where: str | None) -> None:
    choices = made.choices
    twice = [each for place, each in enumerate(choices) if each in choices[:place]]
    if len(choices) < 2 or twice:
        raise ConfigError(
            f"{made.key} must have low below high, or two choices or more, each once",
            was=f"{twice[0]!r} twice" if twice else f"{len(choices)} choices",
            where=where,
            remedy="Write each choice once" if twice else "Give another one, or a range",
        )


def _check_step(made: SearchParameter, where: str | None) -> None:
    """Refuse a step that the range does not fit: whole numbers below low would be tried."""
    if made.scale == "log" and made.step > 1:
        rule = f"step of {made.key} must be 1 where its scale is log: it would be passed over"
        remedy = "Write step: 1 for whole numbers, or the values as choices"
        raise ConfigError(rule, was=str(made.step), where=where, remedy=remedy)
    low, high = int(made.low), int(made.high)
    is_whole = (low, high) == (made.low, made.high)
    if is_whole and (high - low) % made.step == 0:
        return
    nearest = low + max(1, (high - low) // made.step) * made.step
    raise ConfigError(
        f"{made.key} must have whole numbers as low and high, a whole number of steps apart",
        was=f"low {made.low:g}, high {made.high:g}, step {made.step}",
        where=where,
        remedy=f"Write e.g. low: {low}, high: {nearest}",
    )
