"""Text of an option as a value: numbers and truth values become such, the rest stays text."""

from __future__ import annotations

from tradingbot.domain.plain_values import read_number


def read_values(pairs: dict[str, str]) -> dict[str, object]:
    """Read what looks like a number or a truth value as one; the market's model checks the rest."""
    return {key: _value(text) for key, text in pairs.items()}


def _value(text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return read_number(text)
