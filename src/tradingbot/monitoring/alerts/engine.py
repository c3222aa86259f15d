"""The engine: samples and the time in, incidents and notices out. It reads no clock and no file.

    none → pending → firing → resolved
             ↘ none

A breach that lasts as long as its rule asks fires; it is told once, again by every step of its
escalation while it is not acknowledged, and once more when it ends. A rule and subject that come
back within the cooldown are told when the cooldown ends, if it lasts until then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter

from tradingbot.monitoring.alerts.incident import Incident, IncidentKey, IncidentPhase
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind, describe
from tradingbot.monitoring.alerts.rule import AlertRule
from tradingbot.monitoring.alerts.silence import Silence, is_silenced
from tradingbot.monitoring.alerts.storm import Audience, StormLimits, StormState, limit_storm

ABSENT_S = 60.0
"""Seconds after which what is no longer measured is no longer firing: its run or session ended."""
_ENDED = "it is no longer measured, its run or session ended, and was breached to the last"
_PENDING, _FIRING, _RESOLVED = IncidentPhase


@dataclass(frozen=True)
class EngineState:
    """Everything that the engine remembers."""

    incidents: Mapping[IncidentKey, Incident] = field(default_factory=dict)
    """Open ones, and resolved ones whose cooldown lasts."""
    storm: StormState = field(default_factory=StormState)


@dataclass(frozen=True)
class AlertObservation:
    """What one look at everything found."""

    now: datetime
    samples: Sequence[MetricSample]
    unmeasured: Collection[str] = frozenset()
    """Metrics that could not be read: nothing of theirs is resolved."""
    silences: Sequence[Silence] = ()
    acknowledged: Mapping[str, str] = field(default_factory=dict)
    """Id of an incident → who acknowledged it."""


def advance(
    state: EngineState,
    rules: Mapping[str, AlertRule],
    seen: AlertObservation,
    storm: StormLimits,
    heard_by: Audience = attrgetter("channels"),
) -> tuple[EngineState, tuple[AlertNotice, ...], tuple[Incident, ...]]:
    """Take one observation.

    Args:
        state: Before.
        rules: Name → rule.
        seen: What was measured.
        storm: How many notices go out one by one.
        heard_by: Which channels hear a notice: in a storm, those of the same are one.

    Returns:
        State afterwards, notices to be sent in their order, and incidents that changed.
    """
    by_metric: dict[str, list[MetricSample]] = {}
    for sample in seen.samples:
        by_metric.setdefault(sample.metric, []).append(sample)
    after: dict[IncidentKey, Incident] = dict(state.incidents)
    notices: list[AlertNotice] = []
    for name, rule in rules.items():
        if rule.is_enabled:
            for sample in by_metric.get(rule.metric, ()):
                _follow(after, notices, name, rule, sample, seen)
    _end_absent(after, notices, rules, seen)
    changed = tuple(each for key, each in after.items() if state.incidents.get(key) != each)
    kept = {key: each for key, each in after.items() if not _is_over(each, seen.now)}
    limited, sent = limit_storm(state.storm, notices, seen.now, storm, heard_by)
    return EngineState(kept, limited), sent, changed


def _follow(
    incidents: dict[IncidentKey, Incident],
    notices: list[AlertNotice],
    name: str,
    rule: AlertRule,
    sample: MetricSample,
    seen: AlertObservation,
) -> None:
    """Take one sample into the incident of its rule and subject."""
    known = incidents.get((name, sample.subject))
    if not rule.is_breached(sample.value):
        if known is not None and known.phase is not _RESOLVED:
            value = replace(known, value=sample.value, text=sample.text)
            incidents[known.key] = _resolve(value, rule, seen, notices)
        return
    incident = _measure(known, name, rule, sample, seen.now)
    if incident.phase is _PENDING and _passed(incident.since, seen.now, rule.for_s):
        incident = replace(incident, phase=_FIRING, fired_at=seen.now)
    if incident.is_firing:
        incident = _tell(incident, rule, seen, notices)
    incidents[incident.key] = incident


def _measure(
    known: Incident | None, name: str, rule: AlertRule, sample: MetricSample, now: datetime
) -> Incident:
    """Return the open incident with the newest value; a new one where none is open."""
    if known is not None and known.phase is not _RESOLVED:
        worst = rule.worse(known.worst, sample.value)
        text = sample.text or known.text
        return replace(known, value=sample.value, worst=worst, text=text, seen_at=now)
    return Incident(
        name,
        sample.subject,
        rule.metric,
        rule.severity,
        _PENDING,
        since=now,
        seen_at=now,
        value=sample.value,
        worst=sample.value,
        text=sample.text,
        quiet_until=None if known is None else known.quiet_until,
    )


def _tell(
    incident: Incident, rule: AlertRule, seen: AlertObservation, notices: list[AlertNotice]
) -> Incident:
    """Tell of a firing incident what is due: that it fired, or the next step."""
    now, by = seen.now, seen.acknowledged.get(incident.id)
    if by is not None and incident.acknowledged_by is None:
        incident = replace(incident, acknowledged_by=by)
    if is_silenced(seen.silences, incident.rule, incident.subject, now):
        return incident
    if incident.announced_at is None:
        if _is_quiet(incident, rule, now):
            return incident
        notices.append(describe(NoticeKind.FIRED, incident, rule, now, channels=rule.channels))
        quiet = now + timedelta(seconds=rule.cooldown_s)
        return replace(incident, announced_at=now, quiet_until=quiet)
    if incident.acknowledged_by is not None or incident.fired_at is None:
        return incident
    due = sum(_passed(incident.fired_at, now, step.after_s) for step in rule.escalation)
    if due <= incident.escalation_step:
        return incident
    channels = rule.escalation[due - 1].channels
    notices.append(describe(NoticeKind.ESCALATED, incident, rule, now, channels=channels))
    return replace(incident, escalation_step=due)


def _resolve(
    incident: Incident,
    rule: AlertRule,
    seen: AlertObservation,
    notices: list[AlertNotice],
    kind: NoticeKind = NoticeKind.RESOLVED,
) -> Incident:
    """End an incident; who was told of it is told of its end."""
    is_told = incident.is_firing and incident.announced_at is not None
    if is_told and not is_silenced(seen.silences, incident.rule, incident.subject, seen.now):
        notices.append(describe(kind, incident, rule, seen.now, channels=rule.channels))
    return replace(incident, phase=_RESOLVED, resolved_at=seen.now)


def _end_absent(
    incidents: dict[IncidentKey, Incident],
    notices: list[AlertNotice],
    rules: Mapping[str, AlertRule],
    seen: AlertObservation,
) -> None:
    """End what is no longer measured, or whose rule is gone."""
    measured = {(each.metric, each.subject) for each in seen.samples}
    for key, incident in list(incidents.items()):
        if incident.phase is _RESOLVED:
            continue
        rule = rules.get(incident.rule)
        if rule is None or not rule.is_enabled:
            incidents[key] = replace(incident, phase=_RESOLVED, resolved_at=seen.now)
            continue
        is_absent = (incident.metric, incident.subject) not in measured
        is_absent = is_absent and incident.metric not in seen.unmeasured
        if is_absent and _passed(incident.seen_at, seen.now, ABSENT_S):
            ended = replace(incident, text=_ENDED)
            incidents[key] = _resolve(ended, rule, seen, notices, NoticeKind.ENDED)


def _is_over(incident: Incident, now: datetime) -> bool:
    """Tell whether nothing of an incident matters any more."""
    is_quiet = incident.quiet_until is not None and now < incident.quiet_until
    return incident.phase is _RESOLVED and not is_quiet


def _is_quiet(incident: Incident, rule: AlertRule, now: datetime) -> bool:
    """Tell whether its cooldown lasts; one that would last longer is of another clock."""
    if incident.quiet_until is None:
        return False
    return timedelta(0) < incident.quiet_until - now <= timedelta(seconds=rule.cooldown_s)


def _passed(since: datetime, now: datetime, seconds: float) -> bool:
    """Tell whether so long has passed; also where a clock was set back by as much.

    How long it really took is not known then: better told early than late by what it was set.
    """
    return abs(now - since) >= timedelta(seconds=seconds)
