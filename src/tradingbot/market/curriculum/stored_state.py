"""Where a learner stands, as plain values that a checkpoint can hold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import as_plain_values, read_record


class StoredState:
    """A frozen dataclass that is written and read whole."""

    title: ClassVar[str]
    """What messages call it."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        values: dict[str, Any] = as_plain_values(self)
        return values

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ConfigError: If a key is missing or unknown, or a value of the wrong kind or impossible.
        """
        rule, was = f"{cls.title} must be what to_json wrote", str(values)[:80]
        try:
            state = read_record(cls, values, name=cls.title)
        except ConfigError as e:
            raise ConfigError(rule, was=was, remedy=e.rule) from e
        if as_plain_values(state) != values:  # a key that is left out is not the default
            raise ConfigError(rule, was=was)
        return state
