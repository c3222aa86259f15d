"""What alerts keep: restarts tell nothing twice, acts are audited, pages read meanwhile."""

from __future__ import annotations

import json
import math
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.monitoring.alerts.acts import AlertActs
from tradingbot.monitoring.alerts.engine import AlertObservation, EngineState, advance
from tradingbot.monitoring.alerts.incident import IncidentPhase
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.notice import NoticeKind
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot.monitoring.alerts.rule import AlertRule
from tradingbot.monitoring.alerts.settings import load_settings
from tradingbot.monitoring.alerts.store import WATCHER, AlertStore, Delivery
from tradingbot.monitoring.alerts.storm import StormLimits

START = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
RULES = {"drawdown": AlertRule("drawdown_frac", max=0.2, for_s=3.0, cooldown_s=20.0)}
STORM = StormLimits(max_notices=2, window_s=10.0)


def look(state: EngineState, second: int, values: dict[str, float]):  # type: ignore[no-untyped-def]
    samples = [MetricSample("drawdown_frac", each, value) for each, value in values.items()]
    seen = AlertObservation(START + timedelta(seconds=second), samples)
    return advance(state, RULES, seen, STORM)


def fire(workspace: Path) -> str:
    """Let one incident fire, and return its id."""
    with AlertStore(workspace) as store:
        state = store.load(START)
        for second in range(5):
            state, notices, changed = look(state, second, {"session a": 0.5})
            store.save(changed, notices, state)
    (incident,) = AlertReader(workspace).open_incidents()
    return incident.id


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from(["session a", "session b", "session c"]),
                st.sampled_from([0.1, 0.5, math.nan]),
            ),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_restart_at_any_moment_changes_no_notice(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[str, float], bool]]
) -> None:
    workspace = tmp_path_factory.mktemp("alerts")
    store, whole = AlertStore(workspace), EngineState()
    state = store.load(START)
    for second, (values, restarts) in enumerate(history):
        if restarts:
            store.close()
            store = AlertStore(workspace)
            state = store.load(START + timedelta(seconds=second))
        whole, expected, _ = look(whole, second, values)
        state, notices, changed = look(state, second, values)
        store.save(changed, notices, state)
        assert notices == expected
    store.close()


def test_reader_of_a_workspace_that_nobody_watched_is_empty(tmp_path: Path) -> None:
    reader = AlertReader(tmp_path)

    assert not reader.is_present
    assert reader.open_incidents() == ()
    assert reader.notices() == ()
    assert reader.heartbeat() is None
    assert reader.acts() == ()
    assert not (tmp_path / "alerts").exists()


def test_reader_sees_incidents_notices_and_deliveries_while_the_store_is_open(
    tmp_path: Path,
) -> None:
    with AlertStore(tmp_path) as store:
        state, reader = EngineState(), AlertReader(tmp_path)
        numbers: tuple[int, ...] = ()
        for second in range(4):
            state, notices, changed = look(state, second, {"session a": 0.5})
            numbers = store.save(changed, notices, state) or numbers
        assert [number for number, _ in store.unsent()] == list(numbers)
        store.record_deliveries(
            [Delivery(numbers[0], "webhook", START, False, 2, 4.1, None, "answered 500")]
        )
        store.beat(WATCHER, START, process=7, interval_s=1.0)

        (incident,) = reader.open_incidents()
        (told,) = reader.notices()
        heartbeat = reader.heartbeat()

    assert (incident.rule, incident.phase, incident.value) == ("drawdown", "firing", 0.5)
    assert told.notice.kind is NoticeKind.FIRED
    assert told.deliveries[0].problem == "answered 500"
    assert reader.delivery_counts() == {"webhook": (0, 1)}
    assert heartbeat is not None
    assert not heartbeat.is_late(START + timedelta(seconds=5))
    assert heartbeat.is_late(START + timedelta(seconds=6))


def test_notice_is_unsent_until_a_channel_took_it(tmp_path: Path) -> None:
    fire(tmp_path)
    with AlertStore(tmp_path) as store:
        ((number, _),) = store.unsent()
        store.record_deliveries([Delivery(number, "mail", START, False, 3, 1.0, None, "refused")])
        assert [each for each, _ in store.unsent()] == [number]

        store.record_deliveries([Delivery(number, "file", START, True, 1, 1.0, "mail")])
        assert store.unsent() == ()


def test_incident_that_is_over_is_not_acknowledged(tmp_path: Path) -> None:
    identity = fire(tmp_path)
    with AlertStore(tmp_path) as store:
        state, notices, changed = look(store.load(START), 6, {"session a": 0.1})
        store.save(changed, notices, state)

    with pytest.raises(ConfigError, match="one that is open"):
        AlertActs(tmp_path).acknowledge(identity, by="mia", reason="late", now=START)

    assert AlertReader(tmp_path).acts() == ()
    assert AlertReader(tmp_path).acknowledgements() == {}


def test_breach_that_never_fired_leaves_no_row(tmp_path: Path) -> None:
    with AlertStore(tmp_path) as store:
        state = EngineState()
        for second, value in enumerate((0.5, 0.5, 0.1)):
            state, notices, changed = look(state, second, {"session a": value})
            store.save(changed, notices, state)

    assert AlertReader(tmp_path).incidents() == ()


def test_acknowledgement_is_stored_and_audited(tmp_path: Path) -> None:
    identity, acts = fire(tmp_path), AlertActs(tmp_path)

    acts.acknowledge(identity[:4], by="mia", reason="looking at it", now=START)

    assert AlertReader(tmp_path).acknowledgements() == {identity: (START, "mia", "looking at it")}
    (line,) = AlertReader(tmp_path).acts()
    assert (line.kind, line.by, line.reason) == ("acknowledged", "mia", "looking at it")
    with AlertStore(tmp_path) as store:
        assert store.acknowledged() == {identity: "mia"}


