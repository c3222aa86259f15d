"""Storms: the gravest notices come first, and what is critical does not wait behind the rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.audience import audience_of
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.settings import ChannelSettings
from tradingbot.monitoring.alerts.storm import StormLimits, StormState, limit_storm

AT = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
LIMITS = StormLimits(max_notices=2, window_s=60.0)


def notice(
    name: str,
    severity: AlertLevel = AlertLevel.INFO,
    kind: NoticeKind = NoticeKind.FIRED,
    channels: tuple[str, ...] = (),
) -> AlertNotice:
    return AlertNotice(kind, severity, name, "text", AT, (name,), channels)


def begin_storm() -> StormState:
    """Use up the limit and the first group; one notice waits."""
    state, _ = limit_storm(StormState(), [notice(f"a{n}") for n in range(5)], AT, LIMITS)
    state, told = limit_storm(state, [notice("waits")], AT + timedelta(seconds=1), LIMITS)
    assert told == ()
    return state


def test_gravest_notices_are_told_one_by_one_and_the_rest_together() -> None:
    given = [
        *(notice("i1"), notice("w1", AlertLevel.WARNING), notice("i2")),
        *(notice("c1", AlertLevel.CRITICAL), notice("w2", AlertLevel.WARNING)),
    ]

    _, told = limit_storm(StormState(), given, AT, LIMITS)

    assert [each.title for each in told[:2]] == ["c1", "w1"]
    assert told[2].incidents == ("w2", "i1", "i2")
    assert told[2].severity is AlertLevel.WARNING  # the highest of the group


def test_critical_notice_in_a_storm_goes_out_at_once_with_what_waits() -> None:
    given = [notice("i9"), notice("c9", AlertLevel.CRITICAL)]

    state, told = limit_storm(begin_storm(), given, AT + timedelta(seconds=2), LIMITS)

    (group,) = told
    assert (group.kind, group.severity) == (NoticeKind.GROUPED, AlertLevel.CRITICAL)
    assert group.incidents == ("c9", "waits", "i9")
    assert state.waiting == ()


@pytest.mark.parametrize("end", [NoticeKind.RESOLVED, NoticeKind.ENDED])
def test_end_of_something_critical_waits_for_the_next_group(end: NoticeKind) -> None:
    given = [notice("c9", AlertLevel.CRITICAL, end)]

    state, told = limit_storm(begin_storm(), given, AT + timedelta(seconds=2), LIMITS)

    assert told == ()
    assert [each.title for each in state.waiting] == ["c9", "waits"]


def test_storm_of_before_a_clock_was_set_back_holds_nothing_back() -> None:
    back = AT - timedelta(hours=1)

    state, told = limit_storm(begin_storm(), [notice("n1")], back, LIMITS)

    assert [each.title for each in told[:1]] == ["n1"]
    assert told[1].incidents == ("waits",)
    assert state.waiting == ()


def loudest() -> dict[str, ChannelSettings]:
    """A file that hears all, a chat, and a pager that is for what is critical."""
    pager = ChannelSettings("console", lowest=AlertLevel.CRITICAL)
    return {"file": ChannelSettings("console"), "chat": ChannelSettings("console"), "pager": pager}


def told_by_channel(told: tuple[AlertNotice, ...]) -> dict[str, list[str]]:
    """Return what each channel hears, by the names of notices."""
    channels = loudest()
    found: dict[str, list[str]] = {name: [] for name in channels}
    for each in told:
        for name in audience_of(each, channels):
            found[name] += each.incidents
    return found


AUDIENCE = partial(audience_of, channels=loudest())


def test_u07_group_is_told_where_each_of_its_notices_would_be() -> None:
    given = [
        *(notice(f"first{n}") for n in range(2)),
        notice("chat alone", channels=("chat",)),
        notice("step of an escalation", kind=NoticeKind.ESCALATED, channels=("chat", "file")),
        notice("all that are loud enough"),
        notice("chat again", AlertLevel.WARNING, channels=("chat",)),
        notice("pager by name", channels=("pager",)),
    ]

    _, told = limit_storm(StormState(), given, AT, LIMITS, AUDIENCE)

    expected: dict[str, set[str]] = {name: set() for name in loudest()}
    for each in given:
        for name in AUDIENCE(each):
            expected[name] |= set(each.incidents)
    assert {name: set(names) for name, names in told_by_channel(told).items()} == expected
    groups = [each for each in told if each.kind is NoticeKind.GROUPED]
    assert sorted(len(each.incidents) for each in groups) == [1, 1, 3]


def test_u07_channel_for_what_is_critical_hears_of_nothing_less_in_a_storm() -> None:
    given = [notice(f"c{n}", AlertLevel.CRITICAL) for n in range(3)] + [notice("i1"), notice("i2")]

    _, told = limit_storm(StormState(), given, AT, LIMITS, AUDIENCE)

    assert told_by_channel(told)["pager"] == ["c0", "c1", "c2"]
    assert sorted(told_by_channel(told)["file"]) == ["c0", "c1", "c2", "i1", "i2"]


def test_u07_urgent_group_of_some_channels_neither_takes_nor_puts_off_that_of_others() -> None:
    storm = [notice(f"a{n}") for n in range(5)]
    state, _ = limit_storm(StormState(), storm, AT, LIMITS, AUDIENCE)
    state, _ = limit_storm(state, [notice("waits")], AT + timedelta(seconds=1), LIMITS, AUDIENCE)
    for second in range(2, 60):
        urgent = [notice(f"c{second}", AlertLevel.CRITICAL, channels=("pager",))]
        at = AT + timedelta(seconds=second)
        state, told = limit_storm(state, urgent, at, LIMITS, AUDIENCE)
        assert [each.incidents for each in told] == [(f"c{second}",)]
        assert told[0].channels == ("pager",)
        assert [each.title for each in state.waiting] == ["waits"]

    _, told = limit_storm(state, [], AT + timedelta(seconds=60), LIMITS, AUDIENCE)

    assert [each.incidents for each in told] == [("waits",)]


def test_group_of_notices_for_all_names_no_channel() -> None:
    """Channels may be others when it is sent once more after a restart."""
    _, told = limit_storm(StormState(), [notice(f"a{n}") for n in range(5)], AT, LIMITS, AUDIENCE)

    assert told[-1].channels == ()
