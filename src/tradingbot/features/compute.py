"""Computes features of a whole history at once.

Each symbol's bars are taken in the order of its own clock, evaluated in blocks that fit the
cache, and laid back on the grid. Streaming runs the same evaluator on one bar at a time.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.features.graph.crossings import cross
from tradingbot.features.graph.evaluator import Evaluator
from tradingbot.features.graph.nodes import AtBars, Crossing, Input, Node
from tradingbot.features.graph.operations import Array
from tradingbot.features.graph.plan import Plan, make_stages
from tradingbot.features.inputs import BoolArray, FloatArray, MarketInputs, join_as_of
from tradingbot.features.spec import FeatureSpec, Form
from tradingbot.features.time_fields import is_time_field, time_field

_BLOCK_COLUMNS = 192  # symbols evaluated together: their past fits the cache for any N
_BLOCK_CELLS = 36_000  # rows × columns per block: a few such float64 arrays fit the cache


def compute_features(
    inputs: MarketInputs,
    specs: Sequence[FeatureSpec],
    *,
    form: Form = "network",
    dtype: type[np.float64 | np.float32] = np.float64,
) -> dict[str, NDArray[Any]]:
    """Compute features at every bar.

    Args:
        inputs: Bars and covariates of N symbols on a grid of T closing times.
        specs: Which features.
        form: The traders' or the learners' form.
        dtype: Of the results; everything is computed in float64 and rounded once, at the end.

    Returns:
        Name → (T, N); NaN where the symbol has no bar or the feature is in its warm-up.

    Raises:
        DataError: If a covariate that a feature needs is not among the inputs.
    """
    nodes = [spec.node(form) for spec in specs]
    grid: dict[Node, NDArray[Any]] = {}  # (T, N) of each symbol, (T, 1) of the market
    with np.errstate(all="ignore"):
        for stage in make_stages(nodes):
            plan = stage.plan
            fields = {node: _source(inputs, node, grid) for node in plan.sources}
            if stage.clock == "symbol":
                exact = stage.handed_on
                grid |= _on_symbol_clocks(plan, fields, inputs.present, dtype, exact)
                continue
            market = {node: np.empty((len(inputs.closed_at), 1)) for node in plan.outputs}
            _evaluate(plan, fields, market)
            grid |= market
    return {
        spec.name: _at_present(grid[node], inputs.present).astype(dtype, copy=False)
        for spec, node in zip(specs, nodes, strict=True)
    }


def _at_present(values: NDArray[Any], present: BoolArray) -> NDArray[Any]:
    return values if values.shape == present.shape else np.where(present, values, np.nan)


def _source(inputs: MarketInputs, node: Node, grid: Mapping[Node, NDArray[Any]]) -> FloatArray:
    """Return what a plan is given of a node: (T, N), or (T, 1) of the market."""
    if isinstance(node, Input):
        return _field(inputs, node)
    if isinstance(node, Crossing):
        return cross(node, grid, inputs.symbols)
    if isinstance(node, AtBars):
        return np.broadcast_to(grid[node.arguments[0]], inputs.shape)
    return grid[node]


def _field(inputs: MarketInputs, node: Input) -> FloatArray:
    if is_time_field(node.name):
        times = time_field(node.name, inputs.closed_at, inputs.time_zone)
        return np.broadcast_to(times[:, None], inputs.shape)
    if node.name in inputs.bars:
        return inputs.bars[node.name]
    if node.name in inputs.covariates:
        return join_as_of(inputs.covariates[node.name], inputs.closed_at, inputs.shape[1])
    if node.optional:
        return np.broadcast_to(np.float64(np.nan), inputs.shape)
    rule = "every covariate that a feature reads must be in the dataset"
    remedy = f"It has: {', '.join(sorted(inputs.covariates)) or 'none'}"
    raise DataError(rule, was=f"no {node.name!r}", remedy=remedy)


def _on_symbol_clocks(
    plan: Plan,
    fields: Mapping[Node, FloatArray],
    present: BoolArray,
    dtype: type[np.float64 | np.float32],
    exact: Set[Node],
) -> dict[Node, NDArray[Any]]:
    """Evaluate on each symbol's own bars and return (T, N) on the grid; `exact` in float64."""
    rounded = [node for node in plan.outputs if node not in exact]
    room = _fresh((len(rounded), *present.shape), dtype)
    results: dict[Node, NDArray[Any]] = dict(zip(rounded, room, strict=True))
    results |= {node: np.empty(present.shape) for node in exact}
    for first in range(0, present.shape[1], _BLOCK_COLUMNS):
        columns = slice(first, first + _BLOCK_COLUMNS)
        part = {node: values[:, columns] for node, values in fields.items()}
        outputs = {node: values[:, columns] for node, values in results.items()}
        if present[:, columns].all():
            _evaluate(plan, part, outputs)
        else:
            _evaluate_gappy(plan, part, outputs, present[:, columns])
    return results


def _fresh(shape: tuple[int, ...], dtype: type[np.float64 | np.float32]) -> NDArray[Any]:
    """Return new memory of any content, on ordinary pages.

    For arrays of this size NumPy asks for huge pages, and the kernel may compact memory while we
    wait: measured twice the whole computation at ten years of hourly bars.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype, int(np.prod(shape))).reshape(shape)


def _evaluate(
    plan: Plan, fields: Mapping[Node, FloatArray], outputs: Mapping[Node, NDArray[Any]]
) -> None:
    """Evaluate (T, N) inputs without gaps into (T, N) outputs, block by block."""
    length, columns = next(iter(outputs.values())).shape if outputs else (0, 0)
    rows = max(1, min(_BLOCK_CELLS // max(columns, 1), length))
    evaluator = Evaluator(plan, columns, rows=rows, capacity=rows)
    for start in range(0, length, rows):
        block = slice(start, min(start + rows, length))
        count = block.stop - start

        def write(node: Node, values: Array, block: slice = block) -> None:
            outputs[node][block] = values

        evaluator.advance({node: x[block] for node, x in fields.items()}, count, write)
        evaluator.commit(count)


def _evaluate_gappy(
    plan: Plan,
    fields: Mapping[Node, FloatArray],
    outputs: Mapping[Node, NDArray[Any]],
    present: BoolArray,
) -> None:
    """Evaluate each column's present rows as if there were no others; NaN elsewhere."""
    places = _places(present)
    packed = {node: x.take(places, mode="clip") for node, x in fields.items()}
    # One spare cell at the end takes what lies beyond a symbol's last bar.
    dense = {node: np.empty(places.shape) for node in outputs}
    _evaluate(plan, packed, dense)
    grid = np.empty(present.size + 1)
    for node, values in outputs.items():
        grid.fill(np.nan)
        grid[places] = dense[node]
        values[:] = grid[:-1].reshape(present.shape)


def _places(present: BoolArray) -> NDArray[np.int64]:
    """(K, N) flat grid cell of each symbol's k-th bar; the spare cell T·N beyond its last."""
    length, columns = present.shape
    cells = np.flatnonzero(present)
    ordinal = (np.cumsum(present, axis=0, dtype=np.int64) - 1).ravel()[cells]
    longest = int(present.sum(axis=0).max(initial=0))
    places = np.full((longest, columns), length * columns, dtype=np.int64)
    places[ordinal, cells % columns] = cells
    return places
