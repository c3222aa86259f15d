"""How long a served model takes: one symbol, one bar of all symbols, against PyTorch eager.

Weights are drawn; sizes are those of the product. Before anything is timed, ONNX Runtime and
PyTorch are compared on the same bars.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import DataError
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot.runs.policy import LivePolicy, StoredPolicy, load_policy
from tradingbot.serving.bundle import Bundle, BundleVerdict
from tradingbot.serving.export.run_export import build_graphs
from tradingbot.serving.golden import TOLERANCE, largest_difference
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.served_stream import ServedStream
from tradingbot_benchmarks.record import BenchRecord, against
from tradingbot_benchmarks.serving.bar import measure_bar
from tradingbot_benchmarks.serving.drawn_run import DrawnModel, draw_bars, draw_run
from tradingbot_benchmarks.serving.gate import measure_gate
from tradingbot_benchmarks.serving.http import (
    FULL_HTTP,
    QUICK_HTTP,
    HttpScale,
    measure_http,
    measure_swaps,
)
from tradingbot_benchmarks.serving.stretches import percentile

PREDICT_ONE_BUDGET_S = 0.003
"""One symbol in process, at the 95th percentile."""
_FLOAT32 = np.float32


@dataclass(frozen=True)
class ServeScale:
    """How much is measured."""

    encoder: str
    n_symbols: int
    calls: int
    """Single predictions that are timed."""
    bars: int
    """Bars of all symbols that are timed."""
    http: HttpScale
    """What is asked of a server."""


FULL = ServeScale("full", 143, calls=2_000, bars=60, http=FULL_HTTP)
QUICK = ServeScale("tiny", 16, calls=100, bars=20, http=QUICK_HTTP)
_N_STAGES = 7
_STRETCHES = 40
"""Short ones: on a machine that others use some are left alone."""


def measure_serving(
    scale: ServeScale, progress: Progress = ignore_progress, *, threads: int = 1
) -> list[BenchRecord]:
    """Measure a drawn model of a scale.

    Args:
        scale: How much.
        progress: Told how far it is.
        threads: Of ONNX Runtime and of PyTorch alike.

    Raises:
        DataError: If ONNX Runtime and PyTorch disagree.
    """
    with TemporaryDirectory() as folder, torch_threads(threads):
        loaded, model = draw_served_model(Path(folder), scale, threads=threads)
        bars = draw_bars(scale.bars, scale.n_symbols, len(model.feature_ids))
        progress(1, _N_STAGES, "drawn")
        theirs, ours, gap = _compare(loaded, model, bars)
        progress(2, _N_STAGES, "compared")
        one = _time_one(model, scale)
        progress(3, _N_STAGES, "one symbol")
        both = _time_bars(theirs, ours, bars)
        windows = _time_windows(loaded, model, scale)
        progress(4, _N_STAGES, "all symbols")
        bar = measure_bar(model, n_bars=scale.bars // 6, stretches=_STRETCHES)
        gate = measure_gate(scale.n_symbols, stretches=_STRETCHES)
        progress(5, _N_STAGES, "bars to signals, and the gate")
        served = measure_http(Path(folder) / "http", scale.http)
        progress(6, _N_STAGES, "over HTTP")
        swaps = measure_swaps(Path(folder) / "swaps", scale.http.swaps)
        progress(7, _N_STAGES, "swaps")
    return [*_records(scale, one, both, windows), parity_record(gap), bar, gate, *served, swaps]


def draw_served_model(
    folder: Path, scale: ServeScale, *, threads: int
) -> tuple[StoredPolicy, ServedModel]:
    """Return a drawn policy of all features in PyTorch, and the same in ONNX Runtime."""
    symbols = tuple(f"S{place:03d}" for place in range(scale.n_symbols))
    drawn = DrawnModel(symbols, encoder=ENCODER_PRESETS[scale.encoder])
    run = draw_run(folder, "drawn", drawn)
    loaded = load_policy(run)
    files, manifest = build_graphs(loaded, run, BundleVerdict())
    return loaded, ServedModel(Bundle(folder, "drawn", manifest, files), threads=threads)


def _compare(
    loaded: StoredPolicy, model: ServedModel, bars: Any
) -> tuple[LivePolicy, ServedStream, float]:
    """Let both take the first bars; refuse to time answers that differ. Last, by how much."""
    largest = 0.0
    theirs, ours = loaded.live(), model.live()
    private, present = _accounts(len(model.symbols)), np.ones(len(model.symbols), bool)
    for features in bars[: min(3, len(bars))]:
        row, _ = model.scale(features, present)
        theirs.take(torch.from_numpy(row))
        ours.take_row(row)
        wanted = theirs.act(torch.from_numpy(private)).numpy()
        gap = largest_difference(ours.act(private).action[:, None], wanted[:, None])
        if not gap <= TOLERANCE:
            raise DataError("ONNX Runtime must agree with PyTorch before it is timed", was=gap)
        largest = max(largest, gap)
    return theirs, ours, largest


def parity_record(gap: float) -> BenchRecord:
    """Return the largest difference of an action between ONNX Runtime and PyTorch."""
    name, unit = "onnx_largest_difference", "of an action"
    return BenchRecord(name, gap, unit, TOLERANCE, "goal, at most", note="the first three bars")


def _time_one(model: ServedModel, scale: ServeScale) -> list[float]:
    """Time one symbol from raw features to an action, its stream kept."""
    memory = model.begin_stream(1)
    symbol, agent = model.symbols[1:2], np.array([1])
    private, present = _accounts(1), np.ones(1, bool)
    bars = draw_bars(scale.calls, 1, len(model.feature_ids), seed=2)
    taken = []
    for features in bars:
        begin = time.perf_counter()
        row, _ = model.scale(features, present, symbols=symbol)
        memory, embedding = model.stream(memory, row)
        model.decide(agent, embedding, private)
        taken.append(time.perf_counter() - begin)
    return taken[len(taken) // 10 :]  # the first ones warm caches up


def _time_bars(
    theirs: LivePolicy, ours: ServedStream, bars: Any
) -> tuple[list[float], list[float]]:
    """Time a new bar of all symbols: ONNX Runtime and PyTorch in turn, so that both meet load."""
    model = ours.model
    private, present = _accounts(len(model.symbols)), np.ones(len(model.symbols), bool)
    tensor, taken = torch.from_numpy(private), (list[float](), list[float]())
    for features in bars:
        row, _ = model.scale(features, present)
        begin = time.perf_counter()
        ours.take_row(row)
        ours.act(private)
        between = time.perf_counter()
        theirs.take(torch.from_numpy(row))
        theirs.act(tensor)
        taken[0].append(between - begin)
        taken[1].append(time.perf_counter() - between)
    return taken


def _time_windows(
    loaded: StoredPolicy, model: ServedModel, scale: ServeScale
) -> tuple[list[float], list[float]]:
    """Time windows of all symbols, encoder and heads: the same sums on both sides."""
    sizes, n_agents = model.manifest.sizes, scale.n_symbols
    shape = (n_agents, sizes.lookback_bars, sizes.n_features)
    window = np.random.default_rng(3).normal(size=shape).astype(_FLOAT32)
    private, agent = _accounts(n_agents), np.arange(n_agents)
    seen, tensor = torch.from_numpy(window), torch.from_numpy(private)
    nothing = tensor.new_empty(n_agents, 0)
    encoder, taken = loaded.seen_through, (list[float](), list[float]())

    def in_pytorch() -> None:
        with torch.no_grad():
            policy = loaded.policy_on(TableView(encoder.window(seen)[:, None]))
            policy(PolicyInputs(torch.arange(n_agents), nothing, nothing, tensor))

    for _ in range(max(5, scale.bars // 4)):
        taken[0].append(_seconds(lambda: model.decide(agent, model.embed_windows(window), private)))
        taken[1].append(_seconds(in_pytorch))
    return taken


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _accounts(count: int) -> Any:
    return np.random.default_rng(4).normal(size=(18, count))


def _records(
    scale: ServeScale,
    one: list[float],
    bars: tuple[list[float], list[float]],
    windows: tuple[list[float], list[float]],
) -> list[BenchRecord]:
    """Say what was measured: p95 of single predictions, medians of the rest."""
    sizes = f"encoder {scale.encoder}, {scale.n_symbols} symbols"
    streamed, eager = (float(np.median(each)) for each in bars)
    by_window, eager_window = (float(np.median(each)) for each in windows)
    p95 = percentile(np.array_split(np.array(one), _STRETCHES), 0.95)
    return [
        BenchRecord(
            *("predict_one", p95.quiet, "s", PREDICT_ONE_BUDGET_S, "budget"),
            ratio=PREDICT_ONE_BUDGET_S / p95.quiet,
            note=f"p95 of the quietest of {_STRETCHES} stretches (all: "
            f"{p95.overall * 1e3:.2f} ms), in process: raw features of a bar to an action, "
            f"stream kept; {sizes}",
        ),
        BenchRecord(
            *("vs_torch", eager / streamed, "×", 1.0, "PyTorch eager"),
            ratio=eager / streamed,
            note=f"a new bar of all symbols, encoder and heads (LivePolicy), median; {sizes}",
        ),
        against("served_bar", streamed, "s", eager, "PyTorch eager, same bar (LivePolicy)"),
        against("served_windows", by_window, "s", eager_window, "PyTorch eager, same windows"),
    ]
