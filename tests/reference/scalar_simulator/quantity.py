"""Units with the decimals of a venue, in decimal arithmetic."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

from reference.scalar_simulator.book import Book
from reference.scalar_simulator.fill import ScalarFill

_REPORTED = Decimal("1e-9")


def cut_units(units: float, decimals: int | None) -> float:
    """Cut toward 0; what misses a number of so many decimals by rounding only is that number."""
    if decimals is None:
        return units
    step = Decimal(1).scaleb(-decimals)
    nearest = Decimal(units).quantize(step, ROUND_HALF_EVEN)
    if abs(float(nearest) - units) <= 4.0 * 2.0**-52 * abs(units):
        return float(nearest)
    return float(Decimal(units).quantize(step, ROUND_DOWN))


def hold_units(book: Book, decimals: int | None) -> Book:
    """Return a book whose units have so many decimals."""
    if decimals is None:
        return book
    step = Decimal(1).scaleb(-decimals)
    return book._replace(units=float(Decimal(book.units).quantize(step, ROUND_HALF_EVEN)))


def report_fill(fill: ScalarFill) -> ScalarFill:
    """Return a fill with the decimals in which a venue reports price and fee."""
    price, fee = (
        float(Decimal(each).quantize(_REPORTED, ROUND_HALF_EVEN)) for each in (fill.price, fill.fee)
    )
    return fill._replace(price=price, fee=fee)
