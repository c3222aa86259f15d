"""Storms: the first notices go out as they are, the rest of a window in one for each audience."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind

Audience = Callable[[AlertNotice], tuple[str, ...]]
"""Notice → names of the channels that hear it."""
_LEVELS = tuple(AlertLevel)
_ENDS = (NoticeKind.RESOLVED, NoticeKind.ENDED)
_SHOWN, _LISTED = 3, 200


@dataclass(frozen=True)
class StormLimits(CheckedFields):
    """How many notices are told one by one."""

    max_notices: int = bounded(10, ">= 1")
    """Within a window; what is more is grouped."""
    window_s: float = bounded(60.0, "(0, inf)")
    """Seconds; grouped notices go out once in as many."""


@dataclass(frozen=True)
class StormState:
    """What was told lately, and what waits to be told together."""

    told_at: tuple[datetime, ...] = ()
    """Times of single notices within the window."""
    grouped_at: datetime | None = None
    """When the last group went out."""
    waiting: tuple[AlertNotice, ...] = ()


def limit_storm(
    state: StormState,
    notices: Sequence[AlertNotice],
    now: datetime,
    limits: StormLimits,
    heard_by: Audience = attrgetter("channels"),
) -> tuple[StormState, tuple[AlertNotice, ...]]:
    """Return what goes out now: the first of a window one by one, the rest as groups.

    Notices that the same channels hear are one group: none hears of what is not for it, or misses
    what is. The first groups go out with the notices that began the storm, the next ones a window
    later: that there is a storm is known at once, and ten thousand messages are never sent. The
    gravest come first, and a group with something critical that fired or escalated does not wait.
    """
    window = timedelta(seconds=limits.window_s)
    # What lies further ahead is of before the clock was set back; it holds nothing back.
    recent = [at for at in state.told_at if abs(now - at) < window]
    free = max(0, limits.max_notices - len(recent))
    ordered = _gravest_first(notices)
    single, rest = ordered[:free], _gravest_first((*state.waiting, *ordered[free:]))
    state = replace(state, told_at=(*recent, *(now for _ in single)), waiting=rest)
    is_due = state.grouped_at is None or abs(now - state.grouped_at) >= window
    by_audience: dict[tuple[str, ...], list[AlertNotice]] = {}
    for each in rest:
        by_audience.setdefault(heard_by(each), []).append(each)
    due = {
        who: given for who, given in by_audience.items() if is_due or any(map(_is_urgent, given))
    }
    if not due:
        return state, single
    groups = tuple(_group(given, who, now) for who, given in due.items())
    waiting = tuple(each for each in rest if heard_by(each) not in due)
    # One that is urgent puts off none of the others.
    grouped_at = now if is_due else state.grouped_at
    return replace(state, waiting=waiting, grouped_at=grouped_at), (*single, *groups)


def _gravest_first(notices: Sequence[AlertNotice]) -> tuple[AlertNotice, ...]:
    """Order by severity; what weighs the same stays as it came."""
    return tuple(sorted(notices, key=lambda each: -_LEVELS.index(each.severity)))


def _is_urgent(notice: AlertNotice) -> bool:
    return notice.severity is AlertLevel.CRITICAL and notice.kind not in _ENDS


def _group(notices: Sequence[AlertNotice], heard_by: tuple[str, ...], now: datetime) -> AlertNotice:
    """Say how many there are of which kind, and show the first of them."""
    named = {each.channels for each in notices}
    severity = max((each.severity for each in notices), key=_LEVELS.index)
    kinds = Counter(each.kind.value for each in notices)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    first = "; ".join(each.title for each in notices[:_SHOWN])
    more = f"; and {len(notices) - _SHOWN} more" if len(notices) > _SHOWN else ""
    ids = tuple(dict.fromkeys(identity for each in notices for identity in each.incidents))
    return AlertNotice(
        NoticeKind.GROUPED,
        severity,
        f"{severity.value.upper()}: {len(notices)} more alerts at once",
        f"{counted}: {first}{more}. All of them: tradingbot alerts list.",
        now,
        ids[:_LISTED],
        named.pop() if len(named) == 1 else heard_by,
        n_incidents=len(notices),
    )
