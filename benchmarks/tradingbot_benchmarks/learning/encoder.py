"""The encoder benchmark: one pass over a history against a window per bar, latency, memory.

Everything is the full encoder in float32 on the processor; its input is random numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import TradingBotError
from tradingbot.networks.embedding import embed_table
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig
from tradingbot_benchmarks.record import BenchRecord, against
from tradingbot_benchmarks.simulator.timing import calls_per_second

SEED = 7
N_FEATURES = 33
BATCH = 32
# Budgets: a window's latency in seconds, windows per second, bytes of activations.
LATENCY_BUDGET_S = 0.1
WINDOWS_BUDGET = 3000.0
ACTIVATIONS_BUDGET_BYTES = 100e6
MAX_DIFFERENCE = 1e-5  # of embeddings of unit scale, in float32


@dataclass(frozen=True)
class EncoderScale:
    """How much is measured."""

    encoder: EncoderConfig
    preset: str
    """What the encoder is called in notes."""
    symbols: int
    """Histories embedded in the long record."""
    bars: int
    """Bars of a history; 3,528 are two years of hourly ones."""
    compared_bars: int
    """Bars encoded both ways."""
    calls: int
    """Timed calls behind a percentile."""
    seconds: float
    """Least duration of a repeat of a rate."""


FULL = EncoderScale(ENCODER_PRESETS["full"], "full", 143, 3528, 3528, 200, 1.0)
QUICK = replace(FULL, symbols=8, compared_bars=1024, calls=60, seconds=0.3)


def measure_encoder(
    scale: EncoderScale = FULL, progress: Progress = ignore_progress
) -> list[BenchRecord]:
    """Check that the passes agree, then time them.

    Raises:
        TradingBotError: If the passes differ; nothing is timed then.
    """
    generator = torch.Generator().manual_seed(SEED)
    encoder = build_encoder(scale.encoder, N_FEATURES, generator)
    table = torch.randn(1, scale.compared_bars, N_FEATURES, generator=generator)
    with torch.no_grad():
        difference = _require_equal(encoder, table)
        stages: list[tuple[str, Callable[[], BenchRecord]]] = [
            ("history", lambda: _history(encoder, table, difference, scale)),
            ("windows", lambda: _windows(encoder, scale)),
            ("latency", lambda: _latency(encoder, scale)),
            ("stream", lambda: _stream(encoder, scale)),
            ("activations", lambda: _activations(encoder)),
            ("embedding", lambda: embedding_record(scale)),
        ]
        found = []
        for number, (label, stage) in enumerate(stages):
            progress(number, len(stages), label)
            found.append(stage())
    progress(len(stages), len(stages), "measured")
    return found


def embedding_record(scale: EncoderScale = FULL) -> BenchRecord:
    """Time the embedding of all histories, once, whole; nothing is extrapolated.

    The reference is a bound: the encoder's matrix products alone, at the rate that this machine
    reached on one of them a moment before.
    """
    generator = torch.Generator().manual_seed(SEED)
    encoder = build_encoder(scale.encoder, N_FEATURES, generator)
    table = torch.randn(scale.symbols, scale.bars, N_FEATURES, generator=generator)
    out = torch.zeros(scale.symbols, scale.bars, encoder.width)  # touched before the clock starts
    embed_table(encoder, table[:1], out=out[:1])
    bound = scale.symbols * scale.bars * _operations_per_bar(encoder) / _multiply_rate(scale)
    start = time.perf_counter()
    embed_table(encoder, table, out=out)
    elapsed = time.perf_counter() - start
    years = f"{2 * scale.bars / 3528:g}"
    record = against(
        f"embed_{scale.symbols}x{years}y", elapsed, "s", bound, "its matrix products alone"
    )
    what = f"{scale.symbols} × {scale.bars:,} bars, {scale.preset} encoder, CPU, float32, once"
    return replace(record, note=what)


def _require_equal(encoder: Encoder, table: Tensor) -> float:
    """Compare history, windows and stream; return the largest difference."""
    whole = encoder(table)
    windows = _all_windows(encoder, table)
    memory, streamed = encoder.begin_stream(1), []
    for bar in range(table.shape[1]):
        memory, embedding = encoder.stream(memory, table[:, bar])
        streamed.append(embedding)
    others = (windows, torch.stack(streamed, dim=1))
    difference = max(float((other - whole).abs().max()) for other in others)
    if difference > MAX_DIFFERENCE:
        raise TradingBotError(f"the encoder's passes differ by {difference:.1e}: nothing is timed")
    return difference


def _all_windows(encoder: Encoder, table: Tensor) -> Tensor:
    """Encode one history (1, T, F) window by window → (1, T, D), many windows to a batch."""
    back = encoder.lookback_bars - 1
    early = [encoder.window(table[:, : bar + 1]) for bar in range(min(back, table.shape[1]))]
    windows = table[0].unfold(0, back + 1, 1).transpose(1, 2)
    late = [encoder.window(windows[begin : begin + 256]) for begin in range(0, len(windows), 256)]
    return torch.cat([*early, *late])[None]


def _history(
    encoder: Encoder, table: Tensor, difference: float, scale: EncoderScale
) -> BenchRecord:
    bars, seconds = table.shape[1], scale.seconds
    whole = bars * calls_per_second(lambda: encoder(table), seconds=seconds, repeats=3)
    windows = bars * calls_per_second(
        lambda: _all_windows(encoder, table), seconds=seconds, repeats=3
    )
    note = f"{bars:,} bars of one symbol; passes differ by {difference:.0e} at most"
    return _faster("history_bars", whole, "bars/s", windows, "window by window", note)


def _windows(encoder: Encoder, scale: EncoderScale) -> BenchRecord:
    batch = _batch(encoder, 256)
    rate = 256 * calls_per_second(lambda: encoder.window(batch), seconds=scale.seconds, repeats=3)
    return _faster("windows_b256", rate, "windows/s", WINDOWS_BUDGET, "budget (GPU)", "batch 256")


def _latency(encoder: Encoder, scale: EncoderScale) -> BenchRecord:
    batch = _batch(encoder, BATCH)
    p95 = _percentile_95(lambda: encoder.window(batch), scale.calls)
    record = against(f"window_p95_b{BATCH}", p95, "s", LATENCY_BUDGET_S, "budget")
    return replace(record, note=f"{scale.calls} calls")


def _stream(encoder: Encoder, scale: EncoderScale) -> BenchRecord:
    row = _batch(encoder, 143)[:, 0]
    memory = encoder.begin_stream(143)
    window = _batch(encoder, 143)

    def advance() -> None:
        nonlocal memory
        memory, _ = encoder.stream(memory, row)

    streamed = _percentile_95(advance, scale.calls)
    anew = _percentile_95(lambda: encoder.window(window), scale.calls)
    record = against("stream_p95_143", streamed, "s", anew, "a window each")
    return replace(record, note="one new bar of 143 symbols")


def _activations(encoder: Encoder) -> BenchRecord:
    """Count the bytes that a pass over a batch keeps for its gradients."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}
    selected: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            selected[storage.data_ptr()] = storage.nbytes()
        return tensor

    batch = _batch(encoder, BATCH)
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with torch.enable_grad(), hooks:
        held = encoder.window(batch)
    size = float(sum(selected.values()))
    del held  # alive until here: freed memory must not be counted twice under one address
    record = against(f"activations_b{BATCH}", size, "bytes", ACTIVATIONS_BUDGET_BYTES, "budget")
    return replace(record, note="kept for gradients")


