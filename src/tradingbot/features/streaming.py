"""Computes features bar by bar, as live trading and replay do.

It advances the evaluator of `compute` by one row at a time, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from tradingbot.domain.errors import DataError
from tradingbot.features.graph.evaluator import Evaluator
from tradingbot.features.graph.nodes import CrossSection, Input, Node
from tradingbot.features.graph.operations import Array, mean_over_symbols
from tradingbot.features.graph.plan import split_by_clock
from tradingbot.features.inputs import BoolArray, FloatArray
from tradingbot.features.spec import FeatureSpec, Form, spec_hash

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
        symbol_plan, market_plan = split_by_clock(nodes)
        self._inputs = symbol_plan.inputs
        self._sections: dict[Node, list[CrossSection]] = {}
        for node, *_ in market_plan.steps:
            if isinstance(node, CrossSection):
                self._sections.setdefault(node.arguments[0], []).append(node)
        self._columns: dict[Node, list[int]] = {}
        for column, node in enumerate(nodes):
            self._columns.setdefault(node, []).append(column)
        self._by_symbol = Evaluator(symbol_plan, len(self.symbols), rows=1, capacity=_CAPACITY_ROWS)
        self._by_market = Evaluator(market_plan, 1, rows=1, capacity=_CAPACITY_ROWS)

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
        known = covariates or {}
        inputs: dict[Node, Array] = {
            node: self._row(node, closed_at, bars, known) for node in self._inputs
        }
        features = np.full((len(self.specs), len(self.symbols)), np.nan)
        means: dict[Node, Array] = {}
        everyone = bool(present.all())

        def emit(node: Node, values: Array) -> None:
            for column in self._columns.get(node, ()):
                features[column] = values
            # At once, not later: the evaluator reuses the buffer behind `values`.
            for section in self._sections.get(node, ()):
                means[section] = mean_over_symbols(
                    values if everyone else np.where(present, values, np.nan)
                )

        with np.errstate(all="ignore"):
            self._by_symbol.advance(inputs, 1, emit)
            self._by_market.advance(means, 1, emit)
        self._by_symbol.commit(1, None if everyone else present)
        self._by_market.commit(1)
        self._closed_at = closed_at
        if not everyone:
            features[:, ~present] = np.nan
        return np.ascontiguousarray(features.T)

    def snapshot(self) -> dict[str, Array]:
        """Copy the whole state as plain arrays, for storage without pickle."""
        state = {f"symbol/{name}": x for name, x in self._by_symbol.snapshot().items()}
        state |= {f"market/{name}": x for name, x in self._by_market.snapshot().items()}
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
        for prefix, evaluator in (("symbol/", self._by_symbol), ("market/", self._by_market)):
            evaluator.restore(
                {name.removeprefix(prefix): x for name, x in state.items() if prefix in name}
            )
        closed_at = np.datetime64(int(state["closed_at"]), "us")
        self._closed_at = None if np.isnat(closed_at) else closed_at

    def _row(
        self,
        node: Input,
        closed_at: np.datetime64,
        bars: Mapping[str, FloatArray],
        covariates: Mapping[str, FloatArray],
    ) -> Array:
        shape = (1, len(self.symbols))
        if node.name == "weekday":
            return np.full(shape, float(self._weekday(closed_at)))
        values = bars.get(node.name, covariates.get(node.name))
        if values is None and node.optional:
            return np.full(shape, np.nan)
        if values is None or values.shape != shape[1:]:
            raise DataError(
                f"{node.name!r} must have one value per symbol",
                was="absent" if values is None else f"shape {values.shape}",
                where=f"{len(self.symbols)} symbols, bar of {closed_at}",
            )
        return values.reshape(shape)

    def _weekday(self, closed_at: np.datetime64) -> int:
        seconds = int(closed_at.astype("datetime64[s]").astype(np.int64))
        return datetime.fromtimestamp(seconds, tz=self._zone).weekday()
