"""Other futures: the same market up to a cut, something else after it.

Nothing at or before the cut is touched, down to the bit. Covariates available exactly at the cut's
close belong to the past.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.inputs import BoolArray, CovariateEvents, FloatArray, MarketInputs

IntArray = NDArray[np.int64]

SYMBOL_KINDS = (
    "change",  # every price, volume and vwap moved
    "nan",  # poison: present bars become NaN
    "vanish",  # the symbol has no further bar
    "huge",  # poison: 1e300
    "flip",  # absent bars appear, present ones disappear
    "plus_inf",
    "shuffle",  # future bars in another order
    "negative",
    "minus_inf",
)
"""Futures that differ from symbol to symbol; the time grid stays."""
GRID_KINDS = ("mixed", "truncate", "regrow")
"""Futures of the whole market: symbols mixed from the kinds above, none, or other rows."""
COVARIATE_KINDS = ("change", "remove", "add", "poison")
SOON = np.timedelta64(1, "us")
"""From the cut to the first event added after it: the least there is, so that no join is so
little late that it would not take it in."""

_POISON = {"nan": np.nan, "huge": 1e300, "plus_inf": np.inf, "minus_inf": -np.inf}


def perturb_symbols(
    inputs: MarketInputs, cuts: IntArray, first_kind: int, rng: np.random.Generator
) -> MarketInputs:
    """Give each symbol another future after its own cut.

    Args:
        inputs: The market as it was.
        cuts: (N,) last untouched grid row of each symbol.
        first_kind: Symbol n gets kind `first_kind + n`, counted round `SYMBOL_KINDS`.
        rng: Source of the other future.
    """
    length, width = inputs.shape
    future = np.arange(length)[:, None] > cuts
    present = inputs.present.copy()
    bars = {name: values.copy() for name, values in inputs.bars.items()}
    for column in range(width):
        kind = SYMBOL_KINDS[(first_kind + column) % len(SYMBOL_KINDS)]
        rows = np.flatnonzero(future[:, column])
        if rows.size:
            _perturb_column(kind, (present, bars), rows, column, rng)
    covariates = {
        name: _perturb_events(events, inputs, cuts, first_kind, rng)
        for name, events in inputs.covariates.items()
    }
    return replace(inputs, present=present, bars=bars, covariates=covariates)


def truncate(inputs: MarketInputs, cut: int) -> MarketInputs:
    """Drop every row after the cut, as if the market had been stored then."""
    return copy_inputs(inputs.truncated(cut + 1))


def regrow(inputs: MarketInputs, cut: int, rng: np.random.Generator) -> MarketInputs:
    """Replace the rows after the cut by other rows at other times, more or fewer than before.

    A cut of -1 replaces the whole market by another one.
    """
    length, width = inputs.shape
    # A whole other market must be as long as the first: shorter, lookbacks might leave it empty.
    count = int(rng.integers(3, length - cut + 24)) if cut >= 0 else length + 7
    steps = rng.integers(1, 60 * 26, size=count)
    start = inputs.closed_at[max(cut, 0)]
    times = start + np.cumsum(steps).astype("timedelta64[m]")
    past = copy_inputs(inputs.truncated(cut + 1)) if cut >= 0 else None
    present = rng.random((len(times), width)) < 0.8
    present[0] = rng.random(width) < 0.5
    walk = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, size=present.shape), axis=0))
    bars = {}
    for name, values in inputs.bars.items():
        grown = walk * rng.uniform(0.97, 1.03, size=present.shape)
        grown = np.where(present, grown * 1e4 if name == "volume" else grown, np.nan)
        bars[name] = grown if past is None else np.concatenate([values[: cut + 1], grown])
    covariates = {
        name: _add_events(past.covariates[name] if past else _no_events(), times, range(width), rng)
        for name in inputs.covariates
    }
    return replace(
        inputs,
        closed_at=times if past is None else np.concatenate([past.closed_at, times]),
        present=present if past is None else np.concatenate([past.present, present]),
        bars=bars,
        covariates=covariates,
    )


def copy_inputs(inputs: MarketInputs) -> MarketInputs:
    """Copy every array, so that a subject that writes into its inputs harms only itself."""
    return replace(
        inputs,
        closed_at=inputs.closed_at.copy(),
        present=inputs.present.copy(),
        bars={name: values.copy() for name, values in inputs.bars.items()},
        covariates={
            name: CovariateEvents(e.symbol_index.copy(), e.available_at.copy(), e.values.copy())
            for name, e in inputs.covariates.items()
        },
    )


def _perturb_column(
    kind: str,
    arrays: tuple[BoolArray, dict[str, FloatArray]],
    rows: NDArray[np.intp],
    column: int,
    rng: np.random.Generator,
) -> None:
    present, bars = arrays
    was_present = present[rows, column]
    order = rng.permutation(len(rows))
    if kind == "shuffle":
        present[rows, column] = was_present[order]
    elif kind in ("vanish", "flip"):
        present[rows, column] = ~was_present & (kind == "flip")
    for values in bars.values():
        was = values[rows, column]
        values[rows, column] = (
            1.5 * was[order] + 1.0 if kind == "shuffle" else _other(kind, was, was_present, rng)
        )


def _other(
    kind: str, was: FloatArray, was_present: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Other future values of one field of one symbol; NaN where there is no bar then."""
    if kind in _POISON:
        return np.where(was_present, _POISON[kind], np.nan)
    if kind == "negative":
        return -(was + 1.0)
    if kind == "vanish":
        return np.full(len(was), np.nan)
    if kind == "flip":
        return np.where(was_present, np.nan, rng.uniform(1.0, 200.0, size=len(was)))
    return (was + 1.0) * np.exp(rng.normal(0.0, 0.3, size=len(was)))


