"""A new bar of all symbols, from the bar to signals: features, encoder, heads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from tradingbot.domain.errors import DataError
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.bar_stream import BarFeatures, ModelStream, PushedBar
from tradingbot.serving.server.prediction import ServingModel, read_signals, signal_answers
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.serving.stretches import percentile, time_calls

BAR_BUDGET_S = 0.025
"""143 symbols, at the 95th percentile."""
_FIRST = datetime(2024, 1, 2, 15, tzinfo=UTC)
_ZONE = "America/New_York"


def measure_bar(model: ServedModel, *, n_bars: int, stretches: int) -> BenchRecord:
    """Time bars of all symbols through the stream of a server.

    Raises:
        DataError: If its actions are not those of the model on the same features.
    """
    serving = ServingModel(model, "v1")
    warm_up = 200  # as far back as the slowest feature looks
    bars = draw_market(model.symbols, warm_up + stretches * n_bars)
    stream = ModelStream(model, bars[:warm_up], time_zone=_ZONE)
    _require_equal(serving, bars[:warm_up], stream)
    coming = iter(bars[warm_up:])
    private = serving.private_of([{}] * len(model.symbols), [""] * len(model.symbols))
    everyone = np.arange(len(model.symbols))

    def one_bar() -> None:
        stream.take(next(coming))
        answer = stream.act(private, serving.allowed(private))
        found = read_signals(serving, everyone, answer, private, stream.valid)
        signal_answers(model.symbols, answer, found, stream.valid, [""] * len(everyone))

    p95 = percentile([time_calls(one_bar, n_bars) for _ in range(stretches)], 0.95)
    if not stream.valid.all():
        raise DataError("every feature must be defined before bars are timed", was="undefined")
    return BenchRecord(
        *("bar_143", p95.quiet, "s", BAR_BUDGET_S, "budget"),
        ratio=BAR_BUDGET_S / p95.quiet,
        note=f"p95 of the quietest of {stretches} stretches of {n_bars} bars (all: "
        f"{p95.overall * 1e3:.1f} ms): a bar of {len(model.symbols)} symbols to their signals; "
        f"{len(model.feature_ids)} features by stream, encoder, heads; in process, one thread",
    )


def draw_market(symbols: tuple[str, ...], n_bars: int) -> list[PushedBar]:
    """Return hourly bars of prices that were drawn."""
    draw = np.random.default_rng(6)
    steps = draw.normal(0.0, 0.01, size=(n_bars + 1, len(symbols)))
    closes = 100.0 * np.exp(np.cumsum(steps, axis=0))
    made = []
    for number in range(n_bars):
        begin, end = closes[number], closes[number + 1]
        high, low = np.maximum(begin, end) * 1.001, np.minimum(begin, end) * 0.999
        volume = draw.integers(1_000, 100_000, size=len(symbols)).astype(float)
        values = np.stack([begin, high, low, end, volume, (high + low + end) / 3], axis=-1)
        closed_at = _FIRST + timedelta(hours=number)
        made.append(PushedBar(closed_at, symbols, values, ({},) * len(symbols)))
    return made


def _require_equal(serving: ServingModel, bars: list[PushedBar], stream: ModelStream) -> None:
    """Compare the stream with a model that is given the same features."""
    model = serving.model
    features, live = BarFeatures(model, time_zone=_ZONE), model.live()
    for bar in bars:
        live.take(features.push(bar), features.present)
    private = serving.private_of([{}] * len(model.symbols), [""] * len(model.symbols))
    wanted, found = (each.act(private, serving.allowed(private)) for each in (live, stream))
    if not np.allclose(wanted.action, found.action, atol=1e-4):
        raise DataError("a stream must act as its model before it is timed", was="differs")