def test_silence_lasts_until_its_end_or_until_it_is_ended(tmp_path: Path) -> None:
    acts, hour = AlertActs(tmp_path), timedelta(hours=1)
    made = acts.silence("draw*", "*", hour, by="mia", reason="works", now=START)

    assert AlertReader(tmp_path).silences(START) == (made,)
    acts.end_silence(made.id, by="ben", reason="done", now=START + hour / 2)

    assert AlertReader(tmp_path).silences(START + hour / 2) == ()
    assert [each.kind for each in acts.lines()] == ["silenced", "silence ended"]
    with AlertStore(tmp_path) as store:
        (stored,) = store.silences()
    assert not stored.covers("drawdown", "session a", START + hour * 0.6)


@pytest.mark.parametrize(("by", "reason"), [("", "works"), ("mia", " ")])
def test_act_without_a_name_or_a_reason_is_refused(tmp_path: Path, by: str, reason: str) -> None:
    with pytest.raises(ConfigError, match="audited"):
        AlertActs(tmp_path).silence("*", "*", timedelta(1), by=by, reason=reason, now=START)

    assert not (tmp_path / "alerts").exists()


def test_silence_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at most 30 days"):
        AlertActs(tmp_path).silence("*", "*", timedelta(31), by="mia", reason="x", now=START)


def test_trail_with_a_line_that_was_changed_is_refused(tmp_path: Path) -> None:
    acts = AlertActs(tmp_path)
    for reason in ("first", "second"):
        acts.silence("*", "*", timedelta(1), by="mia", reason=reason, now=START)
    text = acts.trail_path.read_text()
    acts.trail_path.write_text(text.replace("first", "other"))

    with pytest.raises(StorageError, match="as it was written"):
        acts.lines()


def test_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    AlertStore(tmp_path).close()
    path = AlertReader(tmp_path).path
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=9")
    database.close()

    with pytest.raises(StorageError, match="version 9"):
        AlertReader(tmp_path).incidents()


def test_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    path = AlertReader(tmp_path).path
    path.parent.mkdir()
    path.write_text("no database, " * 100)

    with pytest.raises(StorageError, match=r"alerts\.sqlite"):
        AlertStore(tmp_path)


def test_rules_of_the_package_are_readable_and_name_the_conditions_of_the_specification(
    tmp_path: Path,
) -> None:
    loaded = load_settings(workspace=tmp_path)

    assert loaded.rules["drawdown"].max == 0.20
    assert loaded.rules["entropy_collapse"].min == 0.1
    built_in = "breaker_tripped stream_down reconciliation_mismatch stale_data journal_full"
    assert {*built_in.split(), "model_not_finite", "disk_low"} <= loaded.rules.keys()
    critical = [each for each in loaded.rules.values() if each.severity == "critical"]
    assert all(each.cooldown_s == 300.0 for each in critical)
    assert all(each.words for each in loaded.rules.values())


def test_file_of_a_user_changes_one_rule_and_adds_a_channel(tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(
        "extends: default\nrules:\n  drawdown: {max: 0.1}\n  disk_last: {is_enabled: false}\n"
        "channels:\n  pager: {kind: webhook, address: 'env:PAGER'}\n"
    )

    loaded = load_settings(workspace=tmp_path)

    assert (loaded.rules["drawdown"].max, loaded.rules["drawdown"].severity) == (0.1, "critical")
    assert not loaded.rules["disk_last"].is_enabled
    assert list(loaded.channels) == ["console", "file", "pager"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules:\n  drawdown: {maxi: 0.1}", "Did you mean 'max'"),
        ("rules:\n  x: {metric: drawdwn_frac, max: 1}", "Did you mean 'drawdown_frac'"),
        (
            "rules:\n  drawdown: {channels: [pagr]}",
            "rules.drawdown.channels must name known channels",
        ),
        (
            "rules:\n  drawdown: {escalation: [{channels: [pagr]}]}",
            "rules.drawdown.escalation must",
        ),
        ("channels:\n  w: {kind: webhok, address: x}", "channels.w.kind must be"),
        ("channels:\n  w: {kind: webhook}", "channels.w.address must be given for this kind"),
        ("channels:\n  m: {kind: email, address: 'smtp://h'}", "recipients of e-mail"),
        ("channels:\n  w: {kind: webhook, address: 'https://a:b@h/x'}", "no password in a file"),
        ("interval_s: 0", "interval_s must lie in"),
    ],
)
def test_mistake_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"extends: default\n{text}\n")

    with pytest.raises(ConfigError) as caught:
        load_settings(file, workspace=tmp_path)

    assert told in str(caught.value)
    assert "own.yaml" in str(caught.value)
    assert "a:b" not in str(caught.value)


def test_phases_are_stored_as_the_words_that_pages_read(tmp_path: Path) -> None:
    fire(tmp_path)
    with sqlite3.connect(AlertReader(tmp_path).path) as database:
        row = database.execute("SELECT phase, severity FROM incidents").fetchone()
        (told,) = database.execute("SELECT incidents FROM notices").fetchone()
    database.close()

    assert row == (IncidentPhase.FIRING.value, "critical")
    assert len(json.loads(told)) == 1


def test_reader_of_a_database_that_is_about_to_be_made_is_empty(tmp_path: Path) -> None:
    path = AlertReader(tmp_path).path
    path.parent.mkdir()
    sqlite3.connect(path).close()
    path.touch()

    assert AlertReader(tmp_path).incidents() == ()