def _perturb_events(
    events: CovariateEvents,
    inputs: MarketInputs,
    cuts: IntArray,
    first_kind: int,
    rng: np.random.Generator,
) -> CovariateEvents:
    kind_of_symbol = (np.arange(len(cuts)) + first_kind) % len(COVARIATE_KINDS)
    kinds = kind_of_symbol[events.symbol_index]
    future = events.available_at > inputs.closed_at[cuts[events.symbol_index]]
    values = events.values.copy()
    change = future & (kinds == COVARIATE_KINDS.index("change"))
    values[change] = 1.0 - values[change] * rng.uniform(0.2, 0.8, size=int(change.sum()))
    values[future & (kinds == COVARIATE_KINDS.index("poison"))] = rng.choice(
        [np.nan, np.inf, -1e300]
    )
    kept = ~(future & (kinds == COVARIATE_KINDS.index("remove")))
    changed = CovariateEvents(
        events.symbol_index[kept], events.available_at[kept].copy(), values[kept]
    )
    for column in np.flatnonzero(kind_of_symbol == COVARIATE_KINDS.index("add")):
        after = inputs.closed_at[cuts[column] + 1 :]
        soon = inputs.closed_at[cuts[column]] + SOON
        times = np.concatenate([[soon], after[:2], rng.permutation(after)[:20]])
        changed = _add_events(changed, times, [int(column)], rng)
    return changed


def _add_events(
    events: CovariateEvents,
    times: NDArray[np.datetime64],
    columns: range | list[int],
    rng: np.random.Generator,
) -> CovariateEvents:
    index = np.repeat(np.asarray(columns, dtype=np.int64), len(times))
    available_at = np.concatenate([events.available_at, np.tile(times, len(columns))])
    order = np.argsort(available_at, kind="stable")
    return CovariateEvents(
        np.concatenate([events.symbol_index, index])[order],
        available_at[order],
        np.concatenate([events.values, rng.random(len(index))])[order],
    )


def _no_events() -> CovariateEvents:
    return CovariateEvents(
        np.empty(0, dtype=np.int64), np.empty(0, dtype="datetime64[us]"), np.empty(0)
    )
