"""Rules that condemn a single row: by its own values, which no market prints, or its neighbours'.

Neighbours are rows that passed the rules about values; the order of passes matters.
"""

from __future__ import annotations

import math

import polars as pl

from tradingbot.data.quality.check import FindingAction, QualityCheck, RowCheck, Severity, as_text
from tradingbot.data.schema import PRICE_COLUMNS

OHLC_TOLERANCE_FRAC = 1e-9  # adjusted prices are products: the last bit may differ
SPIKE_LOG_MOVE = math.log(1.5)  # +50 % or −33 % in one bar: UAL really moved 22 % and back
SPIKE_REVERSAL_FRAC = 0.2  # what may be left of a spike one bar later
SPIKE_SIGMAS = 10.0
WICK_FACTOR = 10.0  # DOT really traded at 1/3 of its hour's close on 2025-10-10, never at 1/10
BLOCK_FACTOR = 100.0  # pence for pounds, cents for dollars
BLOCK_TOLERANCE = math.log(1.25)
ROBUST_SIGMA = 1.4826  # standard deviation of a normal variable per median absolute deviation


def _column_shown(name: str) -> pl.Expr:
    return pl.format(name + " {}", as_text(name))


SHOWN_OHLC = pl.format("o {} h {} l {} c {}", *map(as_text, PRICE_COLUMNS))
_ERROR, _WARNING, _REFUSED = Severity.ERROR, Severity.WARNING, FindingAction.REFUSED


def _row_check(
    code: str,
    case: str,
    message: str,
    broken: pl.Expr,
    shown: pl.Expr = SHOWN_OHLC,
    severity: Severity = _ERROR,
    action: FindingAction = FindingAction.QUARANTINED,
) -> RowCheck:
    return RowCheck(code, case, severity, message, action, broken=broken, shown=shown)


_any, _PRICES = pl.any_horizontal, pl.col(*PRICE_COLUMNS)
_VOLUME, _VWAP, _KNOWN_AT = pl.col("volume"), pl.col("vwap"), pl.col("known_at")
_LOW, _HIGH, _CLOSED_AT = pl.col("low"), pl.col("high"), pl.col("closed_at")
_LOWEST, _HIGHEST = _LOW * (1 - OHLC_TOLERANCE_FRAC), _HIGH * (1 + OHLC_TOLERANCE_FRAC)
_SAME_AS_BEFORE = pl.col("symbol") == pl.col("symbol").shift(1)
_EARLIER = _CLOSED_AT.shift(1).over("symbol")
_NO_KEY = pl.col("symbol").is_null() | _CLOSED_AT.is_null()
_REPEATS_KEY = _SAME_AS_BEFORE & (_CLOSED_AT.shift(1) == _CLOSED_AT)
_BAD_VWAP = _VWAP.is_null() | ~_VWAP.is_finite() | (_VWAP <= 0)
_KNOWN_EARLY = _KNOWN_AT.is_null() | (_KNOWN_AT < _CLOSED_AT)
_SHOWN_KNOWN = pl.format("known {}", _KNOWN_AT.dt.to_string("iso").fill_null("never"))
_SHOWN_VOLUME, _SHOWN_VWAP = _column_shown("volume"), _column_shown("vwap")

