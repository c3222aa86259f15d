"""Where to cut: which last untouched bars a proof uses.

A leak that reads h bars ahead at bar t is seen exactly if a cut falls in [t, t + h). So cuts are
spread over every kind of bar at which code tends to slip: split boundaries, first and last bars of
trading sessions, weeks and months, each weekday and hour, half days, each symbol's first and last
bar and the edges of its gaps, the end of the data, the last bars of the blocks that code tends to
work in, and random bars.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.features.inputs import BoolArray, FloatArray, MarketInputs

IntArray = NDArray[np.int64]

_NEIGHBOURS = (-1, -2, 0, 1)  # around a boundary b; b - 1 is the last row before it
_BLOCK_ROWS = (4096, 1000, 2048, 1024, 512, 256, 128, 64)  # sizes code works in; coarsest first
_OWN_WEIGHT = 10.0  # more than any row can gain from the calendar
_POOL = 192  # random bars considered beside the special ones; bounds the cost for long data


def boundary_cuts(length: int, boundaries: Sequence[int]) -> list[int]:
    """Rows b-2 … b+1 around each boundary b (first row of the next part), inside the data."""
    wanted = [b + offset for offset in _NEIGHBOURS for b in boundaries]
    return [cut for cut in dict.fromkeys(wanted) if 0 <= cut < length - 1]


def block_edges(length: int) -> list[int]:
    """Rows that are the last of a block of 64, 128 … 4096 or 1000 rows, inside the data.

    Edges of large blocks come first; but for 1000 they are edges of all smaller blocks, too.
    """
    rows = [row for size in _BLOCK_ROWS for row in range(size - 1, length - 1, size)]
    return list(dict.fromkeys(rows))


def block_cuts(length: int, rng: np.random.Generator) -> list[int]:
    """At most three edges of blocks: of the largest, of 1000 rows, and any other.

    The first is an edge for every power of two that has one at all.
    """
    edges = block_edges(length)
    largest = max((size for size in _BLOCK_ROWS if size < length and size != 1000), default=0)
    chosen: list[int] = []
    for size in (largest, 1000, 1):
        free = [row for row in edges if size and (row + 1) % size == 0 and row not in chosen]
        if free:
            chosen.append(int(rng.choice(free)))
    return chosen


def common_cuts(
    inputs: MarketInputs, boundaries: Sequence[int], count: int, rng: np.random.Generator
) -> list[int]:
    """Choose cuts that hold for all symbols at once.

    Args:
        inputs: The market.
        boundaries: First row of each part after the first (validation, test …).
        count: How many to return besides block cuts; boundary cuts come first and are never left
            out.
        rng: Breaks ties.

    Returns:
        Distinct rows. The last row T-1 is among them: only rows that are appended later can
        differ there.
    """
    length = inputs.shape[0]
    fixed = [*boundary_cuts(length, boundaries), length - 1, max(0, length - 2)]
    blocks = [cut for cut in block_cuts(length, rng) if cut not in fixed]
    fixed += blocks
    traits = np.hstack([calendar_traits(inputs), _market_traits(inputs.present)])
    weights = np.ones(traits.shape[1])
    return _cover(traits, weights, list(dict.fromkeys(fixed)), count + len(blocks), rng)


def staggered_cuts(
    inputs: MarketInputs, boundaries: Sequence[int], rounds: int, rng: np.random.Generator
) -> IntArray:
    """Choose cuts symbol by symbol.

    A third of each symbol's cuts lie at boundaries (all boundary cuts are used by some symbol as
    soon as there are enough symbols), a sixth at edges of blocks, shared out in the same way; then
    come its own first and last bars and gaps; the rest share out the calendar among the symbols.

    Returns:
        (rounds, N) rows.
    """
    length, width = inputs.shape
    calendar = calendar_traits(inputs)
    planned = [
        _shares(boundary_cuts(length, boundaries), -(-rounds // 3), width),
        _shares(block_edges(length), rounds // 6, width),
    ]
    cuts = np.zeros((rounds, width), dtype=np.int64)
    seen = np.zeros(calendar.shape[1])
    for column in range(width):
        at_edges = [cut for shares in planned for cut in shares[column]]
        own = _symbol_traits(inputs.present[:, column])
        # What few symbols have covered so far counts more, a symbol's own events most of all.
        weights = np.append(1.0 / (1.0 + seen), np.full(own.shape[1], _OWN_WEIGHT))
        traits = np.hstack([calendar, own])
        chosen = _cover(traits, weights, list(dict.fromkeys(at_edges)), rounds, rng)
        seen += calendar[chosen].sum(axis=0)
        cuts[:, column] = rng.permutation(np.resize(np.array(chosen, dtype=np.int64), rounds))
    return cuts


def _shares(rows: Sequence[int], share: int, width: int) -> list[list[int]]:
    """Deal rows out to the symbols, `share` to each, from the start again when they run out."""
    if not rows:
        return [[] for _ in range(width)]
    return [[rows[(n * share + i) % len(rows)] for i in range(share)] for n in range(width)]


def calendar_traits(inputs: MarketInputs) -> BoolArray:
    """Mark what each row is in the exchange's calendar.

    Returns:
        (T, K): first and last row of day, week and month; each weekday; each row of the day (the
        first 24); first, last and other rows of half days.
    """
    local = pl.Series(inputs.closed_at).dt.replace_time_zone("UTC")
    local = local.dt.convert_time_zone(inputs.time_zone)
    columns = []
    for unit in ("1d", "1w", "1mo"):
        part = local.dt.truncate(unit).to_physical().to_numpy()
        starts = np.append(True, part[1:] != part[:-1])
        columns += [starts, np.append(starts[1:], True)]
        if unit == "1d":
            first_row = np.maximum.accumulate(np.where(starts, np.arange(len(part)), 0))
            row_of_day = np.arange(len(part)) - first_row
            half = _is_half_day(starts)
            half_days = [half & columns[0], half & columns[1], half & ~columns[0] & ~columns[1]]
    weekday = local.dt.weekday().to_numpy()
    columns += [weekday == day for day in range(1, 8)]
    columns += [row_of_day == row for row in range(24)]
    return np.column_stack([*columns, *half_days])


def half_day_rows(inputs: MarketInputs) -> tuple[IntArray, IntArray]:
    """Return the last rows of half days, and their other rows."""
    first, last, other = calendar_traits(inputs)[:, -3:].T
    return np.flatnonzero(last), np.flatnonzero(first | other)


def _is_half_day(starts: BoolArray) -> BoolArray:
    """Mark the rows of days that have fewer rows than the usual day.

    The first and the last day of the data may be cut off and are none. `starts` marks first rows.
    """
    day = np.cumsum(starts) - 1
    rows = np.bincount(day)
    usual = np.bincount(rows).argmax()
    rows[[0, -1]] = usual
    return np.asarray(rows[day] < usual, dtype=bool)


def _symbol_traits(present: BoolArray) -> BoolArray:
    """First, last and last-but-one bar of one symbol; its last bar before and first after gaps."""
    length = len(present)
    rows = np.flatnonzero(present)
    traits = np.zeros((length, 5), dtype=bool)
    if rows.size:
        traits[rows[0], 0] = traits[rows[-1], 1] = traits[rows[max(-2, -len(rows))], 2] = True
    traits[:-1, 3] = present[:-1] & ~present[1:]
    traits[1:, 4] = present[1:] & ~present[:-1]
    return traits


def _market_traits(present: BoolArray) -> BoolArray:
    """Rows at which some symbol begins or ends."""
    length, width = present.shape
    traits = np.zeros((length, 2), dtype=bool)
    for column in range(width):
        rows = np.flatnonzero(present[:, column])
        if rows.size:
            traits[rows[0], 0] = traits[rows[-1], 1] = True
    return traits


def _cover(
    traits: BoolArray, weights: FloatArray, chosen: list[int], count: int, rng: np.random.Generator
) -> list[int]:
    """Add cuts to `chosen`, each time the one whose traits not seen yet weigh most."""
    length = len(traits)
    usable = max(1, length - 1)  # after the last row there is no future to change
    pool = rng.choice(usable, size=min(_POOL, usable), replace=False)
    special = [
        rng.permutation(np.flatnonzero(traits[:usable, k]))[:2] for k in range(traits.shape[1])
    ]
    pool = np.unique(np.concatenate([pool, *special]))
    open_weights = np.where(traits[chosen].any(axis=0), 0.0, weights)
    while len(chosen) < count:
        free = pool[~np.isin(pool, chosen)]
        if not free.size:
            break
        gain = traits[free] @ open_weights + 1e-3 * rng.random(len(free))
        best = int(free[np.argmax(gain)])
        chosen = [*chosen, best]
        open_weights[traits[best]] = 0.0
    return chosen
