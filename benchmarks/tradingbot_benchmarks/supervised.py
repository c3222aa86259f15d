"""How long predictions take: one bar as live trading asks, and whole histories at once.

The reference is the same model asked the plain way: torch's own LSTM or GRU, a plain stack of
layers, or LightGBM, called for one window or row at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.envs.synthetic_market import inputs_of_market, synthetic_market
from tradingbot.features.panel import panel_specs
from tradingbot.supervised import (
    CLASSIFIERS,
    FittedClassifier,
    LabelConfig,
    ModelTable,
    build_classifier,
    label_moves,
    table_of_inputs,
)
from tradingbot.supervised.boosting import FittedTrees
from tradingbot.supervised.fitting import FoldConfig, rows_to_learn
from tradingbot.supervised.network_classifier import FittedNetwork
from tradingbot_benchmarks.network_reference import reference_network
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.threads import one_thread

SINGLE_BUDGET_MS = 1.0
"""One prediction of one symbol."""
BATCHED_BUDGET_MS = 0.1
"""A prediction among many."""
_TOLERANCE = 1e-4
_MS = 1e3
Ask = Callable[[], object]


@dataclass(frozen=True)
class SupervisedScale:
    """How much is measured."""

    n_symbols: int
    n_bars: int
    single_calls: int
    """Predictions timed one by one."""
    batch_runs: int
    """Whole histories timed."""


FULL = SupervisedScale(n_symbols=16, n_bars=2_000, single_calls=2_000, batch_runs=5)
QUICK = SupervisedScale(n_symbols=4, n_bars=700, single_calls=200, batch_runs=2)


def measure_supervised(scale: SupervisedScale, progress: Progress) -> list[BenchRecord]:
    """Fit every classifier briefly, check that its ways of asking agree, and time them.

    Raises:
        DataError: If two ways of asking disagree.
        MissingExtraError: If LightGBM is not installed.
    """
    records = []
    with one_thread():
        table = _table(scale)
        for number, name in enumerate(CLASSIFIERS):
            progress(number, len(CLASSIFIERS), name)
            model = _fit(name, table)
            plain = _plain(model)
            _require_equal(model, plain, table, name)
            records += _measure(name, model, plain, table, scale)
        progress(len(CLASSIFIERS), len(CLASSIFIERS), "measured")
    return records


def _table(scale: SupervisedScale) -> ModelTable:
    market = synthetic_market(
        "planted", n_symbols=scale.n_symbols, n_bars=scale.n_bars, seed=1, params={}
    )
    inputs = inputs_of_market(market)
    return table_of_inputs(inputs, panel_specs(inputs.covariates))


def _fit(name: str, table: ModelTable) -> FittedClassifier:
    """Fit as a user would, on the first 70 % of the bars."""
    labels = LabelConfig()
    rows = rows_to_learn(IndexRange(0, int(0.7 * table.n_bars)), FoldConfig(), labels)
    return build_classifier(name).fit(
        table, label_moves(table.closes, labels), rows, seed=0, progress=ignore_progress
    )


def _plain(model: FittedClassifier) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """Return the same model as a function of one window (W, F) of unscaled rows → (3,)."""
    if isinstance(model, FittedNetwork):
        return reference_network(model)
    assert isinstance(model, FittedTrees)  # the catalogue has no third kind
    return lambda window: model.push(window[-1:])[0]


def _require_equal(
    model: FittedClassifier, plain: Callable[..., Any], table: ModelTable, name: str
) -> None:
    """Compare stream and plain calls with the whole history at some bars of every symbol."""
    whole = model.probabilities(table)
    lookback = _lookback(model)
    first = int(table.valid.all(axis=0).argmax())
    stream = model.stream(len(table.symbols))
    worst = 0.0
    for bar in range(first, first + 4 * lookback):
        streamed = stream.push(np.ascontiguousarray(table.values[:, bar]))
        if bar < first + lookback:
            continue  # the whole history knows bars from before the stream began
        window = table.values[0, bar - lookback + 1 : bar + 1]
        gaps = (np.abs(streamed - whole[:, bar]), np.abs(plain(window) - whole[0, bar]))
        worst = max(worst, *(float(gap.max()) for gap in gaps))
    if not worst < _TOLERANCE:
        raise DataError("ways of asking a model must agree", was=f"{worst:.2g}", where=name)


def _measure(
    name: str,
    model: FittedClassifier,
    plain: Callable[..., Any],
    table: ModelTable,
    scale: SupervisedScale,
) -> list[BenchRecord]:
    row = np.ascontiguousarray(table.values[:1, -1])
    window = np.ascontiguousarray(table.values[0, -_lookback(model) :])
    stream = model.stream(1)
    single = _median_s(lambda: stream.push(row), scale.single_calls)
    plainly = _median_s(lambda: plain(window), scale.single_calls)
    whole = _median_s(lambda: model.probabilities(table), scale.batch_runs)
    batched = whole / table.valid.size
    note = f"{len(table.symbols)} symbols × {table.n_bars:,} bars"
    return [
        _record(f"{name}_single", single, SINGLE_BUDGET_MS, "budget", "one bar of one symbol"),
        _record(f"{name}_batched", batched, BATCHED_BUDGET_MS, "budget", f"per bar, {note}"),
        _record(f"{name}_vs_plain", batched, plainly * _MS, "one window a call", note),
    ]


def _record(name: str, seconds: float, reference_ms: float, what: str, note: str) -> BenchRecord:
    value = seconds * _MS
    return BenchRecord(name, value, "ms", reference_ms, what, reference_ms / value, note)


def _lookback(model: FittedClassifier) -> int:
    return model.config.lookback_bars if isinstance(model, FittedNetwork) else 1


def _median_s(ask: Ask, times: int) -> float:
    ask()
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        ask()
        found.append(time.perf_counter() - begun)
    return median(found)
