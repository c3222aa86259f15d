"""What a process says that it is at, and its last sign of life, as others read them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fixtures.watched_sessions import (
    FIRST,
    begin,
    fill_session,
    make_session,
    settle,
    watch,
    writing,
)
from tradingbot.app.paper.status import status_of
from tradingbot.domain.timeframe import BarGrid
from tradingbot.monitoring.alerts.sources.sessions import WatchedSession
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.phase import Phase, PhaseBoard, look_at_phase, read_phase

NOW = datetime.now(UTC).replace(microsecond=0)


class Wall:
    """Time of day that a test moves."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


def bars(n_bars: int, last: datetime) -> Iterator[MarketBar]:
    for number in range(n_bars):
        at = last - timedelta(hours=n_bars - 1 - number)
        yield MarketBar(number, at, np.ones(1, dtype=np.bool_), {}, {})


def board_of(folder: SessionFolder, wall: Wall, *, is_live: bool = True) -> PhaseBoard:
    day = NOW.date()
    hours = ExchangeHours(
        "24/7", "1h", BarGrid.SESSION, day - timedelta(days=9), day + timedelta(days=9)
    )
    return PhaseBoard(folder, hours, first_bar=2, waits=is_live, is_live=is_live, now=wall)


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    return fill_session(tmp_path, bars=3)


def test_bars_that_are_streamed_again_are_progress_by_the_second(folder: SessionFolder) -> None:
    wall = Wall()
    with folder.hold():
        board = board_of(folder, wall)
        seen = []
        for _ in board.stream(bars(40, NOW - timedelta(days=2)), 1000):
            wall.at += timedelta(seconds=0.5)
            seen.append(look_at_phase(folder))

        assert seen[-1].name == "catching up"
        assert seen[-1].n_bars is not None
        assert seen[-1].n_bars.endswith("of 1000 bars")
        assert seen[-1].told_at is not None
        assert wall.at - seen[-1].told_at <= timedelta(seconds=1.5)
        assert seen[-1].catches_up(wall.at)
        assert not seen[-1].catches_up(wall.at + timedelta(seconds=62))


def test_live_bars_that_closed_while_it_was_away_are_caught_up_with(folder: SessionFolder) -> None:
    wall = Wall()
    with folder.hold():
        board = board_of(folder, wall)
        names = []
        for bar in bars(6, NOW):
            board.take(bar)
            names.append(read_phase(folder)["phase"])

    assert names[-3:] == ["catching up", "catching up", "waiting"]


def test_venue_that_is_away_is_no_progress_of_bars(folder: SessionFolder) -> None:
    wall = Wall()
    with folder.hold():
        board = board_of(folder, wall)
        board.wait_for_venue()
        for _ in board.stream(bars(5, NOW), 5):
            wall.at += timedelta(seconds=2)

        found = look_at_phase(folder)

    assert found.name == "waiting for its venue"
    assert not found.catches_up(wall.at)


def test_process_that_took_the_lock_after_the_last_word_starts(folder: SessionFolder) -> None:
    board_of(folder, Wall()).take(next(bars(1, NOW)))
    _set_time(folder.path / "phase.json", NOW - timedelta(days=1))
    with folder.hold():
        starting = look_at_phase(folder)

    assert starting.name == "starting"
    assert starting.catches_up(datetime.now(UTC))


def test_killed_session_is_stopped_since_its_last_sign_of_life(
    tmp_path: Path, folder: SessionFolder
) -> None:
    wall = Wall()
    board = board_of(folder, wall)
    _set_time(folder.path / "phase.json", NOW - timedelta(days=1))
    wall.at += timedelta(seconds=2)
    board.beat()
    alive = (folder.path / "phase.json").stat().st_mtime
    for file in folder.path.glob("journal.sqlite*"):  # others read it, and SQLite tidied up
        _set_time(file, NOW + timedelta(hours=5))

    (view,) = watch(tmp_path, NOW + timedelta(hours=6)).sessions()

    assert alive >= NOW.timestamp()
    assert view.freshness.state == "stopped"
    assert view.freshness.since == datetime.fromtimestamp(alive, UTC)


def test_alert_of_old_data_is_silent_while_a_session_catches_up(tmp_path: Path) -> None:
    folder = make_session(tmp_path, "live", bars="alpaca", stop_bar=None)
    with writing(folder) as journal:
        journal.record(*begin(), settle(0), session="live")
    wall, watched = Wall(), WatchedSession(folder)

    def age_s() -> float:
        return {each.metric: each.value for each in watched.measure(wall.at)}["data_age_s"]

    with folder.hold():
        board = board_of(folder, wall)
        next(board.stream(bars(40, NOW - timedelta(days=2)), 40))
        wall.at += timedelta(seconds=2)
        for _ in board.stream(bars(3, NOW - timedelta(days=2)), 40):
            pass
        going = age_s()
        wall.at += timedelta(seconds=70)
        stalled = age_s()
    watched.close()

    assert going == 0.0
    assert stalled > 300.0