def _batch(encoder: Encoder, n_windows: int) -> Tensor:
    generator = torch.Generator().manual_seed(SEED)
    return torch.randn(n_windows, encoder.lookback_bars, N_FEATURES, generator=generator)


def _percentile_95(call: Callable[[], object], calls: int) -> float:
    for _ in range(3):
        call()
    taken = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[int(0.95 * (calls - 1))]


def _operations_per_bar(encoder: nn.Module) -> float:
    """Count additions and multiplications of a bar's products with weights."""
    layers = [module for module in encoder.modules() if isinstance(module, nn.Linear)]
    return float(sum(2 * layer.weight.numel() for layer in layers))


def _multiply_rate(scale: EncoderScale) -> float:
    """Measure operations per second of the product of the inner layer, the largest there is."""
    width = scale.encoder.width
    inner = width * scale.encoder.feedforward_factor
    left, right, out = torch.ones(4096, width), torch.ones(width, inner), torch.ones(4096, inner)
    rate = calls_per_second(
        lambda: torch.mm(left, right, out=out), seconds=scale.seconds, repeats=3
    )
    return rate * 2 * left.shape[0] * width * inner


def _faster(
    name: str, value: float, unit: str, reference: float, what: str, note: str
) -> BenchRecord:
    """Make a record of a speed, whose ratio is value ÷ reference."""
    return BenchRecord(name, value, unit, reference, what, value / reference, note)
