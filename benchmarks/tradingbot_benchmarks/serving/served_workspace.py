"""A workspace whose drawn models are on paper, and its server as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tradingbot.domain.errors import DataError
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.serving.access.keys import SCOPES, KeyBook
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.registry import ModelRegistry
from tradingbot_benchmarks.serving.drawn_run import DrawnModel, draw_run

_STARTS_WITHIN_S = 60.0


def make_workspace(folder: Path, *, encoder: str, n_symbols: int, n_models: int) -> str:
    """Export drawn models, put them on paper one after the other; return a key of all scopes."""
    registry, now = ModelRegistry(folder), datetime.now(UTC)
    symbols = tuple(f"S{place:03d}" for place in range(n_symbols))
    for seed in range(n_models):
        drawn = DrawnModel(symbols, encoder=ENCODER_PRESETS[encoder], seed=seed)
        run = draw_run(folder / "drawn", f"drawn{seed}", drawn)
        path = folder / f"drawn{seed}.zip"
        export_run(run, path, n_hostile=20, verdict=BundleVerdict(status="GO"))
        registry.promote(registry.register(path, at=now).name, at=now, to="paper")
    made = KeyBook(folder).create("bench", SCOPES, at=now, lifetime=timedelta(days=1))
    return made.secret


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[int]:
    """Run `tradingbot serve` on a workspace; yields its port when it is ready.

    Raises:
        DataError: If it does not become ready.
    """
    command = [sys.executable, "-m", "tradingbot.app.cli", "--workspace", str(folder), "serve"]
    limits = ("--rate", "1000000", "--burst", "1000000")
    process = subprocess.Popen(
        [*command, "--port", "0", "--json", *limits, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1].rstrip() != "}" and lines[-1]:
            lines.append(process.stdout.readline())
        address = str(json.loads("".join(lines))["address"])
        _await_ready(address)
        yield int(address.rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate()


def _await_ready(address: str) -> None:
    end = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/ready"):  # noqa: S310 - ours, on loopback
                return
        except urllib.error.HTTPError:
            time.sleep(0.05)
    raise DataError("a server must be ready before it is timed", was="not ready", where=address)