def test_alert_of_old_data_comes_though_a_process_dies_of_every_start(tmp_path: Path) -> None:
    folder = make_session(tmp_path, "live", bars="alpaca", stop_bar=None)
    with writing(folder) as journal:
        journal.record(*begin(), settle(0), session="live")
    board_of(folder, Wall())
    _set_time(folder.path / "phase.json", NOW - timedelta(hours=9))
    watched, ages = WatchedSession(folder), []

    for started in (0, 100, 200):
        with folder.hold():
            at = NOW + timedelta(seconds=started)
            _set_time(folder.lock, at)
            for later in (5, 40):
                now = at + timedelta(seconds=later)
                ages += [e.value for e in watched.measure(now) if e.metric == "data_age_s"]
    watched.close()

    assert ages[:3] == [0.0] * 3  # as long as one may take to start
    assert min(ages[3:]) > 300.0


def _set_time(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(), at.timestamp()))


OLDER = (
    {"phase": "trading"},
    {"phase": "trading", "warm_up": None, "next_bar_at": None},
    {"state": "running", "bar": 12},
    ["trading"],
    "trading",
)
"""What programs of before, or of later, may have left in place of our words."""


@pytest.mark.parametrize("told", OLDER)
def test_words_of_another_program_are_unknown_and_no_start(
    tmp_path: Path, folder: SessionFolder, told: object
) -> None:
    with folder.hold():
        began = datetime.now(UTC)
        (folder.path / "phase.json").write_text(json.dumps(told))
        found = look_at_phase(folder)
        status = status_of(folder)
        (view,) = watch(tmp_path, began + timedelta(days=1)).sessions()

    assert found.name == status["phase"] == "unknown"
    assert not found.catches_up(began)
    assert "starts" not in view.freshness.why  # judged by its journal


def test_process_that_journaled_and_tells_nothing_is_unknown(folder: SessionFolder) -> None:
    """A program that writes no such file trades: its journal says that it began."""
    with folder.hold():
        before = datetime.now(UTC) - timedelta(hours=1)
        assert read_phase(folder, began_at=before)["phase"] == "starting"
        began = datetime.now(UTC) + timedelta(seconds=1)
        assert read_phase(folder, began_at=began)["phase"] == "unknown"
        assert not look_at_phase(folder, began_at=began).catches_up(began)


def test_words_without_their_lock_are_told_apart_by_their_time(folder: SessionFolder) -> None:
    words = {"phase": "waiting", "warm_up": None, "next_bar_at": None}
    words |= {"told_at": NOW.isoformat()}
    file = folder.path / "phase.json"
    with folder.hold():
        file.write_text(json.dumps(words))
        _set_time(file, datetime.now(UTC) + timedelta(seconds=5))
        assert look_at_phase(folder).name == "waiting"
        _set_time(file, NOW - timedelta(days=1))
        assert look_at_phase(folder).name == "starting"
        file.write_text("{")
        _set_time(file, NOW - timedelta(days=1))
        assert look_at_phase(folder).name == "starting"


def test_clock_set_back_after_the_lock_was_taken_hides_no_phase(folder: SessionFolder) -> None:
    """The lock is dated an hour ahead of all that its process says."""
    with folder.hold():
        _set_time(folder.lock, NOW + timedelta(hours=1))
        board = board_of(folder, Wall())
        board.take(next(bars(1, NOW)))
        found = look_at_phase(folder)

    assert found.name == "warming up"


def test_sign_of_life_goes_on_when_the_clock_is_set_back(folder: SessionFolder) -> None:
    wall = Wall()
    with folder.hold():
        board = board_of(folder, wall)
        board.take(next(bars(1, NOW)))
        _set_time(folder.path / "phase.json", NOW - timedelta(days=1))
        wall.at -= timedelta(minutes=10)
        board.beat()
        found = look_at_phase(folder)

    assert found.beat_at is not None
    assert found.beat_at > NOW - timedelta(hours=1)
    assert found.told_at == wall.at  # nothing is told in what is to come


def test_progress_is_told_by_the_second_when_the_clock_is_set_back(folder: SessionFolder) -> None:
    wall, seen = Wall(), []
    with folder.hold():
        board = board_of(folder, wall)
        for place, _ in enumerate(board.stream(bars(40, NOW - timedelta(days=2)), 1000)):
            wall.at += timedelta(seconds=-600 if place == 10 else 0.5)
            seen.append(look_at_phase(folder))

    assert seen[-1].told_at is not None
    assert timedelta(0) <= wall.at - seen[-1].told_at <= timedelta(seconds=1.5)


@pytest.mark.parametrize(("ahead_s", "comes_on"), [(50, True), (70, False), (3600, False)])
def test_progress_far_ahead_of_the_clock_is_none(ahead_s: float, *, comes_on: bool) -> None:
    told = Phase("catching up", None, None, NOW + timedelta(seconds=ahead_s), NOW)

    assert told.catches_up(NOW) is comes_on


def test_alert_of_old_data_comes_though_the_clock_was_set_back_behind_the_last_bar(
    tmp_path: Path,
) -> None:
    folder = make_session(tmp_path, "live", bars="alpaca", stop_bar=None)
    with writing(folder) as journal:
        journal.record(*begin(), settle(0), session="live")
    watched = WatchedSession(folder)
    with folder.hold():
        board_of(folder, Wall()).take(next(bars(1, NOW)))
        samples = {each.metric: each for each in watched.measure(FIRST - timedelta(minutes=10))}
    watched.close()

    assert samples["data_age_s"].value == 600.0
    assert "ahead of this clock" in samples["data_age_s"].text
