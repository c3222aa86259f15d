"""Computes features bar by bar, as live trading and replay do.

It advances the evaluator of `compute` by one row at a time, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from zoneinfo import ZoneInfo

import numpy as np

from tradingbot.domain.errors import DataError
from tradingbot.features.graph.crossings import cross
from tradingbot.features.graph.evaluator import Evaluator
from tradingbot.features.graph.nodes import AtBars, Crossing, Input, Node
from tradingbot.features.graph.operations import Array
from tradingbot.features.graph.plan import Stage, make_stages
from tradingbot.features.inputs import BoolArray, FloatArray
from tradingbot.features.spec import FeatureSpec, Form, spec_hash
from tradingbot.features.time_fields import is_time_field, time_field_at

_CAPACITY_ROWS = 128  # bars between two moves of the kept past to the front of its buffer


class FeatureStream:
    """Features of N symbols, one grid time after another.

    Example:
        >>> from tradingbot.features.registry import find_feature
        >>> stream = FeatureStream(["SPY"], [find_feature("return_1")])
        >>> for day, close in enumerate([100.0, 101.0], start=4):
        ...     at = np.datetime64(f"2024-03-0{day}T21:00")
        ...     features = stream.push(at, np.array([True]), {"close": np.array([close])})
        >>> features.round(4).tolist()
        [[0.01]]
    """

    def __init__(
        self,
        symbols: Sequence[str],
        specs: Sequence[FeatureSpec],
        *,
        time_zone: str = "America/New_York",
        form: Form = "network",
    ) -> None:
        self.symbols = tuple(symbols)
        self.specs = tuple(specs)
        self._zone = ZoneInfo(time_zone)
        self._identity = f"{spec_hash(specs)} {form} {time_zone} {' '.join(symbols)}"
        self._closed_at: np.datetime64 | None = None
        nodes = [spec.node(form) for spec in specs]
        self._columns: dict[Node, list[int]] = {}
        for column, node in enumerate(nodes):
            self._columns.setdefault(node, []).append(column)
        self._stages = make_stages(nodes)
        self._evaluators = {
            _state_name(number, stage): Evaluator(
                stage.plan,
                len(self.symbols) if stage.clock == "symbol" else 1,
                rows=1,
                capacity=_CAPACITY_ROWS,
            )
            for number, stage in enumerate(self._stages)
        }

    def push(
        self,
        closed_at: np.datetime64,
        present: BoolArray,
        bars: Mapping[str, FloatArray],
        covariates: Mapping[str, FloatArray] | None = None,
    ) -> FloatArray:
        """Take in the bars that closed at one time and return their features.

        Args:
            closed_at: Closing time, UTC, later than at the last call.
            present: (N,) which symbols have a bar.
            bars: Field → (N,); what stands where a symbol has no bar is not looked at.
            covariates: Name → (N,) last value available by now, NaN where there is none.

        Returns:
            (N, F) in the order of the specs; NaN where a symbol has no bar or is in its warm-up.

        Raises:
            DataError: If time does not advance, or a field or covariate is missing or misshapen.
        """
        if self._closed_at is not None and closed_at <= self._closed_at:
            rule = "bars must arrive in order of their close"
            where = f"after {self._closed_at}"
            remedy = "Drop or re-sort the late bar; restore a snapshot to replay"
            raise DataError(rule, was=str(closed_at), where=where, remedy=remedy)
        given = {**(covariates or {}), **bars}
        features = np.full((len(self.specs), len(self.symbols)), np.nan)
        handed_on: dict[Node, Array] = {}
        everyone = bool(present.all())
        with np.errstate(all="ignore"):
            for stage, evaluator in zip(self._stages, self._evaluators.values(), strict=True):

                def emit(node: Node, values: Array, stage: Stage = stage) -> None:
                    for column in self._columns.get(node, ()):
                        features[column] = values
                    if node in stage.handed_on:
                        # A copy: the evaluator reuses the buffer behind `values`.
                        whole = everyone or stage.clock == "market"
                        handed_on[node] = values.copy() if whole else np.where(present, values, nan)

                sources = {
                    node: self._source(node, closed_at, given, handed_on)
                    for node in stage.plan.sources
                }
                evaluator.advance(sources, 1, emit)
        for stage, evaluator in zip(self._stages, self._evaluators.values(), strict=True):
            evaluator.commit(1, None if everyone or stage.clock == "market" else present)
        self._closed_at = closed_at
        if not everyone:
            features[:, ~present] = np.nan
        return np.ascontiguousarray(features.T)

    def snapshot(self) -> dict[str, Array]:
        """Copy the whole state as plain arrays, for storage without pickle."""
        state = {
            f"{prefix}/{name}": values
            for prefix, evaluator in self._evaluators.items()
            for name, values in evaluator.snapshot().items()
        }
        state["identity"] = np.frombuffer(self._identity.encode(), dtype=np.uint8).copy()
        state["closed_at"] = np.array(self._closed_at, dtype="datetime64[us]").astype(np.int64)
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a snapshot of a stream of the same symbols and features.

        Raises:
            DataError: If the snapshot is of other features, symbols, form or time zone.
        """
        identity = state["identity"].tobytes().decode()
        if identity != self._identity:
            raise DataError(
                "a snapshot must be of the same features, form, time zone and symbols",
                was=f"{identity[:12]}… instead of {self._identity[:12]}…",
                remedy="Start a new stream and replay the last bars",
            )
        for prefix, evaluator in self._evaluators.items():
            own = f"{prefix}/"
            evaluator.restore(
                {name.removeprefix(own): x for name, x in state.items() if name.startswith(own)}
            )
        closed_at = np.datetime64(int(state["closed_at"]), "us")
        self._closed_at = None if np.isnat(closed_at) else closed_at

    def _source(
        self,
        node: Node,
        closed_at: np.datetime64,
        given: Mapping[str, FloatArray],
        handed_on: Mapping[Node, Array],
    ) -> Array:
        """Return what a plan is given of a node: (1, N), or (1, 1) of the market."""
        shape = (1, len(self.symbols))
        if isinstance(node, Crossing):
            return cross(node, handed_on, self.symbols)
        if isinstance(node, AtBars):
            return np.full(shape, handed_on[node.arguments[0]][0, 0])
        if not isinstance(node, Input):
            return handed_on[node]
        if is_time_field(node.name):
            return np.full(shape, time_field_at(node.name, closed_at, self._zone))
        values = given.get(node.name)
        if values is None and node.optional:
            return np.full(shape, np.nan)
        if values is None or values.shape != shape[1:]:
            raise DataError(
                f"{node.name!r} must have one value per symbol",
                was="absent" if values is None else f"shape {values.shape}",
                where=f"{len(self.symbols)} symbols, bar of {closed_at}",
            )
        return values.reshape(shape)


def _state_name(number: int, stage: Stage) -> str:
    """Name a stage's part of a snapshot, each differently.

    A second stage is the symbols' again where features cross from symbols to symbols only.
    """
    is_plain = (number, stage.clock) in ((0, "symbol"), (1, "market"))
    return stage.clock if is_plain else f"{stage.clock}_{number}"
