"""Speed of the encoder on a GPU, with nothing but torch, NumPy and this repository's sources.

python benchmarks/gpu_encoder.py [--device cuda] [--symbols 143] [--out gpu_encoder.json]

The full encoder on random numbers, in float32, in float32 with TF32 products, and in bfloat16 by
autocast. Before timing, whole history, windows and stream are compared on the device in float64,
and float32 on the device with float32 on the CPU; errors of TF32 and bfloat16 against float32 are
part of the result. Learning is forward and backward through runs of bars, and row by row.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch
from torch import Tensor

from tradingbot.networks.embedding import autocast, embed_table
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.precision import Precision
from tradingbot.networks.view import EncoderView

SEED = 7
N_FEATURES = 33
MODES: dict[str, Precision] = {"float32": "float32", "tf32": "float32", "bfloat16": "bfloat16"}
SLACK = {torch.float64: 1e-10, torch.float32: 1e-4}  # of embeddings of unit scale


@contextmanager
def mode_of(name: str) -> Iterator[Precision]:
    """Allow TF32 products or forbid them; yield the precision to ask for."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    yield MODES[name]
    torch.set_float32_matmul_precision(before)


def made(preset: str, device: torch.device) -> Encoder:
    """Build the encoder with the same weights every time."""
    generator = torch.Generator().manual_seed(SEED)
    return build_encoder(encoder_preset(preset), N_FEATURES, generator).to(device)


def random_table(n_series: int, n_bars: int) -> Tensor:
    """Draw rows on the CPU, the same for every device."""
    drawn = np.random.default_rng(SEED).standard_normal((n_series, n_bars, N_FEATURES), np.float32)
    return torch.from_numpy(drawn)


@torch.no_grad()
def require_equal(preset: str, device: torch.device) -> dict[str, float]:
    """Compare the three passes in float64, and the device with the CPU in float32."""
    encoder, table = made(preset, device).double(), random_table(4, 200).to(device).double()
    whole, back = encoder(table), encoder.lookback_bars - 1
    windows = [encoder.window(table[:, max(0, t - back) : t + 1]) for t in range(200)]
    memory, streamed = encoder.begin_stream(4), []
    for t in range(200):
        memory, embedding = encoder.stream(memory, table[:, t])
        streamed.append(embedding)
    on_device = made(preset, device)(random_table(4, 200).to(device)).cpu()
    on_cpu = made(preset, torch.device("cpu"))(random_table(4, 200))
    found = {
        "windows_float64": float((torch.stack(windows, 1) - whole).abs().max()),
        "stream_float64": float((torch.stack(streamed, 1) - whole).abs().max()),
        "cpu_float32": float((on_device - on_cpu).abs().max()),
    }
    slack = {"cpu_float32": SLACK[torch.float32]}
    for name, difference in found.items():
        if not difference <= slack.get(name, SLACK[torch.float64]):
            raise SystemExit(f"{name} differs by {difference:.1e}: no speed is measured")
    return found


