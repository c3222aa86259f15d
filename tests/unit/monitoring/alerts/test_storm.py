"""Storms: the gravest notices come first, and what is critical does not wait behind the rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.storm import StormLimits, StormState, limit_storm

AT = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
LIMITS = StormLimits(max_notices=2, window_s=60.0)


def notice(
    name: str, severity: AlertLevel = AlertLevel.INFO, kind: NoticeKind = NoticeKind.FIRED
) -> AlertNotice:
    return AlertNotice(kind, severity, name, "text", AT, (name,))


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


def test_end_of_something_critical_waits_for_the_next_group() -> None:
    given = [notice("c9", AlertLevel.CRITICAL, NoticeKind.RESOLVED)]

    state, told = limit_storm(begin_storm(), given, AT + timedelta(seconds=2), LIMITS)

    assert told == ()
    assert [each.title for each in state.waiting] == ["c9", "waits"]


def test_storm_of_before_a_clock_was_set_back_holds_nothing_back() -> None:
    back = AT - timedelta(hours=1)

    state, told = limit_storm(begin_storm(), [notice("n1")], back, LIMITS)

    assert [each.title for each in told[:1]] == ["n1"]
    assert told[1].incidents == ("waits",)
    assert state.waiting == ()
