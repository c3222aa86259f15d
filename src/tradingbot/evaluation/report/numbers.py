"""How numbers are written on the page: units, signs, and what has no number."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from tradingbot.evaluation.statistics.interval import Interval

NOTHING = "–"
_MINUS = "−"
_THIN = "\u202f"  # narrow, and no line breaks at it
# A number of its own, not one of a list without spaces: `[128,128]`, `layers=128,128`.
_THOUSANDS = re.compile(r"(?<![\w.,=\[])\d{1,3}(?:,\d{3})+(?!\w|,\d)")


def plain(number: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """Write a number with fixed digits; NaN and None as a dash, infinity as ∞."""
    if number is None or math.isnan(number):
        return NOTHING
    sign = _MINUS if number < 0 else "+" if signed else ""
    if math.isinf(number):
        return f"{sign}∞"
    if abs(number) >= 10_000:
        digits = 0
    text = f"{abs(number):,.{digits}f}".replace(",", _THIN)
    if not any(digit in text for digit in "123456789"):
        sign = ""  # no "−0.00"
    return f"{sign}{text}"


def percent(fraction: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """Write a fraction as a percentage."""
    if fraction is None or math.isnan(fraction):
        return NOTHING
    return f"{plain(fraction * 100, digits, signed=signed)}{_THIN}%"


def bps(number: float | None, digits: int = 2) -> str:
    """Write basis points with their sign and unit."""
    if number is None or math.isnan(number):
        return NOTHING
    return f"{plain(number, digits, signed=True)}{_THIN}bp"


def count(number: float | None) -> str:
    """Write a whole number."""
    return plain(number, 0)


def quantity(units: float | Decimal) -> str:
    """Write units of a symbol with six significant digits.

    Example:
        >>> quantity(-18.2572), quantity(4700), quantity(0.0)
        ('−18.2572', '4\u202f700', '0')
    """
    return f"{units:,.6g}".replace("-", _MINUS).replace(",", _THIN)


def format_interval(interval: Interval | None, digits: int = 2) -> str:
    """Write the ends of an interval: `[0.12, 0.34]`; nothing where no end is known."""
    if interval is None or (math.isnan(interval.low) and math.isnan(interval.high)):
        return ""
    return f"[{plain(interval.low, digits)}, {plain(interval.high, digits)}]"


def with_interval(interval: Interval | None, digits: int = 2) -> str:
    """Write an estimate and the ends of its interval."""
    if interval is None:
        return NOTHING
    return f"{plain(interval.estimate, digits)} {format_interval(interval, digits)}".rstrip()


def share(interval: Interval | None, digits: int = 0) -> str:
    """Write a fraction and its interval as percentages."""
    if interval is None:
        return NOTHING
    ends = format_interval(interval.scaled(100), digits)
    return f"{percent(interval.estimate, digits)} {ends}".rstrip()


def money(amount: float | None) -> str:
    """Write an amount of account currency in thousands, millions or billions."""
    if amount is None or not math.isfinite(amount):
        return plain(amount)
    for size, unit in ((1e9, "bn"), (1e6, "m"), (1e3, "k")):
        if abs(amount) >= size:
            return f"{amount / size:.3g}{_THIN}{unit}".replace("-", _MINUS)
    return f"{amount:.3g}".replace("-", _MINUS)


def typeset(words: str) -> str:
    """Keep numbers and their units on one line; write thousands, comparisons and minus as signs."""
    words = _THOUSANDS.sub(lambda found: found.group().replace(",", _THIN), words)
    signs = words.replace("<=", "≤").replace(">=", "≥")
    signs = re.sub(r"(?<![\w-])-(?=\d)", _MINUS, signs)
    return re.sub(r"(?<=\d) (?=(?:%|bp|m|k|bn)(?:\W|$))", _THIN, signs)


def sentence(words: str) -> str:
    """Begin with a capital and end with a full stop; nothing stays nothing."""
    words = words.strip()
    return words[:1].upper() + words[1:].rstrip(".") + "." if words else ""


def format_count(number: int, things: str) -> str:
    """Write how many of something there are: `1 window`, `2 windows`."""
    return f"{count(number)} {things.removesuffix('s') if number == 1 else things}"


def finite(numbers: tuple[float | None, ...] | list[float]) -> list[float]:
    """Keep what can be drawn."""
    return [number for number in numbers if number is not None and math.isfinite(number)]
