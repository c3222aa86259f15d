"""Exact decimal numbers of money and units: what a venue states is kept digit for digit.

Units and prices have at most nine decimals, as venues accept; sums and products of them are exact,
and only a division is rounded, to `STEP`.
"""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow

from tradingbot.domain.errors import TradingError

STEP = Decimal("1e-18")
"""What the result of a division is rounded to: a product of two numbers has no more decimals."""
MAX_DECIMALS = 9
_LARGEST = Decimal("1e15")
# Wide enough that no sum or product is ever rounded; were one, it would raise instead.
EXACT = Context(prec=80, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
_ROUNDING = Context(prec=80, traps=[InvalidOperation, DivisionByZero, Overflow])


def require_exact(value: object, name: str, where: str, *, positive: bool = False) -> None:
    """Refuse what is not a finite decimal number of at most nine decimals.

    Raises:
        TradingError: Naming the field; a float is refused because 0.1 + 0.2 − 0.3 is not flat.
    """
    if not isinstance(value, Decimal):
        remedy = 'Write Decimal("0.1"), or Decimal(str(number))'
        raise TradingError(
            f"{name} must be a Decimal", was=repr(value)[:40], where=where, remedy=remedy
        )
    if not value.is_finite() or abs(value) > _LARGEST or (positive and value <= 0):
        rule = "finite and above 0" if positive else "finite"
        raise TradingError(f"{name} must be {rule}", was=value, where=where)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # it is finite
    if -exponent > MAX_DECIMALS:
        raise TradingError(
            f"{name} must have at most {MAX_DECIMALS} decimals",
            was=value,
            where=where,
            remedy="Round it to what the venue accepts",
        )


def divide(numerator: Decimal, denominator: Decimal) -> Decimal:
    """Divide, rounded to `STEP`.

    Example:
        >>> divide(Decimal(1), Decimal(3))
        Decimal('0.333333333333333333')
    """
    return _ROUNDING.divide(numerator, denominator).quantize(STEP, context=_ROUNDING)


def multiply(first: Decimal, second: Decimal) -> Decimal:
    """Multiply without rounding."""
    return EXACT.multiply(first, second)


def add(*numbers: Decimal) -> Decimal:
    """Add without rounding."""
    total = Decimal(0)
    for number in numbers:
        total = EXACT.add(total, number)
    return total


def plain_text(number: Decimal) -> str:
    """Write a number without exponent and without trailing zeros.

    Example:
        >>> plain_text(Decimal("1.500")), plain_text(Decimal("1e3"))
        ('1.5', '1000')
    """
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
