"""Every built-in rule is tripped from what the product itself writes, and resolves by it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from fixtures.model_servers import features_body, listening, market_bars
from fixtures.watched_sessions import kill_early
from fixtures.watched_workspace import (
    AT,
    Trader,
    append_update,
    learning,
    make_session,
    trading,
    with_limits,
)
from tradingbot.app.alerts.watching import open_sources
from tradingbot.domain.events.session import ActAudited, AlertLevel, AlertRaised
from tradingbot.monitoring.alerts.engine import AlertObservation, EngineState, advance
from tradingbot.monitoring.alerts.metric import METRICS, MetricSample
from tradingbot.monitoring.alerts.settings import AlertSettings, load_settings
from tradingbot.monitoring.alerts.sources import disk as disk_source
from tradingbot.monitoring.alerts.sources.servers import ServersSource
from tradingbot.monitoring.alerts.sources.source import AlertSource, measure_all
from tradingbot.monitoring.alerts.storm import StormLimits
from tradingbot.runtime.journal import buffer as journal_buffer
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal

HOUR = timedelta(hours=1)


class Firing(NamedTuple):
    """What fires, by name, at two moments."""

    names: set[str]
    texts: dict[str, str]


class Watched:
    """A workspace with the product's own rules and sources."""

    def __init__(self, workspace: Path, servers: tuple[str, ...] = ()) -> None:
        self.workspace, self.now = workspace, AT
        self.settings: AlertSettings = load_settings(workspace=workspace)
        self.sources: list[AlertSource] = open_sources(workspace, AlertSettings(servers=servers))
        self._state = EngineState()

    def measure(self) -> dict[tuple[str, str], MetricSample]:
        samples, _ = measure_all(self.sources, self.now)
        return {(each.metric, each.subject): each for each in samples}

    def value(self, metric: str, subject: str = "session first") -> float:
        return self.measure()[metric, subject].value

    def fire(self, after_s: float = 0.0) -> Firing:
        """Look twice, far enough apart for every rule, and return what fires."""
        for seconds in (after_s, 15.0):
            self.now += timedelta(seconds=seconds)
            samples, unmeasured = measure_all(self.sources, self.now)
            seen = AlertObservation(self.now, samples, unmeasured)
            terms = (self.settings.rules, seen, StormLimits(1000))
            self._state, _, _ = advance(self._state, *terms)
        found = [each for each in self._state.incidents.values() if each.is_firing]
        return Firing({each.rule for each in found}, {each.rule: each.text for each in found})

    def close(self) -> None:
        for source in self.sources:
            source.close()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.close()


def test_workspace_without_anything_is_calm(watched: Watched) -> None:
    assert watched.fire().names == set()


def test_session_that_runs_well_is_calm(watched: Watched) -> None:
    with trading(watched.workspace):
        assert watched.fire().names == set()


def test_drawdown_beyond_a_fifth_fires_and_resolves_by_the_account(watched: Watched) -> None:
    with trading(watched.workspace) as trader:
        trader.save("79999")
        assert watched.fire().names == {"drawdown"}
        assert watched.value("drawdown_frac") == pytest.approx(0.20001)

        trader.save("80001")
        assert watched.fire().names == set()


def test_breaker_that_tripped_fires_with_its_name(watched: Watched) -> None:
    limits = with_limits(max_drawdown_frac=0.1)
    with trading(watched.workspace, session_limits=limits) as trader:
        trader.save("89000")

        fired = watched.fire()

    assert fired.names == {"breaker_tripped"}
    assert fired.texts["breaker_tripped"] == "drawdown"


def test_B22_a_kill_before_the_first_bar_fires_until_it_is_armed(watched: Watched) -> None:
    folder = make_session(watched.workspace)
    with folder.hold(), SessionJournal.open(folder.journal, create=True) as journal:
        trader = Trader(folder, journal)
        trader.start()
        assert watched.fire().names == set()
        trader.record(*kill_early())
        fired = watched.fire()
        trader.record(ActAudited(AT, "arm", "ada", "over", {"breakers": "kill_switch"}))
        armed = watched.fire().names
        trader.record(ActAudited(AT, "restrict", "ada", "results", {"state": "reducing"}))
        restricted = watched.fire()

    assert fired.names == {"breaker_tripped"}
    assert fired.texts["breaker_tripped"] == "kill_switch"
    assert armed == set()
    assert restricted.texts["breaker_tripped"] == "it is reducing"