NEGATIVE_PRICE = _row_check(
    *("NEGATIVE_PRICE", "D03", "price must be positive"),
    _any((_PRICES < 0) & _PRICES.is_finite()),
    action=_REFUSED,
)
OUT_OF_ORDER = _row_check(
    *("OUT_OF_ORDER", "D07", "bars of a symbol must be in order of time"),
    _CLOSED_AT < _EARLIER,
    pl.format("after {}", _EARLIER.dt.to_string("iso")),
    action=_REFUSED,
)
CONFLICTING_DUPLICATE = _row_check(
    *("CONFLICTING_DUPLICATE", "D06", "two bars of one symbol and time must not differ"),
    _REPEATS_KEY,
    action=_REFUSED,
)
DUPLICATE_ROW = _row_check(
    *("DUPLICATE_ROW", "D06", "a row was given more than once"),
    pl.lit(False),  # `screening` compares whole rows
    severity=_WARNING,
    action=FindingAction.DROPPED,
)
MISSING_KEY = _row_check("MISSING_KEY", "D25", "a row must say its symbol and time", _NO_KEY)
VALUE_CHECKS = (
    _row_check(
        "NAN_PRICE", "D01", "price must be a number", _any(_PRICES.is_null() | _PRICES.is_nan())
    ),
    _row_check("INFINITE_PRICE", "D02", "price must be finite", _any(_PRICES.is_infinite())),
    _row_check("ZERO_PRICE", "D04", "price must be above zero", _any(_PRICES == 0)),
    _row_check(
        *("VOLUME_NOT_FINITE", "D01", "volume must be a finite number"),
        _VOLUME.is_null() | ~_VOLUME.is_finite(),
        _SHOWN_VOLUME,
    ),
    _row_check("VOLUME_NEGATIVE", "", "volume must not be negative", _VOLUME < 0, _SHOWN_VOLUME),
    _row_check("VWAP_INVALID", "D01", "vwap must be a positive number", _BAD_VWAP, _SHOWN_VWAP),
    _row_check("HIGH_BELOW_LOW", "D17", "high must not be below low", _HIGH < _LOWEST),
    *(
        _row_check(
            *(f"{name.upper()}_OUTSIDE_RANGE", "D17", f"{name} must lie between low and high"),
            ~pl.col(name).is_between(_LOWEST, _HIGHEST),
        )
        for name in ("open", "close")
    ),
    _row_check(
        *("KNOWN_BEFORE_CLOSE", "", "a bar must not be known before it closed"),
        _KNOWN_EARLY,
        _SHOWN_KNOWN,
    ),
)
STAMP_IN_FUTURE = _row_check(
    *("STAMP_IN_FUTURE", "D20", "a bar must not be stamped later than now"),
    pl.max_horizontal("closed_at", "known_at") > pl.col("as_of"),
    pl.format("as of {}", pl.col("as_of").dt.to_string("iso")),
)

PREVIOUS_CLOSE = pl.when(_SAME_AS_BEFORE).then(pl.col("close").shift(1))
_BODY_LOW, _BODY_HIGH = pl.min_horizontal("open", "close"), pl.max_horizontal("open", "close")
_MOVE = (pl.col("close") / pl.col("previous_close")).log()
_NEXT_MOVE = pl.when(pl.col("symbol") == pl.col("symbol").shift(-1)).then(_MOVE.shift(-1))
# Median of |move|: few bars do not move at all, so half of all moves are at least this large.
_SIGMA = ROBUST_SIGMA * _MOVE.abs().median().over("symbol")
_MOVED = pl.format("close {} after {}", as_text("close"), as_text("previous_close"))
_SCALE_STEP = (
    pl.when((_MOVE.abs() - math.log(BLOCK_FACTOR)).abs() <= BLOCK_TOLERANCE)
    .then(_MOVE.sign().cast(pl.Int64))
    .otherwise(0)
)
_SCALE_LEVEL = _SCALE_STEP.cum_sum().over("symbol")

PRICE_SCALE_BLOCK = _row_check(
    *("PRICE_SCALE_BLOCK", "D16", "a block of bars must not be 100 times its surroundings"),
    # Only a block with both ends inside the series: a level that stays may be a reverse split.
    (_SCALE_LEVEL != 0) & (_SCALE_LEVEL.last().over("symbol") == 0),
    _MOVED,
)
ISOLATED_SPIKE = _row_check(
    *("ISOLATED_SPIKE", "D18", "a price must not leap for one bar and come back"),
    (_MOVE.abs() >= SPIKE_LOG_MOVE)
    & (_MOVE.abs() >= SPIKE_SIGMAS * _SIGMA)
    & ((_MOVE + _NEXT_MOVE).abs() <= SPIKE_REVERSAL_FRAC * _MOVE.abs()),
    _MOVED,
)
ABSURD_WICK = _row_check(
    *("ABSURD_WICK", "D18", "low and high must lie within a factor 10 of open and close"),
    (_LOW * WICK_FACTOR < _BODY_LOW) | (_HIGH > _BODY_HIGH * WICK_FACTOR),
)
ZERO_VOLUME_MOVED = _row_check(
    *("ZERO_VOLUME_MOVED", "D05", "a price must not move without volume"),
    (_VOLUME == 0) & ((_HIGH > _LOW) | (pl.col("previous_close").is_not_null() & (_MOVE != 0))),
    severity=_WARNING,
)

PASSES: tuple[tuple[RowCheck, ...], ...] = (
    (*VALUE_CHECKS, ABSURD_WICK, STAMP_IN_FUTURE),
    *((each,) for each in (PRICE_SCALE_BLOCK, ISOLATED_SPIKE, ZERO_VOLUME_MOVED)),
)
"""Quarantining rules in the order `screen` applies them; a row gets the first code it earns."""

ROW_CHECKS: tuple[QualityCheck, ...] = (
    *(NEGATIVE_PRICE, OUT_OF_ORDER, CONFLICTING_DUPLICATE, DUPLICATE_ROW, MISSING_KEY),
    *(check for checks in PASSES for check in checks),
)
