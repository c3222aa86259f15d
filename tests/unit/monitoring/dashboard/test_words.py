"""Words and numbers of the dashboard: escaped, labelled, the verdict by the worst that is known."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fixtures.dashboard_pages import run_page, words_of
from fixtures.example_dossier import example_part
from fixtures.watched_sessions import (
    HOSTILE,
    alert,
    begin,
    kill_early,
    make_session,
    settle,
    watch,
    writing,
)
from tradingbot.domain.events.session import AlertLevel
from tradingbot.domain.trading_state import TradingState
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.table import table_of
from tradingbot.monitoring.alerts.acts import AlertActs
from tradingbot.monitoring.alerts.engine import EngineState
from tradingbot.monitoring.alerts.incident import Incident, IncidentPhase
from tradingbot.monitoring.alerts.store import AlertStore
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.expectation import Expectation, expect_from
from tradingbot.monitoring.dashboard.figures.equity import draw_equity
from tradingbot.monitoring.dashboard.moments import choose_zone, describe_age
from tradingbot.monitoring.dashboard.outlook import judge_outlook
from tradingbot.monitoring.dashboard.palette import palette_of
from tradingbot.monitoring.dashboard.session_tables import key_figures
from tradingbot.monitoring.dashboard.sources.alarms import list_alarms
from tradingbot.monitoring.dashboard.sources.freshness import Freshness
from tradingbot.monitoring.dashboard.sources.session_view import SessionView

ZONE = choose_zone("market", market="America/New_York", local=None)


def view_of(folder: Path, **facts: object) -> SessionView:
    """Return a session that runs, with breakers as given."""
    session = make_session(folder)
    with writing(session) as journal:
        journal.record(*begin(), settle(0), settle(1, **facts), session="first")  # type: ignore[arg-type]
    found = watch(folder).sessions()[0]
    return replace(found, freshness=Freshness("live", found.freshness.since))


def test_quiet_session_lets_one_sleep(tmp_path: Path) -> None:
    assert judge_outlook([view_of(tmp_path)], {}, ZONE).word == "Sleep well"
    assert judge_outlook([], {}, ZONE).word == "Nothing runs"


def test_tripped_breaker_asks_to_act_and_names_it(tmp_path: Path) -> None:
    found = judge_outlook([view_of(tmp_path, drawdown_frac=0.2)], {}, ZONE)

    assert found.word == "Act now"
    assert found.reasons[0] == "first: drawdown tripped"


def test_breaker_near_its_limit_asks_for_a_look(tmp_path: Path) -> None:
    found = judge_outlook([view_of(tmp_path, loss_frac=0.016)], {}, ZONE)

    assert found.word == "Have a look"
    assert "daily loss has used 80" in found.reasons[0]


def test_stale_source_and_unreadable_journal_ask_to_act(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    stale = replace(view, freshness=Freshness("stale", datetime(2026, 7, 1, tzinfo=UTC), "silent"))

    assert judge_outlook([stale], {}, ZONE).reasons == (
        "first: stale since 2026-06-30 20:00:00 EDT: silent",
    )
    assert judge_outlook([replace(view, problem="gone")], {}, ZONE).word == "Act now"


def test_data_say_since_when_they_are_stale_instead_of_an_age(tmp_path: Path) -> None:
    view, now = view_of(tmp_path), datetime(2026, 7, 1, 1, tzinfo=UTC)
    silent = Freshness("stale", datetime(2026, 7, 1, tzinfo=UTC), "a bar closed")
    told = {
        state: next(
            each
            for each in key_figures(replace(view, freshness=fresh), ZONE, now)
            if each.name.startswith("Data")
        )
        for state, fresh in (
            ("stale", silent),
            ("live", replace(silent, state="live", why="")),
            ("stopped", replace(silent, state="stopped")),
        )
    }

    assert told["stale"] == Figure(
        "Data", "stale since 2026-06-30 20:00:00 EDT", "a bar closed", "bad"
    )
    assert (told["live"].name, told["live"].number) == ("Data age", "1 h")
    assert (told["stopped"].number, told["stopped"].tone) == ("stopped", "bad")


def test_halted_session_and_critical_alert_ask_to_act(tmp_path: Path) -> None:
    halted = view_of(tmp_path, state=TradingState.HALTED)
    critical = replace(view_of(tmp_path / "b"), alerts=(alert(1, AlertLevel.CRITICAL, "drift"),))

    assert "halted" in judge_outlook([halted], {}, ZONE).reasons[0]
    assert "drift" in judge_outlook([critical], {}, ZONE).reasons[0]


@pytest.mark.parametrize("is_running", [True, False])
def test_B22_a_kill_before_the_first_bar_is_shown(tmp_path: Path, *, is_running: bool) -> None:
    session = make_session(tmp_path)
    with writing(session) as journal:
        journal.record(*begin(), *kill_early("wrong model"), session="first")
    with session.hold() if is_running else nullcontext():
        (view,) = watch(tmp_path).sessions()
        pages = {name: words_of(run_page(tmp_path, name)) for name in ("Live", "Alerts")}

    assert view.state is None
    assert (view.trading_state, view.tripped) == ("halted", ("kill switch",))
    found = judge_outlook([view], {}, ZONE)
    assert found.word == ("Act now" if is_running else "Have a look")
    assert "kill switch tripped" in found.reasons[0]
    assert "nothing has tripped" not in found.headline
    assert f">{found.word}<" in pages["Live"]
    assert "halted" in pages["Live"]
    for name, words in pages.items():
        assert "wrong model" in words, name


def test_kill_is_shown_of_a_journal_elsewhere_whose_limits_are_not_known(tmp_path: Path) -> None:
    other = make_session(tmp_path / "other", "away")
    with writing(other) as journal:
        journal.record(*begin(), *kill_early(), session="away")

    (view,) = watch(tmp_path / "here", journal=str(other.journal)).sessions()

    assert view.trading_state == "halted"
    assert judge_outlook([view], {}, ZONE).reasons == ("away: halted, nothing may be sent",)


def test_alert_counts_for_a_day_by_the_clock_of_its_session(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    assert view.state is not None
    for hours, word in ((24, "Act now"), (24.1, "Sleep well")):
        told = alert(0, AlertLevel.CRITICAL, "drift")
        told = replace(told, at=view.state.at - timedelta(hours=hours))  # type: ignore[type-var, call-arg]
        assert judge_outlook([replace(view, alerts=(told,))], {}, ZONE).word == word  # type: ignore[arg-type]


def test_critical_alert_before_the_first_bar_asks_to_act(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    with writing(session) as journal:
        journal.record(*begin(), alert(0, AlertLevel.CRITICAL, "bars differ"), session="first")
    with session.hold():
        (view,) = watch(tmp_path).sessions()

    assert "bars differ" in judge_outlook([view], {}, ZONE).reasons[0]


def test_critical_incident_of_the_alerter_asks_to_act_until_it_is_acknowledged(
    tmp_path: Path,
) -> None:
    now = datetime(2026, 1, 6, tzinfo=UTC)
    firing = Incident(
        *("drawdown", "session first", "drawdown_frac", AlertLevel.CRITICAL),
        *(IncidentPhase.FIRING, now, now, 0.3, 0.3),
    )
    with AlertStore(tmp_path) as store:
        store.save([firing], [], EngineState({firing.key: firing}))

    alarms = list_alarms(tmp_path, ZONE)

    assert alarms == ["session first: drawdown fires since 2026-01-05 19:00:00 EST"]
    assert judge_outlook([], {}, ZONE, alarms=alarms).word == "Act now"
    AlertActs(tmp_path).acknowledge(firing.id, by="ada", reason="seen", now=now)
    assert list_alarms(tmp_path, ZONE) == []


def test_equity_below_the_band_of_the_backtest_asks_for_a_look(tmp_path: Path) -> None:
    view = view_of(tmp_path, equity=90_000.0)
    expected = Expectation(0.0, 0.0, 0.001, "run toy")

    assert judge_outlook([view], {"first": expected}, ZONE).word == "Have a look"
    assert judge_outlook([view], {"first": replace(expected, deviation_frac=0.1)}, ZONE).word == (
        "Sleep well"
    )


def test_expectation_of_a_part_grows_with_time_as_its_formula_says() -> None:
    found = expect_from(example_part("test", "2024-01-01"), "toy")

    assert found is not None
    band = found.band(100.0, np.array([0.0, 1.0, 400.0]))
    assert band.low[0] == band.middle[0] == band.high[0] == 100.0
    half = 1.959964 * 100 * np.sqrt(found.deviation_frac**2 * 400 + (found.error_frac * 400) ** 2)
    assert band.high[2] - band.middle[2] == pytest.approx(half)
    assert band.middle[2] == pytest.approx(100 * (1 + 400 * found.mean_frac))
    assert "test 2024-01-01" in found.words


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_wherever_they_stand(name: str) -> None:
    written = markup.table(table_of(["a"], [[name]], name, words=("a",)), nothing=name)
    written += markup.banner("good", "word", name, [name]) + markup.note(name)

    assert "<script" not in written
    assert "\n" not in written.replace("</tr>\n", "")
    assert "\0" not in written
    assert len(max(written.split(">"), key=len)) < 2500


def test_times_are_labelled_and_right_when_clocks_change() -> None:
    before = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)

    assert ZONE.moment(before) == "2026-11-01 01:30 EDT"
    assert ZONE.moment(before.replace(hour=6)) == "2026-11-01 01:30 EST"
    assert ZONE.label == "America/New_York, market"
    assert choose_zone("local", market=None, local="Europe/Berlin").moment(before).endswith("CET")
    assert choose_zone("local", market=None, local="Mars/Base").label == "UTC"
    assert choose_zone("market", market=None, local=None).label == "UTC"


def test_age_is_told_in_its_unit() -> None:
    assert [describe_age(s) for s in (0.4, 12, 90, 7200, 200_000, None)] == [
        "0.4 s",
        "12 s",
        "1.5 min",
        "2 h",
        "2.31 days",
        "–",
    ]


def test_palette_is_that_of_the_reports() -> None:
    assert palette_of("light").accent == "#0072b2"
    assert palette_of("dark").ink == "#e9e7e2"
    assert palette_of("light").tint("#102030", 0.5) == "rgba(16,32,48,0.5)"


def test_deviation_of_a_bar_is_that_of_a_day_by_the_root_of_its_bars() -> None:
    part = example_part("test", "2024-01-01")
    agents = part.policies[0]
    days = np.diff(agents.equity) / np.array(agents.equity[:-1])
    per_day = part.bars / len(days)
    assert per_day > 2

    found = expect_from(part, "toy")

    assert found is not None
    assert found.deviation_frac == pytest.approx(days.std(ddof=1) / per_day**0.5)


def test_band_of_the_picture_begins_at_the_first_bar_with_no_width(tmp_path: Path) -> None:
    equity = view_of(tmp_path).equity.extended(
        np.array(["2026-01-06T15:30", "2026-01-06T16:30"], "datetime64[us]"),
        np.array([100_000.0, 100_000.0]),
    )
    expected = Expectation(1e-4, 1e-4, 0.01, "toy")

    figure = draw_equity(equity, expected, palette_of("light"), ZONE).figure

    lines = {trace.name: np.asarray(trace.y) for trace in figure.data}
    band = expected.band(float(equity.equity_ccy[0]), np.arange(len(equity), dtype=float))
    np.testing.assert_allclose(lines["expected by the backtest"], band.middle)
    np.testing.assert_allclose(lines["95 % of the backtest"], band.low)
    assert lines["95 % of the backtest"][0] == equity.equity_ccy[0]


def test_equity_below_the_band_of_its_own_bars_is_told(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    first = float(view.equity.equity_ccy[0])
    worst = np.array([first * (1 - 0.025)])  # 2 bars: −1.96 · 0.01 · √2 = −2.8 %
    fallen = np.array([first * (1 - 0.03)])
    expected = {"first": Expectation(0.0, 0.0, 0.01, "toy")}
    at = np.array(["2026-01-06T15:30"], "datetime64[us]")
    assert len(view.equity) == 2

    within, below = (
        judge_outlook([replace(view, equity=view.equity.extended(at, each))], expected, ZONE)
        for each in (worst, fallen)
    )

    assert within.word == "Sleep well"
    assert below.reasons == ("first: equity is below 95 % of what its backtest allows",)
