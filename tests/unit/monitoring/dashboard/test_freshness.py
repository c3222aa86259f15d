"""Stale, waiting, live or ended: by the exchange's calendar, and by the pace of a replay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tradingbot.monitoring.dashboard.sources.freshness import Heard, judge_file, judge_session
from tradingbot.monitoring.dashboard.sources.session_place import WatchedTerms
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.session.phase import Phase

# Friday 2026-01-09; hourly bars of New York close at 15:30, 16:30 … 20:30 and 21:00 UTC.
FRIDAY_BAR = datetime(2026, 1, 9, 15, 30, tzinfo=UTC)


def terms(**changes: object) -> WatchedTerms:
    fields: dict[str, object] = {
        "run": "toy",
        "dataset": None,
        "bars": "alpaca",
        "speed": 0.0,
        "calendar": "XNYS",
        "timeframe": "1h",
        "grid": "session",
        "start_ccy": 1e5,
        "limits": SessionLimits(),
        "authorised": (),
        "n_bars": None,
    }
    return WatchedTerms(**{**fields, **changes})  # type: ignore[arg-type]


def heard(
    now: datetime, *, bar: datetime | None = FRIDAY_BAR, running: bool | None = True
) -> Heard:
    return Heard(now, FRIDAY_BAR, bar, 5, running)


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (FRIDAY_BAR + timedelta(minutes=30), "live"),
        (FRIDAY_BAR + timedelta(minutes=61), "live"),  # within the grace
        (FRIDAY_BAR + timedelta(minutes=63), "stale"),
        (FRIDAY_BAR + timedelta(days=2), "stale"),
    ],
)
def test_live_session_is_stale_where_a_bar_closed_and_was_not_settled(
    now: datetime, state: str
) -> None:
    found = judge_session(heard(now), terms())

    assert found.state == state
    if state == "stale":
        assert found.since == FRIDAY_BAR + timedelta(hours=1)


def test_live_session_waits_over_the_week_end_without_being_stale() -> None:
    last = datetime(2026, 1, 9, 21, 0, tzinfo=UTC)

    sunday = judge_session(heard(last + timedelta(days=2), bar=last), terms())
    monday = judge_session(heard(datetime(2026, 1, 12, 15, 33, tzinfo=UTC), bar=last), terms())

    assert (sunday.state, sunday.why) == ("waiting", "the market is closed")
    assert monday.state == "stale"


def test_replay_is_stale_ten_seconds_after_its_next_bar_was_due() -> None:
    paced = terms(bars="replay", speed=60.0)  # a bar a minute, a week-end an hour and more

    assert judge_session(heard(FRIDAY_BAR + timedelta(seconds=69)), paced).state == "live"
    assert judge_session(heard(FRIDAY_BAR + timedelta(seconds=71)), paced).state == "stale"
    last = datetime(2026, 1, 9, 21, 0, tzinfo=UTC)
    assert judge_session(heard(FRIDAY_BAR + timedelta(hours=1), bar=last), paced).state == "live"
    assert judge_session(heard(FRIDAY_BAR + timedelta(hours=2), bar=last), paced).state == "stale"


def test_session_without_a_process_ended_or_stopped() -> None:
    whole = terms(bars="replay", n_bars=6)

    assert judge_session(heard(FRIDAY_BAR, running=False), whole).state == "ended"
    assert judge_session(heard(FRIDAY_BAR, running=False), terms()).state == "stopped"
    assert judge_session(heard(FRIDAY_BAR, running=None), terms()).state == "unknown"
    assert judge_session(heard(FRIDAY_BAR), None).state == "unknown"
    assert judge_session(heard(FRIDAY_BAR, bar=None), terms()).state == "waiting"


def test_file_of_a_process_is_stale_after_what_is_due() -> None:
    late = FRIDAY_BAR + timedelta(seconds=61)

    assert judge_file(late, FRIDAY_BAR, is_running=True, due_s=60).state == "stale"
    assert judge_file(late, FRIDAY_BAR, is_running=True, due_s=62).state == "live"
    assert judge_file(late, FRIDAY_BAR, is_running=False, due_s=60).state == "ended"
    assert judge_file(late, None, is_running=True, due_s=60).state == "waiting"


@pytest.mark.parametrize("bars", ["alpaca", "replay"])
@pytest.mark.parametrize(
    ("phase", "patience_s"), [("starting", 120), ("catching up", 60), ("warming up", 120)]
)
def test_session_that_catches_up_is_not_stale_until_it_stalls(
    bars: str, phase: str, patience_s: int
) -> None:
    told = FRIDAY_BAR + timedelta(days=3)
    at = replace(heard(told), phase=Phase(phase, "10 of 90 bars", None, told, told))

    going = judge_session(
        replace(at, now=told + timedelta(seconds=patience_s)), terms(bars=bars, speed=60.0)
    )
    stalled = judge_session(
        replace(at, now=told + timedelta(seconds=patience_s + 1)), terms(bars=bars, speed=60.0)
    )

    assert (going.state, going.since) == ("catching up", told)
    assert "10 of 90 bars" in going.why
    assert (stalled.state, stalled.since) == ("stale", told)


def test_session_that_waits_for_its_venue_is_stale_where_a_bar_is_due() -> None:
    now = FRIDAY_BAR + timedelta(minutes=63)
    waits = Phase("waiting for its venue", None, None, now, now)

    assert judge_session(replace(heard(now), phase=waits), terms()).state == "stale"


def test_session_that_was_killed_is_stopped_since_its_last_sign_of_life() -> None:
    beat = FRIDAY_BAR + timedelta(minutes=41)
    dead = replace(
        heard(FRIDAY_BAR + timedelta(hours=9), running=False),
        phase=Phase("not running", beat_at=beat),
    )

    found = judge_session(dead, terms())

    assert (found.state, found.since) == ("stopped", beat)


def test_replay_that_caught_up_is_live_though_it_wrote_long_ago() -> None:
    now = FRIDAY_BAR + timedelta(hours=5)
    waits = Phase("waiting", None, None, now - timedelta(seconds=5), now)
    caught_up = replace(heard(FRIDAY_BAR), now=now, phase=waits)

    assert judge_session(caught_up, terms(bars="replay", speed=3600.0)).state == "live"
    later = replace(caught_up, now=now + timedelta(hours=1))
    assert judge_session(later, terms(bars="replay", speed=3600.0)).state == "stale"


BACK = timedelta(minutes=10)


def test_clock_set_back_tells_no_time_that_is_to_come() -> None:
    ahead = Phase("not running", beat_at=FRIDAY_BAR + BACK)
    dead = replace(heard(FRIDAY_BAR, running=False), phase=ahead)

    assert judge_session(dead, terms()).since == FRIDAY_BAR
    assert judge_file(FRIDAY_BAR, FRIDAY_BAR + BACK, is_running=True, due_s=3600).since == (
        FRIDAY_BAR
    )


def test_replay_that_is_silent_is_stale_though_the_clock_was_set_back() -> None:
    paced = terms(bars="replay", speed=60.0)  # silent for 70 s at most
    hung = replace(heard(FRIDAY_BAR), at=FRIDAY_BAR + BACK)
    writes = replace(hung, at=FRIDAY_BAR - timedelta(seconds=5))
    told_before = replace(writes, phase=Phase("trading", None, None, FRIDAY_BAR + BACK, None))

    assert judge_session(hung, paced).state == "stale"
    assert judge_session(hung, paced).since == FRIDAY_BAR
    assert judge_session(writes, paced).state == "live"
    assert judge_session(told_before, paced).state == "live"


def test_live_session_whose_last_bar_lies_ahead_is_stale() -> None:
    found = judge_session(heard(FRIDAY_BAR - BACK), terms())

    assert (found.state, found.since) == ("stale", FRIDAY_BAR - BACK)
    assert "ahead of this clock" in found.why


def test_file_that_was_written_far_ahead_is_stale() -> None:
    ahead = FRIDAY_BAR + BACK

    assert judge_file(FRIDAY_BAR, ahead, is_running=True, due_s=60).state == "stale"
    assert judge_file(FRIDAY_BAR, ahead, is_running=True, due_s=900).state == "live"
