"""Delivery: bounded attempts, another channel where one fails, none that makes others wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tradingbot.domain.errors import ChannelError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts import delivery
from tradingbot.monitoring.alerts.delivery import Dispatcher
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.settings import AlertSettings, ChannelSettings
from tradingbot.monitoring.alerts.store import Delivery

AT = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)


def notice(*channels: str, severity: AlertLevel = AlertLevel.CRITICAL) -> AlertNotice:
    return AlertNotice(NoticeKind.FIRED, severity, "title", "text", AT, ("1",), channels)


class Channel:
    """Takes notices, after as many failures as it is told."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or ChannelError("it must take it", was="refused")
        self.taken: list[AlertNotice] = []
        self.tried = 0
        self.free = threading.Event()
        self.free.set()
        self.label = "test"

    def send(self, given: AlertNotice) -> None:
        self.tried += 1
        assert self.free.wait(20.0)
        if self.tried <= self.failures:
            raise self.error
        self.taken.append(given)


@contextmanager
def dispatching(channels: dict[str, Channel], **settings: dict[str, Any]) -> Iterator[Dispatcher]:
    told = {name: ChannelSettings("console", **settings.get(name, {})) for name in channels}
    made = Dispatcher(AlertSettings(channels=told), channels, lambda: AT)
    try:
        yield made
    finally:
        for each in channels.values():
            each.free.set()
        made.close()


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_PAUSE_S", 0.0)


def outcomes(dispatcher: Dispatcher) -> list[tuple[str, bool, int, str | None]]:
    assert dispatcher.wait(20.0)
    found: list[Delivery] = dispatcher.results()
    return sorted((each.channel, each.is_sent, each.attempts, each.stands_in_for) for each in found)


def test_notice_without_channels_goes_to_all_that_are_loud_enough() -> None:
    channels = {"low": Channel(), "high": Channel()}
    with dispatching(channels, high={"lowest": AlertLevel.CRITICAL}) as dispatcher:
        dispatcher.send(1, notice(severity=AlertLevel.WARNING))
        assert outcomes(dispatcher) == [("low", True, 1, None)]
        dispatcher.send(2, notice())
        assert outcomes(dispatcher) == [("high", True, 1, None), ("low", True, 1, None)]


def test_failure_that_passes_is_tried_again() -> None:
    channels = {"first": Channel(failures=1)}
    with dispatching(channels) as dispatcher:
        dispatcher.send(1, notice())

        assert outcomes(dispatcher) == [("first", True, 2, None)]


def test_u06_channel_that_fails_hands_over_to_the_next_after_bounded_attempts() -> None:
    channels = {"first": Channel(failures=99), "second": Channel(), "third": Channel()}
    with dispatching(channels, first={"attempts": 3}) as dispatcher:
        dispatcher.send(1, notice("first"))

        assert outcomes(dispatcher) == [("first", False, 3, None), ("second", True, 1, "first")]

    assert channels["first"].tried == 3
    assert channels["third"].taken == []


def test_u06_named_fallback_goes_before_the_order_of_the_file() -> None:
    channels = {"first": Channel(failures=99), "second": Channel(), "third": Channel()}
    with dispatching(channels, first={"fallback": "third"}) as dispatcher:
        dispatcher.send(1, notice("first"))

        assert outcomes(dispatcher)[1] == ("third", True, 1, "first")


def test_u06_channels_that_name_each_other_do_not_keep_a_notice_from_a_third() -> None:
    channels = {"first": Channel(failures=99), "second": Channel(failures=99), "third": Channel()}
    each_other = {"first": {"fallback": "second"}, "second": {"fallback": "first"}}
    with dispatching(channels, **each_other) as dispatcher:
        dispatcher.send(1, notice("first"))

        found = outcomes(dispatcher)

    assert [(name, is_sent, of) for name, is_sent, _, of in found] == [
        *(("first", False, None), ("second", False, "first"), ("third", True, "second")),
    ]


def test_channel_that_the_settings_do_not_have_any_more_is_left_out() -> None:
    """A notice of before a restart may name it."""
    channels = {"first": Channel(), "second": Channel()}
    with dispatching(channels) as dispatcher:
        dispatcher.send(1, notice("gone", "second"))
        assert outcomes(dispatcher) == [("second", True, 1, None)]
        dispatcher.send(2, notice("gone"))
        assert [name for name, *_ in outcomes(dispatcher)] == ["first", "second"]


def test_u06_where_all_channels_fail_each_is_tried_once_and_it_ends() -> None:
    channels = {name: Channel(failures=99) for name in ("first", "second", "third")}
    with dispatching(channels) as dispatcher:
        dispatcher.send(1, notice("second"))

        found = outcomes(dispatcher)

    assert [(name, is_sent) for name, is_sent, *_ in found] == [
        *(("first", False), ("second", False), ("third", False)),
    ]


def test_channel_that_was_told_already_is_not_told_twice() -> None:
    channels = {"first": Channel(failures=99), "second": Channel()}
    with dispatching(channels) as dispatcher:
        dispatcher.send(1, notice())

        assert outcomes(dispatcher) == [("first", False, 2, None), ("second", True, 1, None)]

    assert len(channels["second"].taken) == 1


def test_channel_that_hangs_makes_no_other_wait() -> None:
    channels = {"slow": Channel(), "quick": Channel()}
    channels["slow"].free.clear()
    with dispatching(channels) as dispatcher:
        for number in range(50):
            dispatcher.send(number, notice())
        found: list[Delivery] = []
        while len(found) < 50:
            found += dispatcher.results()

        assert {each.channel for each in found} == {"quick"}


def test_notices_beyond_the_queue_of_a_channel_go_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery, "MOST_WAITING", 2)
    channels = {"slow": Channel(), "quick": Channel()}
    channels["slow"].free.clear()
    with dispatching(channels) as dispatcher:
        found: list[Delivery] = []
        for number in range(20):  # one is being sent, two wait, the others find no place
            dispatcher.send(number, notice("slow"))
            while number >= 3 and not any(each.notice == number for each in found):
                found += dispatcher.results()
        channels["slow"].free.set()
        assert dispatcher.wait(20.0)

    elsewhere = [each for each in found if each.channel == "quick"]
    assert len(elsewhere) >= 16
    assert {each.stands_in_for for each in elsewhere} == {"slow"}


def test_bug_of_a_channel_silences_no_other() -> None:
    channels = {"broken": Channel(9, ZeroDivisionError("a secret")), "sound": Channel()}
    with dispatching(channels) as dispatcher:
        dispatcher.send(1, notice("broken"))
        assert dispatcher.wait(20.0)
        found = dispatcher.results()

    assert [each.is_sent for each in found] == [False, True]
    assert found[0].problem == "ZeroDivisionError in channel broken"
