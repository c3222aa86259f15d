"""From a trip in a journal to the alert at a server: over processes, files and HTTP, as in use."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot.data.sources.source import Progress
from tradingbot.domain.seeding import stream
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot_benchmarks.monitoring.tripped_sessions import TrippedSession, open_tripped_session
from tradingbot_benchmarks.record import BenchRecord, against

TARGET_S = 5.0
"""RTS 6, article 16: alerts within 5 s."""
_RULES = """
extends: default
channels:
  hook: {{kind: webhook, address: "http://127.0.0.1:{port}/", allow_private: true}}
storm: {{max_notices: 1000000, window_s: 60.0}}
rules:
  drawdown: {{cooldown_s: 0.0, escalation: []}}
"""
_HIGH, _LOW = 95_000, 70_000
_LONGEST_S = 60.0
"""Wait for one alert."""
_START_S = 120.0


@dataclass(frozen=True)
class AlertScale:
    """How much is measured."""

    sessions: int = 8
    trips: int = 25
    """Of every session."""


@dataclass
class _Arrivals:
    """When notices arrived, by kind and session."""

    times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, body: dict[str, Any], at: float) -> None:
        title = str(body["title"])
        with self.changed:
            if "drawdown, session " not in title:
                self.others.append(title)
            self.times.setdefault((body["kind"], title.rpartition(" ")[2]), []).append(at)
            self.changed.notify_all()

    def wait_for(self, kind: str, session: str, count: int) -> float:
        """Return when the last of as many arrived."""
        with self.changed:
            key = (kind, session)
            if not self.changed.wait_for(lambda: len(self.times.get(key, ())) >= count, _LONGEST_S):
                raise TimeoutError(f"no alert of {session} within {_LONGEST_S:.0f} s")
            return self.times[key][count - 1]


def measure_alert_latency(scale: AlertScale, progress: Progress) -> BenchRecord:
    """Trip sessions at random moments, and time every alert until a server has it.

    Raises:
        RuntimeError: If a trip was told otherwise than once: nothing is timed that is not right.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        workspace = Path(folder)
        arrivals, port = held.enter_context(_listening())
        (workspace / "alerts.yaml").write_text(_RULES.format(port=port), encoding="utf-8")
        names = [f"s{number}" for number in range(scale.sessions)]
        sessions = [held.enter_context(open_tripped_session(workspace, name)) for name in names]
        held.enter_context(_alerter(workspace))
        latencies = _trip_all(sessions, arrivals, scale, progress)
    told = {name: len(arrivals.times.get(("fired", name), ())) for name in names}
    if arrivals.others or set(told.values()) != {scale.trips}:
        raise RuntimeError(f"every trip must be told once, was {told}, and {arrivals.others[:3]}")
    p50, p99 = np.percentile(latencies, [50, 99], method="higher")
    what = "from before the journal's commit to the webhook's arrival, p99; synthetic sessions"
    note = f"{what}; {len(latencies)} trips, p50 {p50:.3f} s, looks every 1 s"
    made = against("alert_latency_s", float(p99), "s", TARGET_S, "target (RTS 6 art. 16)")
    return BenchRecord(**{**vars(made), "note": note})


def _trip_all(
    sessions: list[TrippedSession], arrivals: _Arrivals, scale: AlertScale, progress: Progress
) -> list[float]:
    """Trip and recover every session in a thread of its own."""
    latencies: list[float] = []
    failures: list[BaseException] = []
    total = scale.trips * len(sessions)

    def work(session: TrippedSession, place: int) -> None:
        draws = stream(7, "bench", "alerts", str(place))
        try:
            for count in range(1, scale.trips + 1):
                time.sleep(float(draws.uniform(0.0, 1.0)))  # at any moment between two looks
                began = time.monotonic()
                session.mark(_LOW)
                latencies.append(arrivals.wait_for("fired", session.name, count) - began)
                session.mark(_HIGH)
                arrivals.wait_for("resolved", session.name, count)
                progress(len(latencies), total, "trips")
        except BaseException as e:  # told by the thread that waits
            failures.append(e)

    threads = [
        threading.Thread(target=work, args=(each, place)) for place, each in enumerate(sessions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return latencies


@contextmanager
def _alerter(workspace: Path) -> Iterator[None]:
    """Run `alerts watch` as a process of its own, and end it as a person would."""
    words = ["--workspace", str(workspace), "alerts", "watch", "--no-guard"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tradingbot.app.cli", *words], stderr=subprocess.DEVNULL
    )
    try:
        reader, until = AlertReader(workspace), time.monotonic() + _START_S
        while reader.heartbeat() is None:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the alerter did not start")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(_START_S)


@contextmanager
def _listening() -> Iterator[tuple[_Arrivals, int]]:
    """Take webhooks on loopback, and note when."""
    arrivals = _Arrivals()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            at = time.monotonic()
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()
            arrivals.take(body, at)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield arrivals, int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
