"""Computes features of a whole history at once.

Each symbol's bars are taken in the order of its own clock, evaluated in blocks that fit the
cache, and laid back on the grid. Streaming runs the same evaluator on one bar at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.features.as_of import join_as_of
from tradingbot.features.graph.evaluator import Emit, Evaluator
from tradingbot.features.graph.nodes import CrossSection, Input, Node
from tradingbot.features.graph.operations import Array, mean_over_symbols
from tradingbot.features.graph.plan import Plan, split_by_clock
from tradingbot.features.inputs import BoolArray, FloatArray, MarketInputs, TimeArray
from tradingbot.features.spec import FeatureSpec, Form

_BLOCK_CELLS = 18_000  # rows × columns per block: a few such float64 arrays fit the L2 cache


def compute_features(
    inputs: MarketInputs, specs: Sequence[FeatureSpec], *, form: Form = "network"
) -> dict[str, FloatArray]:
    """Compute features at every bar.

    Args:
        inputs: Bars and covariates of N symbols on a grid of T closing times.
        specs: Which features.
        form: The traders' or the learners' form.

    Returns:
        Name → (T, N); NaN where the symbol has no bar or the feature is in its warm-up.

    Raises:
        DataError: If a covariate that a feature needs is not among the inputs.
    """
    nodes = [spec.node(form) for spec in specs]
    symbol_plan, market_plan = split_by_clock(nodes)
    fields = _fields(inputs, symbol_plan)
    with np.errstate(all="ignore"):
        values = _on_symbol_clocks(symbol_plan, fields, inputs.present)
        sections: dict[Node, Array] = {
            node: mean_over_symbols(values[node.arguments[0]])
            for (node, *_) in market_plan.steps
            if isinstance(node, CrossSection)
        }
        market = _on_market_clock(market_plan, sections, len(inputs.closed_at))
    for node, column in market.items():
        values[node] = np.where(inputs.present, column, np.nan)
    return {spec.name: values[node] for spec, node in zip(specs, nodes, strict=True)}


def weekdays(closed_at: TimeArray, time_zone: str) -> FloatArray:
    """Return (T,) day of the week in the exchange's zone, Monday 0 … Sunday 6."""
    local = pl.Series(closed_at.astype("datetime64[us]")).dt.replace_time_zone("UTC")
    days = local.dt.convert_time_zone(time_zone).dt.weekday() - 1
    return np.asarray(days.cast(pl.Float64).to_numpy())


def _fields(inputs: MarketInputs, plan: Plan) -> dict[Node, FloatArray]:
    return {node: _field(inputs, node) for node in plan.inputs}


def _field(inputs: MarketInputs, node: Input) -> FloatArray:
    if node.name == "weekday":
        days = weekdays(inputs.closed_at, inputs.time_zone)
        return np.broadcast_to(days[:, None], inputs.shape)
    if node.name in inputs.bars:
        return inputs.bars[node.name]
    if node.name in inputs.covariates:
        return join_as_of(inputs.covariates[node.name], inputs.closed_at, inputs.shape[1])
    if node.optional:
        return np.broadcast_to(np.float64(np.nan), inputs.shape)
    raise DataError(
        "every covariate that a feature reads must be in the dataset",
        was=f"no {node.name!r}",
        remedy=f"It has: {', '.join(sorted(inputs.covariates)) or 'none'}",
    )


def _on_symbol_clocks(
    plan: Plan, fields: Mapping[Node, FloatArray], present: BoolArray
) -> dict[Node, FloatArray]:
    """Evaluate on each symbol's own bars and return (T, N) on the grid."""
    length, columns = present.shape
    cells = length * columns
    # One spare cell at the end takes what lies beyond a symbol's last bar.
    flat = {node: np.full(cells + 1, np.nan) for node in plan.outputs}
    results = {node: values[:cells].reshape(length, columns) for node, values in flat.items()}
    places = None if present.all() else _places(present)
    ticks = length if places is None else int(present.sum(axis=0).max(initial=0))
    rows = max(1, min(_BLOCK_CELLS // max(columns, 1), ticks))
    evaluator = Evaluator(plan, columns, rows=rows, capacity=rows)
    for start in range(0, ticks, rows):
        stop = min(start + rows, ticks)
        place = slice(start, stop) if places is None else places[start:stop]
        if isinstance(place, slice):
            block = {node: values[place] for node, values in fields.items()}
            emit = _writer(results, place)
        else:
            block = {node: values.take(place, mode="clip") for node, values in fields.items()}
            emit = _writer(flat, place)
        evaluator.advance(block, stop - start, emit)
        evaluator.commit(stop - start)
    return results


def _places(present: BoolArray) -> NDArray[np.int64]:
    """(T, N) flat grid cell of each symbol's k-th bar; the spare cell T·N beyond its last."""
    length, columns = present.shape
    cells = np.flatnonzero(present)
    ordinal = (np.cumsum(present, axis=0, dtype=np.int64) - 1).ravel()[cells]
    places = np.full(length * columns, length * columns, dtype=np.int64)
    places[ordinal * columns + cells % columns] = cells
    return places.reshape(length, columns)


def _on_market_clock(
    plan: Plan, sections: Mapping[Node, Array], length: int
) -> dict[Node, FloatArray]:
    """Evaluate what ticks at every grid time, (T, 1)."""
    results = {node: np.full((length, 1), np.nan) for node in plan.outputs}
    rows = max(1, min(length, _BLOCK_CELLS))
    evaluator = Evaluator(plan, 1, rows=rows, capacity=rows)
    for start in range(0, length, rows):
        stop = min(start + rows, length)
        block = {node: values[start:stop] for node, values in sections.items()}
        evaluator.advance(block, stop - start, _writer(results, slice(start, stop)))
        evaluator.commit(stop - start)
    return results


def _writer(results: Mapping[Node, FloatArray], place: slice | NDArray[np.int64]) -> Emit:
    def write(node: Node, values: Array) -> None:
        results[node][place] = values

    return write