def wait(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(call: Callable[[], object], device: torch.device, calls: int) -> list[float]:
    """Time calls one by one, in seconds, after three that are not counted."""
    taken = []
    for number in range(calls + 3):
        wait(device)
        start = time.perf_counter()
        call()
        wait(device)
        if number >= 3:
            taken.append(time.perf_counter() - start)
    return taken


def p95(taken: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(taken)[int(0.95 * (len(taken) - 1))]


def peak_bytes(call: Callable[[], object], device: torch.device) -> int | None:
    """Return the most memory a call holds at once, weights and inputs included."""
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    call()
    return torch.cuda.max_memory_allocated(device)


def measure_embedding(encoder: Encoder, table: Tensor, calls: int) -> list[dict[str, object]]:
    """Time the embedding of the whole table in every mode and program; state errors and memory."""
    device, points = table.device, []
    out = table.new_empty(*table.shape[:2], encoder.width)
    with mode_of("float32"):
        exact = embed_table(encoder, table[:2])
    for name in MODES if device.type == "cuda" else ("float32", "bfloat16"):
        with mode_of(name) as precision:
            error = (embed_table(encoder, table[:2], precision=precision) - exact).abs()

            def embed(precision: Precision = precision) -> Tensor:
                return embed_table(encoder, table, precision=precision, out=out)

            taken = timed(embed, device, calls)
            points.append(
                {
                    "name": f"embed_{table.shape[0]}x{table.shape[1]}_{name}",
                    "seconds": statistics.median(taken),
                    "slowest_s": max(taken),
                    "bars_per_s": table.shape[0] * table.shape[1] / statistics.median(taken),
                    "mean_error": float(error.mean()),
                    "max_error": float(error.max()),
                    "peak_bytes": peak_bytes(embed, device),
                }
            )
            show(points[-1])
    return points


@torch.no_grad()
def measure_windows(encoder: Encoder, device: torch.device, calls: int) -> list[dict[str, object]]:
    """Time batches of windows: latency at 32, windows per second at 32 and 4,096; one bar more."""
    points: list[dict[str, object]] = []
    for name in ("float32", "bfloat16"):
        for size in (32, 4096):
            with mode_of(name) as precision, autocast(device, precision):
                batch = random_table(size, encoder.lookback_bars).to(device)
                taken = timed(lambda batch=batch: encoder.window(batch), device, calls)
            points.append(
                {
                    "name": f"window_b{size}_{name}",
                    "p95_s": p95(taken),
                    "median_s": statistics.median(taken),
                    "windows_per_s": size / statistics.median(taken),
                }
            )
            show(points[-1])
    memory, row = encoder.begin_stream(143), random_table(143, 1)[:, 0].to(device)
    taken = timed(lambda: encoder.stream(memory, row), device, calls)
    points.append({"name": "stream_143", "p95_s": p95(taken), "median_s": statistics.median(taken)})
    show(points[-1])
    return points


def measure_learning(
    encoder: Encoder, table: Tensor, length: int, calls: int
) -> list[dict[str, object]]:
    """Time forward and backward: runs of bars in one pass, and the same bars row by row."""
    device, points = table.device, []
    runs = 16
    n_series, n_bars, _ = table.shape
    drawn = np.random.default_rng(SEED).integers(0, n_bars - length, (n_series, runs))
    first = torch.from_numpy(drawn + np.arange(n_series)[:, None] * n_bars).to(device).flatten()
    rows = (first[:, None] + torch.arange(length, device=device)).flatten()
    few = rows[: rows.numel() // 8]  # row by row costs many times as much
    for name in MODES if device.type == "cuda" else ("float32",):
        with mode_of(name) as precision:
            view = EncoderView(encoder, table, precision=precision)

            def learn(given: Callable[[], Tensor]) -> None:
                encoder.zero_grad()
                given().square().mean().backward()

            for what, n_rows, given in (
                ("segments", rows.numel(), lambda view=view: view.segments(first, length)),
                ("rows", few.numel(), lambda view=view: view(few)),
            ):
                taken = timed(lambda given=given: learn(given), device, calls)
                points.append(
                    {
                        "name": f"learn_{what}_{name}",
                        "seconds": statistics.median(taken),
                        "bars": n_rows,
                        "bars_per_s": n_rows / statistics.median(taken),
                        "peak_bytes": peak_bytes(lambda given=given: learn(given), device),
                    }
                )
                show(points[-1])
    return points


def show(point: dict[str, object]) -> None:
    """Print one point on one line."""
    figures = (
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in point.items()
        if key != "name"
    )
    print(f"{point['name']}: {', '.join(figures)}", flush=True)


def main() -> None:
    """Check, measure, write one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--preset", default="full")
    parser.add_argument("--symbols", type=int, default=143)
    parser.add_argument("--bars", type=int, default=3528)
    parser.add_argument("--length", type=int, default=64, help="of a run of bars to learn from")
    parser.add_argument("--calls", type=int, default=20, help="timed calls behind a figure")
    parser.add_argument("--out", type=Path, help="default: gpu_encoder.json in $OUT or here")
    given = parser.parse_args()
    device = torch.device(given.device)
    differences = require_equal(given.preset, device)
    print(f"passes agree: {differences}", flush=True)
    encoder = made(given.preset, device)
    table = random_table(given.symbols, given.bars).to(device)
    points = [
        *measure_embedding(encoder, table, given.calls),
        *measure_windows(encoder, device, 10 * given.calls),
        *measure_learning(encoder, table, given.length, given.calls),
    ]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    result = {
        "device": name,
        "versions": f"torch {torch.__version__}, numpy {np.__version__}",
        "encoder": given.preset,
        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "data": f"random numbers, {given.symbols} symbols × {given.bars} bars × {N_FEATURES}",
        "differences": differences,
        "points": points,
    }
    path = given.out or Path(os.environ.get("OUT", ".")) / "gpu_encoder.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"Wrote {path}")


if __name__ == "__main__":
    main()
