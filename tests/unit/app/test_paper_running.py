"""A session that runs: what its process tells of itself, and how long it waits for its venue."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from fixtures.watched_sessions import make_session
from tradingbot.app.paper import running
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.timeframe import BarGrid
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.phase import PhaseBoard, look_at_phase

NOW = datetime.now(UTC).replace(microsecond=0)


def test_session_that_waits_for_a_bar_keeps_its_sign_of_life(tmp_path: Path) -> None:
    folder = make_session(tmp_path, bars="alpaca", stop_bar=None)
    at, day = [NOW], NOW.date()
    hours = ExchangeHours("24/7", "1h", BarGrid.SESSION, day, day + timedelta(days=9))
    clock = Clock(now=lambda: at[0])
    with folder.hold():
        board = PhaseBoard(folder, hours, first_bar=0, waits=True, is_live=True, now=clock.now)
        pace = running._pace(mock.Mock(), folder, clock, board, lambda *_: None)
        old = (NOW - timedelta(days=1)).timestamp()
        os.utime(folder.path / "phase.json", (old, old))

        at[0] += timedelta(seconds=2)
        pace.alive()
        found = look_at_phase(folder)

    assert found.beat_at is not None
    assert found.beat_at >= NOW


@pytest.mark.parametrize("set_back_s", [0.0, 600.0])
def test_venue_is_asked_again_after_its_rest_though_the_clock_was_set_back(
    tmp_path: Path, set_back_s: float
) -> None:
    at, slept = [NOW], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        at[0] += timedelta(seconds=seconds - (set_back_s if len(slept) == 2 else 0.0))

    clock = Clock(now=lambda: at[0], sleep=sleep)

    assert running._wait(make_session(tmp_path), clock, 4.0)
    assert sum(slept) == 4.0
