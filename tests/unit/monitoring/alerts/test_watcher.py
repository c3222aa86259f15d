"""The alerter in one process: what trips reaches a server, over restarts and full disks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.alert_servers import Received, webhook_server
from fixtures.watched_workspace import AT, trading
from tradingbot.app.alerts import watching
from tradingbot.app.alerts.watching import open_watcher
from tradingbot.domain.errors import ChannelError, ConfigError, StorageError
from tradingbot.monitoring.alerts.acts import AlertActs
from tradingbot.monitoring.alerts.channels.console import ConsoleChannel, FileChannel
from tradingbot.monitoring.alerts.channels.webhook import WebhookChannel
from tradingbot.monitoring.alerts.dead_man import AlerterLife, DeadMan
from tradingbot.monitoring.alerts.notice import NoticeKind
from tradingbot.monitoring.alerts.reading import AlertReader
from tradingbot.monitoring.alerts.settings import load_settings
from tradingbot.monitoring.alerts.store import WATCHER, AlertStore
from tradingbot.monitoring.alerts.watcher import AlertWatcher

FILE = """
extends: default
channels:
  hook: {{kind: webhook, address: "http://127.0.0.1:{port}/x", allow_private: true}}
"""


def settings_for(workspace: Path, server: Received) -> Any:
    (workspace / "alerts.yaml").write_text(FILE.format(port=server.port))
    return load_settings(workspace=workspace)


@pytest.fixture
def server() -> Iterator[Received]:
    with webhook_server() as made:
        yield made


@contextmanager
def watching_over(workspace: Path, server: Received) -> Iterator[AlertWatcher]:
    with open_watcher(workspace, settings_for(workspace, server)) as watcher:
        yield watcher


def titles(server: Received) -> list[str]:
    return [each["title"] for each in server.bodies]


def test_drawdown_of_a_session_reaches_the_webhook_and_its_end_does_too(
    tmp_path: Path, server: Received
) -> None:
    with trading(tmp_path) as trader, watching_over(tmp_path, server) as watcher:
        watcher.look(AT)
        trader.save("70000")
        watcher.look(AT + timedelta(seconds=1))
        server.wait_for(1)
        trader.save("90000")
        watcher.look(AT + timedelta(seconds=2))
        server.wait_for(2)

    assert titles(server) == [
        "CRITICAL: drawdown, session first",
        "CRITICAL resolved: drawdown, session first",
    ]
    assert "equity 70000.00 of 100000.00" in server.bodies[0]["message"]
    told = AlertReader(tmp_path).notices()
    assert [each.notice.kind for each in told] == [NoticeKind.RESOLVED, NoticeKind.FIRED]
    assert {each.channel for each in told[0].deliveries} == {"console", "file", "hook"}


def test_restart_of_the_alerter_tells_nothing_twice_and_sends_what_was_left(
    tmp_path: Path, server: Received
) -> None:
    with trading(tmp_path) as trader:
        trader.save("70000")
        with watching_over(tmp_path, server) as watcher:
            watcher.look(AT)
            server.wait_for(1)
        with AlertStore(tmp_path) as store:  # killed between deciding and sending
            store._database.execute("UPDATE notices SET is_delivered = 0")
        now = AlertReader(tmp_path).notices()[0].notice.at
        with watching_over(tmp_path, server) as watcher:
            watcher.begin(now + timedelta(seconds=1))
            server.wait_for(2)
            watcher.look(now + timedelta(seconds=2))

    assert titles(server) == ["CRITICAL: drawdown, session first"] * 2


def test_notice_that_every_channel_refused_is_tried_again_until_one_takes_it(
    tmp_path: Path, server: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ChannelError("it must take it", was="refused")

    with trading(tmp_path) as trader, watching_over(tmp_path, server) as watcher:
        watcher.begin(AT)
        trader.save("70000")
        with monkeypatch.context() as changed:
            for kind in (ConsoleChannel, FileChannel, WebhookChannel):
                changed.setattr(kind, "send", refuse)
            watcher.look(AT)
            assert watcher._dispatcher.wait(20.0)
        for seconds in (30, 61, 62, 130):
            watcher.look(AT + timedelta(seconds=seconds))
            assert watcher._dispatcher.wait(20.0)
            assert len(server.bodies) == (seconds > 60)

    assert titles(server) == ["CRITICAL: drawdown, session first"]


def test_only_one_process_watches_a_workspace(tmp_path: Path, server: Received) -> None:
    with (
        watching_over(tmp_path, server),
        pytest.raises(ConfigError, match="alerts watch must not be in use"),
        watching_over(tmp_path, server),
    ):
        pass


def test_p05_disk_that_refuses_the_database_does_not_silence_alerts(
    tmp_path: Path, server: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("disk must have room for the file", was="full")

    with trading(tmp_path) as trader, watching_over(tmp_path, server) as watcher:
        trader.save("70000")
        with monkeypatch.context() as changed:
            for name in ("save", "beat", "record_deliveries", "silences"):
                changed.setattr(AlertStore, name, refuse)
            for second in range(8):
                watcher.look(AT + timedelta(seconds=second))
            server.wait_for(2)

    assert titles(server) == [
        "CRITICAL: drawdown, session first",
        "WARNING: source_failed, database of alerts",
    ]


def test_silence_and_acknowledgement_of_a_person_reach_the_alerter(
    tmp_path: Path, server: Received
) -> None:
    acts, hour = AlertActs(tmp_path), timedelta(hours=1)
    with trading(tmp_path) as trader, watching_over(tmp_path, server) as watcher:
        acts.silence("drawdown", "session *", hour, by="mia", reason="works", now=AT)
        trader.save("70000")
        assert watcher.look(AT) == ()
        (told,) = watcher.look(AT + hour)
        assert told.kind is NoticeKind.FIRED

        acts.acknowledge(told.incidents[0], by="mia", reason="on it", now=AT + hour)
        later = [watcher.look(AT + hour + timedelta(minutes=m)) for m in range(1, 40)]

    assert not any(later)


def test_u08_heartbeat_that_ends_is_told_once_and_its_return_too(tmp_path: Path) -> None:
    dead_man = DeadMan(AlertReader(tmp_path))
    assert dead_man.life(AT)[0] is AlerterLife.UNKNOWN
    with AlertStore(tmp_path) as store:
        store.beat(WATCHER, AT, process=7, interval_s=1.0)
        assert dead_man.look(AT + timedelta(seconds=5)) is None

        told = dead_man.look(AT + timedelta(seconds=6))
        assert told is not None
        assert (told.kind, told.severity) == (NoticeKind.DEAD_MAN, "critical")
        assert "process 7 was heard of last 6 s ago" in told.text
        assert dead_man.look(AT + timedelta(seconds=7)) is None
        assert dead_man.look(AT + timedelta(seconds=307)) is not None

        store.beat(WATCHER, AT + timedelta(seconds=400), process=8, interval_s=1.0)
        back = dead_man.look(AT + timedelta(seconds=401))
        assert back is not None
        assert back.kind is NoticeKind.RESOLVED
        store.stop(WATCHER, AT + timedelta(seconds=402))
    assert dead_man.look(AT + timedelta(seconds=900)) is None
    assert dead_man.life(AT + timedelta(seconds=900))[0] is AlerterLife.STOPPED


def test_u08_guard_that_slept_with_its_machine_looks_twice_before_it_tells(tmp_path: Path) -> None:
    dead_man = DeadMan(AlertReader(tmp_path))
    with AlertStore(tmp_path) as store:
        store.beat(WATCHER, AT, process=7, interval_s=1.0)
        assert dead_man.look(AT) is None
        slept = AT + timedelta(hours=8)
        assert dead_man.look(slept) is None

        store.beat(WATCHER, slept, process=7, interval_s=1.0)
        assert dead_man.look(slept + timedelta(seconds=1)) is None
        slept += timedelta(hours=8)
        assert dead_man.look(slept) is None
        told = dead_man.look(slept + timedelta(seconds=1))

    assert told is not None
    assert told.kind is NoticeKind.DEAD_MAN


def test_u08_database_that_cannot_be_read_is_a_dead_alerter(tmp_path: Path) -> None:
    path = AlertReader(tmp_path).path
    path.parent.mkdir()
    path.write_text("no database " * 100)

    assert DeadMan(AlertReader(tmp_path)).life(AT)[0] is AlerterLife.DEAD


def test_guard_that_ended_is_told_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = watching.GuardProcess([])
    monkeypatch.setattr(guard, "_command", ["true"])
    try:
        assert guard.samples()[0].value == 0.0
        assert guard._process is not None
        first = guard._process.pid
        guard._process.wait()
        assert guard.samples()[0].value == 1.0
        assert guard._process.pid != first
    finally:
        guard.close()


def test_end_of_the_alerter_by_itself_is_no_alarm(tmp_path: Path, server: Received) -> None:
    with watching_over(tmp_path, server) as watcher:
        watcher.look(datetime.now(UTC))
        assert DeadMan(AlertReader(tmp_path)).life(datetime.now(UTC))[0] is AlerterLife.ALIVE

    assert DeadMan(AlertReader(tmp_path)).life(datetime.now(UTC))[0] is AlerterLife.STOPPED


def test_u08_dead_alerter_is_told_of_though_the_clock_was_set_back(tmp_path: Path) -> None:
    dead_man, back = DeadMan(AlertReader(tmp_path)), AT - timedelta(hours=1)
    with AlertStore(tmp_path) as store:
        store.beat(WATCHER, AT, process=7, interval_s=1.0)
        assert dead_man.look(AT) is None
        assert dead_man.look(back) is None  # both clocks were set: who lives says so again
        told = dead_man.look(back + timedelta(seconds=1))
        assert told is not None
        assert "process 7 was heard of last before the clock was set back" in told.text

        again = dead_man.look(back - timedelta(hours=1))
        assert again is not None  # its repetition waits for no clock of before

        store.beat(WATCHER, back, process=7, interval_s=1.0)
        assert dead_man.life(back + timedelta(seconds=1))[0] is AlerterLife.ALIVE