def test_kill_switch_fires_as_a_breaker(watched: Watched) -> None:
    with trading(watched.workspace) as trader:
        trader.kill()

        assert watched.fire().texts["breaker_tripped"] == "kill_switch"


def test_b12_stream_that_is_down_fires_until_it_is_back(watched: Watched) -> None:
    with trading(watched.workspace) as trader:
        trader.alert("VENUE_AWAY", "no answer")
        trader.alert("BARS_AWAY", "503", "warning")
        fired = watched.fire()
        assert fired.names == {"stream_down"}
        assert watched.value("streams_down") == 2

        trader.alert("VENUE_BACK", level="info")
        trader.alert("BARS_BACK", level="info")
        assert watched.fire().names == set()


def test_b14_position_mismatch_fires_until_it_is_adopted(watched: Watched) -> None:
    with trading(watched.workspace) as trader:
        trader.alert("POSITION_DRIFT", "ours less the venue's: +3 units", symbol="SPY")
        fired = watched.fire()
        assert fired.names == {"reconciliation_mismatch"}
        assert "SPY ours less the venue's: +3 units" in fired.texts["reconciliation_mismatch"]

        trader.act("adopt")
        assert watched.fire().names == set()


def test_other_critical_alert_of_the_session_fires_until_it_starts_again(
    watched: Watched,
) -> None:
    with trading(watched.workspace) as trader:
        trader.alert("OVERFILL", "order a: overfill")
        assert watched.fire().names == {"critical_event"}

        trader.start()
        assert watched.fire().names == set()


def test_bar_that_is_due_and_does_not_come_is_stale_data(watched: Watched) -> None:
    with trading(watched.workspace, bars="alpaca") as trader:
        watched.now = AT + HOUR + timedelta(seconds=280)
        assert watched.fire(5.0).names == set()

        assert watched.fire(5.0).names == {"stale_data"}
        assert watched.value("data_age_s") == pytest.approx(320.0)

        trader.save("100000", AT + HOUR)
        assert watched.fire().names == set()


def test_night_and_weekend_are_no_stale_data(watched: Watched) -> None:
    friday_close = datetime(2026, 3, 6, 21, 0, tzinfo=UTC)
    with trading(watched.workspace, bars="alpaca") as trader:
        trader.save("100000", friday_close)
        watched.now = datetime(2026, 3, 9, 13, 0, tzinfo=UTC)

        assert watched.fire().names == set()


def test_p05_journal_that_cannot_be_written_fires_while_its_buffer_fills(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_buffer.os, "fsync", lambda _: None)
    with trading(watched.workspace) as trader:
        with sqlite3.connect(trader.folder.journal) as other:
            other.execute("BEGIN EXCLUSIVE")  # another program holds the database
            many = [AlertRaised(AT, AlertLevel.INFO, "NOTE", "x")] * 5001
            trader.journal._timeout_s = 0.1
            with pytest.raises(JournalUnavailableError):
                trader.record(*many)
            other.rollback()
        other.close()

        fired = watched.fire()

        assert fired.names == {"journal_full", "journal_waiting"}
        assert fired.texts["journal_full"] == "5001 of 10000 events wait"


def test_s07_model_that_answers_no_number_fires_until_it_decides_again(watched: Watched) -> None:
    with trading(watched.workspace) as trader:
        told = AlertRaised(AT, AlertLevel.CRITICAL, "MODEL_NOT_FINITE", "was SPY")
        trader.save("100000", AT, told)
        fired = watched.fire()
        assert fired.names == {"model_not_finite"}
        assert fired.texts["model_not_finite"] == "was SPY"

        trader.save("100000", AT + HOUR, action=[0.5])
        assert watched.fire().names == set()


def test_live_session_without_a_process_is_dead_unless_it_was_stopped(watched: Watched) -> None:
    with trading(watched.workspace, bars="alpaca") as trader:
        trader.save("50000", datetime(2026, 3, 6, 21, 0, tzinfo=UTC))
    watched.now = datetime(2026, 3, 6, 21, 1, tzinfo=UTC)

    assert watched.fire().names == {"session_dead", "drawdown", "breaker_tripped"}

    with trader.folder.hold():
        journal = type(trader.journal).open(trader.folder.journal)
        Trader(trader.folder, journal).act("stop")
        journal.close()
    assert watched.value("session_dead") == 0.0
    assert ("drawdown_frac", "session first") not in watched.measure()


