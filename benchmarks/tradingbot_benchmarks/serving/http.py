"""A served model over HTTP: one symbol, overload, and a thousand swaps under load."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from tradingbot.domain.errors import DataError
from tradingbot.serving.registry import ModelRegistry
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.prediction import ServingModel, answer_windows, read_windows
from tradingbot.serving.server.schemas import FeaturesRequest
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.serving.drawn_run import draw_bars
from tradingbot_benchmarks.serving.open_load import Connection, LoadAnswers, offer, request_bytes
from tradingbot_benchmarks.serving.served_workspace import make_workspace, serving
from tradingbot_benchmarks.serving.stretches import percentile, time_calls

PREDICT_HTTP_BUDGET_S = 0.006
"""One symbol through HTTP, at the 95th percentile."""
OVERLOAD = 5.0
"""Requests offered, of what the server can answer."""
OVERLOAD_BUDGET = 2.0
"""99th percentile of accepted requests under overload, of the unloaded one."""
_PATH = "/v1/predict/features"
_SHARE = 0.6
"""Unloaded requests are offered at this share of what one connection reached."""


@dataclass(frozen=True)
class HttpScale:
    """How much is measured over HTTP."""

    encoder: str
    n_symbols: int
    stretches: int
    calls: int
    """Requests of a stretch."""
    loads: int
    """Stretches of overload."""
    load_s: float
    """Seconds of one of them."""
    swaps: int


FULL_HTTP = HttpScale("full", 143, stretches=40, calls=40, loads=24, load_s=0.25, swaps=1_000)
QUICK_HTTP = HttpScale("tiny", 8, stretches=3, calls=20, loads=2, load_s=0.1, swaps=6)


def measure_http(folder: Path, scale: HttpScale) -> list[BenchRecord]:
    """Measure one symbol and overload against a server process of its own.

    Raises:
        DataError: If its answer is not the one that the model gives in process.
    """
    key = make_workspace(folder, encoder=scale.encoder, n_symbols=scale.n_symbols, n_models=1)
    body = _body(folder)
    request = request_bytes(_PATH, body, key)
    with serving(folder) as port:
        _require_equal(port, request, _wanted(folder, body))
        taken = _ask_alone(port, request, scale)
        loads = _overload(port, request, taken, scale)
    return [_record_one(taken, scale, len(body)), *_record_overload(loads, scale)]


def measure_swaps(folder: Path, n_swaps: int) -> BenchRecord:
    """Swap between two models while clients ask; count answers that failed or are mixed."""
    key = make_workspace(folder, encoder="tiny", n_symbols=8, n_models=2)
    body = _body(folder)
    request, wanted = request_bytes(_PATH, body, key), _wanted(folder, body)
    with serving(folder, "--waiting", "4") as port:
        n_asked, n_failed = _swap(port, request, wanted, key, n_swaps)
    return BenchRecord(
        *("swap_failures", float(n_failed), "answers", 0.0, "goal"),
        ratio=1.0 if not n_failed else 0.0,
        note=f"failed or mixed, of {n_asked:,} answers during {n_swaps:,} swaps by two clients; "
        "encoder tiny, 8 symbols; each answer compared with its model's own",
    )


def _ask_alone(port: int, request: bytes, scale: HttpScale) -> list[list[float]]:
    """Ask one by one, in stretches."""
    with Connection(port) as connection:

        def ask() -> None:
            if (status := connection.ask(request)[0]) != 200:
                raise DataError("every request must be answered when there is one", was=status)

        time_calls(ask, scale.calls)  # warms caches up
        return [time_calls(ask, scale.calls) for _ in range(scale.stretches)]


def _overload(
    port: int, request: bytes, alone: list[list[float]], scale: HttpScale
) -> list[tuple[LoadAnswers, LoadAnswers]]:
    """Offer what is easy and five times what is possible, in turn: both meet the same machine."""
    possible = 1.0 / min(float(np.mean(stretch)) for stretch in alone)
    found = []
    for _ in range(scale.loads):
        easy = offer(port, request, rate_per_s=_SHARE * possible, seconds=scale.load_s)
        hard = offer(port, request, rate_per_s=OVERLOAD * possible, seconds=scale.load_s)
        found.append((easy, hard))
    return found


def _record_one(taken: list[list[float]], scale: HttpScale, n_bytes: int) -> BenchRecord:
    p95 = percentile(taken, 0.95)
    sizes = f"encoder {scale.encoder}, {scale.n_symbols} symbols, body of {n_bytes / 1e3:.0f} kB"
    return BenchRecord(
        *("predict_http", p95.quiet, "s", PREDICT_HTTP_BUDGET_S, "budget"),
        ratio=PREDICT_HTTP_BUDGET_S / p95.quiet,
        note=f"p95 of the quietest of {len(taken)} stretches of {scale.calls} requests (all: "
        f"{p95.overall * 1e3:.1f} ms): a window of raw features of one symbol to a signal, "
        f"server in a process of its own, one connection; {sizes}",
    )


def _record_overload(
    loads: list[tuple[LoadAnswers, LoadAnswers]], scale: HttpScale
) -> list[BenchRecord]:
    easy = percentile([each.accepted_s for each, _ in loads], 0.99)
    hard = percentile([each.accepted_s for _, each in loads], 0.99)
    n_all = sum(sum(each.statuses.values()) for _, each in loads)
    n_shed = sum(each.statuses[503] for _, each in loads)
    n_odd = n_all - n_shed - sum(each.statuses[200] for _, each in loads)
    n_told = sum(each.n_with_retry for _, each in loads)
    shed = percentile([each.shed_s for _, each in loads if each.shed_s], 0.99) if n_shed else easy
    slower = hard.quiet / easy.quiet
    late = percentile([each.late_s for _, each in loads], 0.99)
    return [
        BenchRecord(
            *("overload_p99", slower, "×", OVERLOAD_BUDGET, "budget"),
            ratio=OVERLOAD_BUDGET / slower,
            note=f"p99 of accepted requests at {OVERLOAD:g} times what is possible ÷ p99 at "
            f"{_SHARE:g} times, {hard.quiet * 1e3:.1f} ÷ {easy.quiet * 1e3:.1f} ms, quietest of "
            f"{len(loads)} stretches each (all: {hard.overall * 1e3:.1f} ÷ "
            f"{easy.overall * 1e3:.1f} ms); fixed times of arrival, kept to "
            f"{late.quiet * 1e3:.1f} ms at p99; encoder {scale.encoder}",
        ),
        BenchRecord(
            *("overload_shed", n_shed / n_all, "of requests"),
            note=f"{n_shed:,} of {n_all:,} shed with 503 within {shed.quiet * 1e3:.1f} ms at p99; "
            f"{n_told:,} with Retry-After; {n_odd} answered otherwise",
        ),
    ]


def _swap(
    port: int, request: bytes, wanted: dict[str, float], key: str, n_swaps: int
) -> tuple[int, int]:
    """Return how many answers there were during swaps, and how many were wrong."""
    ended, counts = Event(), Counter[bool]()

    def ask() -> None:
        with Connection(port) as connection:
            while not ended.is_set():
                counts[_is_whole(*connection.ask(request), wanted)] += 1

    clients = [Thread(target=ask) for _ in range(2)]
    for client in clients:
        client.start()
    seen = set()
    try:
        with Connection(port) as admin:
            for number in range(n_swaps):
                told = json.dumps({"version": f"v{1 + number % 2}", "reason": "bench"}).encode()
                status, head, _ = admin.ask(request_bytes("/v1/admin/swap", told, key))
                counts[False] += status != 200
                seen.add(head.partition(b"x-model-sha256: ")[2][:64])
    finally:
        ended.set()
        for client in clients:
            client.join()
    if len(seen) != len(wanted):
        raise DataError("swaps must change what serves", was=f"{len(seen)} models")
    return counts.total(), counts[False]


def _is_whole(status: int, head: bytes, body: bytes, wanted: dict[str, float]) -> bool:
    if status != 200:
        return False
    told: dict[str, Any] = json.loads(body)
    sha256 = told["model"]["sha256"]
    is_one = sha256.encode() == head.partition(b"x-model-sha256: ")[2][:64]
    return bool(is_one and told["signals"][0]["action"] == wanted.get(sha256))


def _require_equal(port: int, request: bytes, wanted: dict[str, float]) -> None:
    with Connection(port) as connection:
        status, head, body = connection.ask(request)
    if not _is_whole(status, head, body, wanted):
        raise DataError("a server must answer as its model does before it is timed", was=status)


def _body(folder: Path) -> bytes:
    """Return a request for one symbol with a whole window."""
    version = ModelRegistry(folder).versions()[0]
    model = ServedModel.open(ModelRegistry(folder).bundle_path(version))
    bars = draw_bars(model.lookback_bars, 1, len(model.feature_ids), seed=2)[:, 0]
    rows = bars.astype(float).round(6).tolist()
    return json.dumps({"inputs": [{"symbol": model.symbols[0], "features": rows}]}).encode()


def _wanted(folder: Path, body: bytes) -> dict[str, float]:
    """Return what each model answers in process, by its hash."""
    registry, found = ModelRegistry(folder), {}
    asked = FeaturesRequest.model_validate_json(body)
    for version in registry.versions():
        one = ServingModel(ServedModel.open(registry.bundle_path(version)), version.name)
        answer, _ = answer_windows(one, read_windows(one, asked))
        found[one.model.sha256] = float(answer.action[0])
    return found
