"""Rules that condemn a row by its own values: no market can print them.

Rules that need the row before or after live in `neighbour_checks`.
"""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality.check import QualityCheck, RowCheck, as_text
from tradingbot.data.quality.finding import FindingAction, Severity
from tradingbot.data.schema import PRICE_COLUMNS

OHLC_TOLERANCE_FRAC = 1e-9  # adjusted prices are products: the last bit may differ

_PRICES = [pl.col(name) for name in PRICE_COLUMNS]
_SAME_AS_BEFORE = pl.col("symbol") == pl.col("symbol").shift(1)


def _shown(name: str) -> pl.Expr:
    return pl.format(name + " {}", as_text(name))


SHOWN_OHLC = pl.format("o {} h {} l {} c {}", *map(as_text, PRICE_COLUMNS))
_VOLUME = _shown("volume")
_KNOWN = pl.format("known {}", pl.col("known_at").dt.to_string("iso").fill_null("never"))


NEGATIVE_PRICE = RowCheck(
    "NEGATIVE_PRICE",
    "D03",
    Severity.ERROR,
    "price must be positive",
    FindingAction.REFUSED,
    broken=pl.any_horizontal([(price < 0) & price.is_finite() for price in _PRICES]),
    shown=SHOWN_OHLC,
)
OUT_OF_ORDER = RowCheck(
    "OUT_OF_ORDER",
    "D07",
    Severity.ERROR,
    "bars of a symbol must be in order of time",
    FindingAction.REFUSED,
    broken=pl.col("closed_at") < pl.col("closed_at").shift(1).over("symbol"),
    shown=pl.format("after {}", pl.col("closed_at").shift(1).over("symbol").dt.to_string("iso")),
)
CONFLICTING_DUPLICATE = RowCheck(
    "CONFLICTING_DUPLICATE",
    "D06",
    Severity.ERROR,
    "two bars of one symbol and time must not differ",
    FindingAction.REFUSED,
    broken=_SAME_AS_BEFORE & (pl.col("closed_at") == pl.col("closed_at").shift(1)),
    shown=SHOWN_OHLC,
)
DUPLICATE_ROW = RowCheck(
    "DUPLICATE_ROW",
    "D06",
    Severity.WARNING,
    "a row was given more than once",
    FindingAction.DROPPED,
    shown=SHOWN_OHLC,
)
MISSING_KEY = RowCheck(
    "MISSING_KEY",
    "D25",
    Severity.ERROR,
    "a row must say its symbol and time",
    FindingAction.QUARANTINED,
    broken=pl.col("symbol").is_null() | pl.col("closed_at").is_null(),
    shown=SHOWN_OHLC,
)


def _impossible(code: str, case: str, message: str, broken: pl.Expr, shown: pl.Expr) -> RowCheck:
    return RowCheck(
        code, case, Severity.ERROR, message, FindingAction.QUARANTINED, broken=broken, shown=shown
    )


def _leaves_range(name: str) -> pl.Expr:
    low = pl.col("low") * (1 - OHLC_TOLERANCE_FRAC)
    return ~pl.col(name).is_between(low, pl.col("high") * (1 + OHLC_TOLERANCE_FRAC))


VALUE_CHECKS = (
    _impossible(
        "NAN_PRICE",
        "D01",
        "price must be a number",
        pl.any_horizontal([price.is_null() | price.is_nan() for price in _PRICES]),
        SHOWN_OHLC,
    ),
    _impossible(
        "INFINITE_PRICE",
        "D02",
        "price must be finite",
        pl.any_horizontal([price.is_infinite() for price in _PRICES]),
        SHOWN_OHLC,
    ),
    _impossible(
        "ZERO_PRICE",
        "D04",
        "price must be above zero",
        pl.any_horizontal([price == 0 for price in _PRICES]),
        SHOWN_OHLC,
    ),
    _impossible(
        "VOLUME_NOT_FINITE",
        "D01",
        "volume must be a finite number",
        pl.col("volume").is_null() | ~pl.col("volume").is_finite(),
        _VOLUME,
    ),
    _impossible(
        "VOLUME_NEGATIVE", "", "volume must not be negative", pl.col("volume") < 0, _VOLUME
    ),
    _impossible(
        "VWAP_INVALID",
        "D01",
        "vwap must be a positive number",
        pl.col("vwap").is_null() | ~pl.col("vwap").is_finite() | (pl.col("vwap") <= 0),
        _shown("vwap"),
    ),
    _impossible(
        "HIGH_BELOW_LOW",
        "D17",
        "high must not be below low",
        pl.col("high") < pl.col("low") * (1 - OHLC_TOLERANCE_FRAC),
        SHOWN_OHLC,
    ),
    _impossible(
        "OPEN_OUTSIDE_RANGE",
        "D17",
        "open must lie between low and high",
        _leaves_range("open"),
        SHOWN_OHLC,
    ),
    _impossible(
        "CLOSE_OUTSIDE_RANGE",
        "D17",
        "close must lie between low and high",
        _leaves_range("close"),
        SHOWN_OHLC,
    ),
    _impossible(
        "KNOWN_BEFORE_CLOSE",
        "",
        "a bar must not be known before it closed",
        pl.col("known_at").is_null() | (pl.col("known_at") < pl.col("closed_at")),
        _KNOWN,
    ),
)

STAMP_IN_FUTURE = RowCheck(
    "STAMP_IN_FUTURE",
    "D20",
    Severity.ERROR,
    "a bar must not be stamped later than now",
    FindingAction.QUARANTINED,
    broken=pl.max_horizontal("closed_at", "known_at") > pl.col("as_of"),
    shown=pl.format("as of {}", pl.col("as_of").dt.to_string("iso")),
)

ROW_CHECKS: tuple[QualityCheck, ...] = (
    NEGATIVE_PRICE,
    OUT_OF_ORDER,
    CONFLICTING_DUPLICATE,
    DUPLICATE_ROW,
    MISSING_KEY,
    *VALUE_CHECKS,
    STAMP_IN_FUTURE,
)