def test_collapsed_policy_of_a_run_that_trains_fires_with_its_agent(watched: Watched) -> None:
    with learning(watched.workspace, [0.6, 0.5], [0.6, 0.09]) as journal:
        fired = watched.fire()
        assert fired.names == {"entropy_collapse"}
        assert "update 2" in fired.texts["entropy_collapse"]

        append_update(journal, 3, [0.6, 0.11])
        assert watched.fire().names == set()
        append_update(journal, 4, [float("nan"), 0.5])
        assert watched.fire().names == {"entropy_collapse"}


def test_collapsed_policy_of_a_run_that_ended_is_not_watched(watched: Watched) -> None:
    with learning(watched.workspace, [0.01]):
        pass

    assert watched.fire().names == set()


def test_disk_that_is_nearly_full_fires(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(watched.workspace)
    low = usage._replace(total=10**12, free=900_000_000)
    monkeypatch.setattr(disk_source.shutil, "disk_usage", lambda _: low)

    assert watched.fire().names == {"disk_low", "disk_last"}


def test_session_that_cannot_be_read_is_told_and_hides_no_other(watched: Watched) -> None:
    broken = make_session(watched.workspace, "broken")
    broken.journal.write_bytes(b"no database" * 100)
    with trading(watched.workspace) as trader:
        trader.save("50000")

        fired = watched.fire()

    assert fired.names == {"source_failed", "drawdown", "breaker_tripped"}
    assert "journal must be a database" in fired.texts["source_failed"]


Serve = Callable[[], Any]


@contextmanager
def served(workspace: Path, parts: Any) -> Iterator[tuple[Watched, str]]:
    with ExitStack() as held:
        address = held.enter_context(listening(parts))
        watched = Watched(workspace, (address,))
        held.callback(watched.close)
        watched.settings = load_settings(workspace=workspace)
        yield watched, address


def test_s07_server_whose_model_answers_no_number_fires(
    tmp_path: Path, served_workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = served_workspace.parts()
    parts.slot.follow()
    with served(tmp_path, parts) as (watched, address):
        assert watched.fire().names == set()
        graphs = parts.slot.require().serving.model._graphs
        run = graphs.run

        def broken(file: str, given: Any) -> Any:
            found = run(file, given)
            return [found[0] * float("nan"), *found[1:]]

        monkeypatch.setattr(graphs, "run", broken)
        answer = httpx.post(f"{address}/v1/predict/features", json=features_body(), timeout=20.0)
        assert answer.status_code == 503

        assert "server_not_finite" in watched.fire().names
        watched.now += timedelta(seconds=120)
        assert "server_not_finite" not in watched.fire().names


def test_server_that_does_not_answer_is_degraded(tmp_path: Path, served_workspace: Any) -> None:
    parts = served_workspace.parts()
    parts.slot.follow()
    with served(tmp_path, parts) as (watched, _):
        assert watched.fire().names == set()
        kept = watched
    assert kept.fire().names == {"server_degraded"}


def test_s14_server_whose_bars_are_old_fires(tmp_path: Path, served_workspace: Any) -> None:
    parts = served_workspace.parts()
    parts.slot.follow()
    with served(tmp_path, parts) as (watched, address):
        (bar,) = market_bars(1)
        httpx.post(f"{address}/v1/stream/bars", json=bar, timeout=20.0).raise_for_status()
        assert watched.fire().names == set()

        served_workspace.clock.move(seconds=5401)
        assert watched.fire().names == {"server_stale"}


def test_every_metric_is_measured_by_its_source_and_asked_for_by_a_rule(tmp_path: Path) -> None:
    sources = open_sources(tmp_path, AlertSettings())
    measured = {name for source in sources for name in source.metrics}
    asked = {rule.metric for rule in load_settings(workspace=tmp_path).rules.values()}

    assert measured | {"source_failed", "guard_down"} == METRICS.keys()
    assert asked == METRICS.keys()
    for source in sources:
        source.close()


def test_answers_that_were_no_numbers_age_though_the_clock_was_set_back() -> None:
    source, name = ServersSource(("http://127.0.0.1:1",)), "server 127.0.0.1:1"
    assert source._count(name, 0.0, AT) == 0.0
    assert source._count(name, 3.0, AT + timedelta(seconds=1)) == 3.0

    back = AT - HOUR
    assert source._count(name, 3.0, back) == 3.0  # not lost
    for second in range(1, 120):
        left = source._count(name, 3.0, back + timedelta(seconds=second))

    assert left == 0.0  # nor told for an hour
