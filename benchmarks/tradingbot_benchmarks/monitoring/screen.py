"""From a record in a journal to the screen of a browser: a real server, a real Chromium."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tradingbot.data.sources.source import Progress
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.report.numbers import plain
from tradingbot.runtime.journal.equity import read_equity
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot_benchmarks.monitoring.long_session import (
    draw_equity,
    make_session,
    settled,
    started,
    write_long_session,
)
from tradingbot_benchmarks.record import BenchRecord, against

FRESH_S, PAINT_S, POINTS_S = 1.0, 2.0, 2.0
"""Budgets of SPEC and its issue."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_LONGEST_S = 120.0
_POINTS = 1_000_000
_SHOWS = """text => {
  const found = document.querySelector('[data-mark="equity"]');
  return found !== null && found.textContent === text;
}"""
_DRAWN = """([low, high]) => [...document.querySelectorAll('.js-plotly-plot')].some(plot =>
  (plot._fullData || []).some(trace => {
    const y = Array.from(trace.y || []);
    return y.includes(low) && y.includes(high);
  }) && plot.querySelector('.scatterlayer path') !== null)"""


@dataclass(frozen=True)
class ScreenScale:
    """How much is measured."""

    bars: int = 80
    """New bars whose way to the screen is timed."""
    openings: int = 9
    """Of the page, each by a browser that has nothing of it."""
    with_points: bool = True
    """Whether a session of a million bars is opened too."""


def measure_screen(scale: ScreenScale, progress: Progress) -> list[BenchRecord]:
    """Return what was measured; NaN and why where there is no browser to see with."""
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        return _unmeasured("the package playwright is not installed")
    if program is None:
        return _unmeasured("no Chromium on this machine")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            return [
                *_measure_live(Path(place) / "live", browser, scale, progress),
                *_measure_points(Path(place) / "long", browser, scale, progress),
            ]
        finally:
            browser.close()


def _measure_live(
    workspace: Path, browser: Any, scale: ScreenScale, progress: Progress
) -> list[BenchRecord]:
    folder = make_session(workspace, "live")
    delays, paints = [], []
    waits = stream(7, "moments of new bars").uniform(0.0, 0.7, scale.bars)
    with (
        SessionJournal.open(folder.journal, create=True) as journal,
        folder.hold(),
        _dashboard_of(workspace) as address,
    ):
        journal.record(started(), settled(0, 1e6), session="live")
        _open(browser, address, 1e6)[1].close()  # warm
        for place in range(scale.openings):
            seconds, page = _open(browser, address, 1e6)
            paints.append(seconds)
            page.close()
            progress(place, scale.openings, "openings")
        _, page = _open(browser, address, 1e6)
        for bar, wait in enumerate(waits, start=1):
            time.sleep(wait)
            equity = 1e6 + bar
            journal.record(settled(bar, equity), session="live")
            begin = time.monotonic()
            _await(page, _SHOWS, plain(equity))
            delays.append(time.monotonic() - begin)
            progress(bar, scale.bars, "new bars on the screen")
        page.close()
    late = float(np.percentile(delays, 95))
    told = f"p95 of {len(delays)} bars; median {median(delays):.3f} s, worst {max(delays):.3f} s"
    seen = f"median of {len(paints)} openings, each with an empty cache; worst {max(paints):.3f} s"
    return [
        _noted(against("fresh_to_screen_s", late, "s", FRESH_S, "budget"), told),
        _noted(against("first_paint_s", median(paints), "s", PAINT_S, "budget"), seen),
    ]


def _measure_points(
    workspace: Path, browser: Any, scale: ScreenScale, progress: Progress
) -> list[BenchRecord]:
    if not scale.with_points:
        note = "left out by --quick"
        return [BenchRecord("points_1e6_s", float("nan"), "s", POINTS_S, "budget", note=note)]
    progress(0, 1, "a journal of a million bars")
    equity = draw_equity(_POINTS)
    small = make_session(workspace, "small")
    with SessionJournal.open(small.journal, create=True) as journal:
        journal.record(started(), settled(0, 1e6), session="small")
    with _dashboard_of(workspace) as address:
        _open(browser, address, 1e6)[1].close()  # warm: the server has its packages
        folder = write_long_session(workspace, "another", equity)
        with JournalReader.at(folder.journal) as journal:
            read = read_equity(journal, "another")
        if not np.array_equal(read.equity_ccy, equity):
            raise AssertionError("the journal must hold the numbers that were written")
        begin, page = time.monotonic(), browser.new_page()
        page.goto(address, timeout=_LONGEST_S * 1e3)
        _await(page, _DRAWN, [float(equity.min()), float(equity.max())])
        first_s = time.monotonic() - begin
        page.close()
        again = []
        for _ in range(3):
            begin, page = time.monotonic(), browser.new_page()
            page.goto(address, timeout=_LONGEST_S * 1e3)
            _await(page, _DRAWN, [float(equity.min()), float(equity.max())])
            again.append(time.monotonic() - begin)
            page.close()
    note = (
        "from opening the page to the line with both extremes, of a journal that was not read "
        f"before; opened again {median(again):.3f} s"
    )
    return [_noted(against("points_1e6_s", first_s, "s", POINTS_S, "budget"), note)]


def _open(browser: Any, address: str, equity: float) -> tuple[float, Any]:
    """Open the page in a browser that has nothing of it; return seconds until it shows equity."""
    context = browser.new_context()
    page = context.new_page()
    begin = time.monotonic()
    page.goto(address, timeout=_LONGEST_S * 1e3)
    _await(page, _SHOWS, plain(equity))
    return time.monotonic() - begin, page


def _await(page: Any, condition: str, argument: object) -> None:
    page.wait_for_function(condition, arg=argument, polling="raf", timeout=_LONGEST_S * 1e3)


@contextmanager
def _dashboard_of(workspace: Path) -> Iterator[str]:
    """Run `tradingbot dashboard` as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("-m", "tradingbot.app.cli", "--workspace", str(workspace), "dashboard")
    process = subprocess.Popen(
        [sys.executable, *command, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: _answers(f"{address}/_stcore/health"))
        yield address
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        process.kill()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONGEST_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("the dashboard did not start")
        time.sleep(0.05)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2.0) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except OSError:
        return False


def _noted(record: BenchRecord, note: str) -> BenchRecord:
    return replace(record, note=note)


def _unmeasured(why: str) -> list[BenchRecord]:
    budgets = {"fresh_to_screen_s": FRESH_S, "first_paint_s": PAINT_S, "points_1e6_s": POINTS_S}
    return [
        BenchRecord(name, float("nan"), "s", budget, "budget", note=why)
        for name, budget in budgets.items()
    ]
