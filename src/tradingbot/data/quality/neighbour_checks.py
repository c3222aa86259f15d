"""Rules that condemn a row by its neighbours in time: blocks of wrong scale, spikes, ghost moves.

Neighbours are rows that passed the rules of `row_checks`; the order of passes matters.
"""

from __future__ import annotations

import math

import polars as pl

from tradingbot.data.quality.check import RowCheck, as_text
from tradingbot.data.quality.finding import FindingAction, Severity
from tradingbot.data.quality.row_checks import SHOWN_OHLC, STAMP_IN_FUTURE, VALUE_CHECKS

SPIKE_LOG_MOVE = math.log(1.5)  # +50 % or −33 % in one bar: UAL really moved 22 % and back
SPIKE_REVERSAL_FRAC = 0.2  # what may be left of a spike one bar later
SPIKE_SIGMAS = 10.0
WICK_FACTOR = 10.0  # DOT really traded at 1/3 of its hour's close on 2025-10-10, never at 1/10
BLOCK_FACTOR = 100.0  # pence for pounds, cents for dollars
BLOCK_TOLERANCE = math.log(1.25)
ROBUST_SIGMA = 1.4826  # standard deviation of a normal variable per median absolute deviation

_BODY_LOW = pl.min_horizontal("open", "close")
_BODY_HIGH = pl.max_horizontal("open", "close")
_SAME_AS_BEFORE = pl.col("symbol") == pl.col("symbol").shift(1)
_SAME_AS_NEXT = pl.col("symbol") == pl.col("symbol").shift(-1)
PREVIOUS_CLOSE = pl.when(_SAME_AS_BEFORE).then(pl.col("close").shift(1))
_MOVE = (pl.col("close") / pl.col("previous_close")).log()
_NEXT_MOVE = pl.when(_SAME_AS_NEXT).then(_MOVE.shift(-1))
# Median of |move|: few bars do not move at all, so half of all moves are at least this large.
_SIGMA = ROBUST_SIGMA * _MOVE.abs().median().over("symbol")
_MOVED = pl.format("close {} after {}", as_text("close"), as_text("previous_close"))

_SCALE_STEP = (
    pl.when((_MOVE.abs() - math.log(BLOCK_FACTOR)).abs() <= BLOCK_TOLERANCE)
    .then(_MOVE.sign().cast(pl.Int64))
    .otherwise(0)
)
_SCALE_LEVEL = _SCALE_STEP.cum_sum().over("symbol")

PRICE_SCALE_BLOCK = RowCheck(
    "PRICE_SCALE_BLOCK",
    "D16",
    Severity.ERROR,
    "a block of bars must not be 100 times its surroundings",
    FindingAction.QUARANTINED,
    # Only a block with both ends inside the series: a level that stays may be a reverse split.
    broken=(_SCALE_LEVEL != 0) & (_SCALE_LEVEL.last().over("symbol") == 0),
    shown=_MOVED,
)
ISOLATED_SPIKE = RowCheck(
    "ISOLATED_SPIKE",
    "D18",
    Severity.ERROR,
    "a price must not leap for one bar and come back",
    FindingAction.QUARANTINED,
    broken=(_MOVE.abs() >= SPIKE_LOG_MOVE)
    & (_MOVE.abs() >= SPIKE_SIGMAS * _SIGMA)
    & ((_MOVE + _NEXT_MOVE).abs() <= SPIKE_REVERSAL_FRAC * _MOVE.abs()),
    shown=_MOVED,
)
ABSURD_WICK = RowCheck(
    "ABSURD_WICK",
    "D18",
    Severity.ERROR,
    "low and high must lie within a factor 10 of open and close",
    FindingAction.QUARANTINED,
    broken=(pl.col("low") * WICK_FACTOR < _BODY_LOW) | (pl.col("high") > _BODY_HIGH * WICK_FACTOR),
    shown=SHOWN_OHLC,
)
ZERO_VOLUME_MOVED = RowCheck(
    "ZERO_VOLUME_MOVED",
    "D05",
    Severity.WARNING,
    "a price must not move without volume",
    FindingAction.QUARANTINED,
    broken=(pl.col("volume") == 0)
    & ((pl.col("high") > pl.col("low")) | (pl.col("previous_close").is_not_null() & (_MOVE != 0))),
    shown=SHOWN_OHLC,
)

NEIGHBOUR_CHECKS = (ABSURD_WICK, PRICE_SCALE_BLOCK, ISOLATED_SPIKE, ZERO_VOLUME_MOVED)
PASSES: tuple[tuple[RowCheck, ...], ...] = (
    (*VALUE_CHECKS, ABSURD_WICK, STAMP_IN_FUTURE),
    (PRICE_SCALE_BLOCK,),
    (ISOLATED_SPIKE,),
    (ZERO_VOLUME_MOVED,),
)
"""Quarantining rules in the order `screen` applies them; a row gets the first code it earns."""
