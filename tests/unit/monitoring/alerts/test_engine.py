"""The engine of alerts: pending, firing, resolved; cooldown, escalation, silences, storms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.engine import ABSENT_S, AlertObservation, EngineState, advance
from tradingbot.monitoring.alerts.incident import IncidentPhase
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.notice import AlertNotice, NoticeKind
from tradingbot.monitoring.alerts.rule import AlertRule, EscalationStep
from tradingbot.monitoring.alerts.silence import Silence
from tradingbot.monitoring.alerts.storm import StormLimits

START = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
CALM = StormLimits(max_notices=1_000_000)
RULE = AlertRule("drawdown_frac", max=0.2, for_s=5.0, cooldown_s=60.0)
FIRED, RESOLVED, ESCALATED = NoticeKind.FIRED, NoticeKind.RESOLVED, NoticeKind.ESCALATED


class Watch:
    """An engine and its clock."""

    def __init__(self, rule: AlertRule = RULE, storm: StormLimits = CALM) -> None:
        self.rules, self.storm = {"rule": rule}, storm
        self.state, self.now = EngineState(), START
        self.told: list[tuple[float, AlertNotice]] = []
        self.silences: tuple[Silence, ...] = ()
        self.acknowledged: dict[str, str] = {}
        self.unmeasured: frozenset[str] = frozenset()

    def look(
        self, values: float | Mapping[str, float] | None, *, after_s: float = 1.0
    ) -> list[AlertNotice]:
        """Let time pass and measure: a value, none, or one of each subject."""
        self.now += timedelta(seconds=after_s)
        by_subject = values if isinstance(values, Mapping) else {"session a": values}
        samples = [
            MetricSample("drawdown_frac", subject, value)
            for subject, value in by_subject.items()
            if value is not None
        ]
        seen = AlertObservation(
            self.now, samples, self.unmeasured, self.silences, self.acknowledged
        )
        self.state, sent, _ = advance(self.state, self.rules, seen, self.storm)
        self.told += [(self.at_s, each) for each in sent]
        return list(sent)

    @property
    def at_s(self) -> float:
        return (self.now - START).total_seconds()

    def times(self, kind: NoticeKind) -> list[float]:
        return [at for at, notice in self.told if notice.kind is kind]

    @property
    def phase(self) -> IncidentPhase | None:
        found = self.state.incidents.get(("rule", "session a"))
        return None if found is None else found.phase


def test_breach_shorter_than_its_rule_asks_tells_nothing() -> None:
    watch = Watch()

    for value in (0.3, 0.3, 0.3, 0.3, 0.1, 0.3, 0.3, 0.3, 0.3, 0.1):
        watch.look(value)

    assert watch.told == []
    assert watch.phase is None


def test_breach_that_lasts_fires_once_and_resolves_once() -> None:
    watch = Watch()

    for value in (*[0.3] * 20, *[0.1] * 20):
        watch.look(value)

    assert watch.times(FIRED) == [6.0]
    assert watch.times(RESOLVED) == [21.0]
    assert "worst 0.3" in watch.told[-1][1].text


def test_value_that_is_no_number_is_a_breach() -> None:
    watch = Watch(replace(RULE, for_s=0.0))

    assert [each.kind for each in watch.look(math.nan)] == [FIRED]


def test_breach_that_comes_back_in_the_cooldown_is_told_when_it_ends() -> None:
    watch = Watch(replace(RULE, for_s=0.0))

    for second in range(80):
        watch.look(0.1 if second in (10, 11) else 0.3)

    assert watch.times(FIRED) == [1.0, 61.0]


def test_flapping_is_told_once_in_a_cooldown() -> None:
    watch = Watch(replace(RULE, for_s=0.0))

    for second in range(600):
        watch.look(0.3 if second % 2 else 0.1)

    assert len(watch.times(FIRED)) == 10
    assert len(watch.times(RESOLVED)) == 10


def test_escalation_goes_step_by_step_until_it_is_acknowledged() -> None:
    steps = tuple(EscalationStep(after_s, (name,)) for after_s, name in ((10, "b"), (20, "c")))
    last = EscalationStep(30.0, ("d",))
    watch = Watch(replace(RULE, for_s=0.0, escalation=(*steps, last)))

    for _ in range(25):
        watch.look(0.3)
    incident = watch.state.incidents[("rule", "session a")]
    watch.acknowledged = {incident.id: "mia"}
    for _ in range(60):
        watch.look(0.3)

    escalated = [notice for _, notice in watch.told if notice.kind is ESCALATED]
    assert [each.channels for each in escalated] == [("b",), ("c",)]
    assert watch.times(ESCALATED) == [11.0, 21.0]
    assert watch.state.incidents[("rule", "session a")].acknowledged_by == "mia"


def test_silence_holds_back_and_what_lasts_longer_is_told_after_it() -> None:
    watch = Watch(replace(RULE, for_s=0.0))
    until = START + timedelta(seconds=30)
    watch.silences = (Silence("1", "r*", "session ?", START, until, "mia", "works"),)

    for _ in range(40):
        watch.look(0.3)

    assert watch.times(FIRED) == [30.0]


def test_subject_that_is_no_longer_measured_ends_and_is_not_called_resolved() -> None:
    """A session that ended with its breaker tripped did not put anything right."""
    watch = Watch(replace(RULE, for_s=0.0))
    watch.look(0.3)

    for _ in range(int(ABSENT_S) + 1):
        watch.look(None)

    assert watch.times(NoticeKind.ENDED) == [1.0 + ABSENT_S]
    assert watch.times(RESOLVED) == []
    notice = watch.told[-1][1]
    assert notice.title == "CRITICAL ended unresolved: rule, session a"
    assert "drawdown_frac 0.3" in notice.text
    assert "no longer measured" in notice.text
    assert "was breached to the last" in notice.text
    assert watch.phase is None


def test_subject_of_a_source_that_failed_stays_as_it_was() -> None:
    watch = Watch(replace(RULE, for_s=0.0))
    watch.look(0.3)
    watch.unmeasured = frozenset({"drawdown_frac"})

    for _ in range(500):
        watch.look(None)

    assert watch.times(RESOLVED) == []


def test_clock_that_goes_back_tells_nothing_twice() -> None:
    watch = Watch(replace(RULE, for_s=0.0))
    watch.look(0.3)

    watch.look(0.3, after_s=-3600.0)
    watch.look(0.3)

    assert watch.times(FIRED) == [1.0]


def test_u07_storm_of_ten_thousand_is_grouped_and_its_first_are_kept() -> None:
    watch = Watch(replace(RULE, for_s=0.0), StormLimits(max_notices=5, window_s=60.0))
    breached = {f"session {number:05d}": 0.3 for number in range(10_000)}

    first = watch.look(breached)
    more = [notice for _ in range(30) for notice in watch.look(breached)]

    assert [each.kind for each in first] == [FIRED] * 5 + [NoticeKind.GROUPED]
    assert [each.title[-5:] for each in first[:5]] == [f"{n:05d}" for n in range(5)]
    assert first[-1].n_incidents == 9_995
    assert "9995 fired" in first[-1].text
    assert more == []


def test_rule_that_measures_nothing_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="drawdown_frac"):
        AlertRule("drawdown", max=0.2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max": None}, "min must be given, or max"),
        ({"min": 0.3}, "min must not be above max"),
        ({"max": math.inf}, "max must be finite"),
        ({"for_s": -1.0}, "for_s must be 0 or more"),
        ({"escalation": (EscalationStep(9.0), EscalationStep(3.0))}, "later steps later"),
    ],
)
def test_rule_that_cannot_hold_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        replace(RULE, **change)  # type: ignore[arg-type]


SUBJECTS = ("session a", "session b", "session c")
SERIES = st.lists(
    st.tuples(
        st.floats(0.1, 20.0),
        st.fixed_dictionaries(
            dict.fromkeys(SUBJECTS, st.sampled_from([0.1, 0.3, 0.3, math.nan, None]))
        ),
    ),
    min_size=1,
    max_size=60,
)


def told_of(watch: Watch, subject: str, kinds: Iterable[NoticeKind]) -> list[tuple[float, str]]:
    """Return time and incident of the notices of a subject."""
    return [
        (at, notice.incidents[0])
        for at, notice in watch.told
        if notice.kind in kinds and notice.title.endswith(subject)
    ]


@settings(max_examples=60, deadline=None)
@given(SERIES, st.sampled_from([0.0, 3.0, 12.0]), st.sampled_from([0.0, 30.0]))
def test_any_history_keeps_duration_cooldown_and_order(
    series: list[tuple[float, dict[str, float | None]]], for_s: float, cooldown_s: float
) -> None:
    watch = Watch(replace(RULE, for_s=for_s, cooldown_s=cooldown_s))
    breached_since: dict[str, float | None] = dict.fromkeys(SUBJECTS)
    for seconds, values in series:
        sent = watch.look({k: v for k, v in values.items() if v is not None}, after_s=seconds)
        for subject, value in values.items():
            if value is not None and not RULE.is_breached(value):
                breached_since[subject] = None
            elif value is not None and breached_since[subject] is None:
                breached_since[subject] = watch.at_s
        for notice in sent:
            if notice.kind is FIRED:
                subject = notice.title.partition(", ")[2]
                began = breached_since[subject]
                assert began is not None
                assert watch.at_s - began >= for_s - 1e-6
    for subject in SUBJECTS:
        fired = told_of(watch, subject, [FIRED])
        resolved = told_of(watch, subject, [RESOLVED])
        gaps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(fired)]
        assert all(gap >= cooldown_s - 1e-6 for gap in gaps)
        assert len({identity for _, identity in fired}) == len(fired)
        assert len({identity for _, identity in resolved}) == len(resolved)
        assert {identity for _, identity in resolved} <= {identity for _, identity in fired}


@settings(max_examples=60, deadline=None)
@given(SERIES, st.integers(1, 4), st.floats(1.0, 60.0), st.sampled_from(AlertLevel))
def test_any_storm_keeps_its_limit_and_loses_no_incident(
    series: list[tuple[float, dict[str, float | None]]],
    most: int,
    window_s: float,
    severity: AlertLevel,
) -> None:
    rule = replace(RULE, for_s=0.0, cooldown_s=0.0, severity=severity)
    calm, limited = Watch(rule), Watch(rule, StormLimits(most, window_s))
    for seconds, values in series:
        told = {k: v for k, v in values.items() if v is not None}
        calm.look(told, after_s=seconds)
        limited.look(told, after_s=seconds)
    limited.look({}, after_s=window_s)
    calm.look({}, after_s=window_s)

    single = [at for at, notice in limited.told if notice.kind is not NoticeKind.GROUPED]
    groups = [at for at, notice in limited.told if notice.kind is NoticeKind.GROUPED]
    for at in single:
        assert sum(at - window_s + 1e-5 < each <= at for each in single) <= most
    if severity is AlertLevel.CRITICAL:  # does not wait: one group for each look at most
        assert len(groups) <= len(series) + 1
    else:
        assert all(b - a >= window_s - 1e-6 for a, b in itertools.pairwise(groups))
    counted = sum(notice.n_incidents for _, notice in limited.told)
    assert counted + len(limited.state.storm.waiting) == len(calm.told)
    assert limited.told[:1] == calm.told[:1]
    heard = {identity for _, notice in limited.told for identity in notice.incidents}
    waiting = {each for notice in limited.state.storm.waiting for each in notice.incidents}
    assert heard | waiting == {each for _, notice in calm.told for each in notice.incidents}


@settings(max_examples=40, deadline=None)
@given(SERIES, st.data())
def test_any_silence_is_kept_while_it_lasts(
    series: list[tuple[float, dict[str, float | None]]], data: st.DataObject
) -> None:
    begin = data.draw(st.floats(0.0, 100.0))
    end = begin + data.draw(st.floats(1.0, 200.0))
    first, last = (START + timedelta(seconds=each) for each in (begin, end))
    watch = Watch(replace(RULE, for_s=0.0))
    watch.silences = (Silence("1", "*", "session a", first, last, "mia", "works"),)
    for seconds, values in series:
        watch.look({k: v for k, v in values.items() if v is not None}, after_s=seconds)

    told = told_of(watch, "session a", NoticeKind)
    assert not [at for at, _ in told if first <= START + timedelta(seconds=at) < last]


def test_severity_of_a_notice_is_that_of_its_rule() -> None:
    watch = Watch(replace(RULE, for_s=0.0, severity=AlertLevel.WARNING))

    (notice,) = watch.look(0.3)

    assert notice.severity is AlertLevel.WARNING
    assert notice.title == "WARNING: rule, session a"


def test_breach_fires_no_later_than_its_rule_asks_when_the_clock_is_set_back() -> None:
    watch = Watch()
    watch.look(0.3)

    watch.look(0.3, after_s=-600.0)
    for _ in range(5):
        watch.look(0.3)

    assert len(watch.times(FIRED)) == 1


def test_breach_is_not_told_early_for_a_clock_that_is_set_back_by_a_second() -> None:
    watch = Watch()
    for _ in range(3):
        watch.look(0.3)
        watch.look(0.3, after_s=-1.0)

    assert watch.told == []


def test_cooldown_is_no_longer_than_its_rule_says_when_the_clock_is_set_back() -> None:
    watch = Watch(replace(RULE, for_s=0.0))
    watch.look(0.3)
    watch.look(0.1)

    watch.look(0.3, after_s=-3600.0)

    assert len(watch.times(FIRED)) == 2


def test_escalation_is_due_though_the_clock_was_set_back() -> None:
    step = EscalationStep(900.0, ("pager",))
    watch = Watch(replace(RULE, for_s=0.0, escalation=(step,)))
    watch.look(0.3)

    watch.look(0.3, after_s=-3600.0)
    watch.look(0.3)

    assert len(watch.times(ESCALATED)) == 1


def test_what_is_no_longer_measured_ends_though_the_clock_was_set_back() -> None:
    watch = Watch(replace(RULE, for_s=0.0))
    watch.look(0.3)

    watch.look(None, after_s=-3600.0)

    assert len(watch.times(NoticeKind.ENDED)) == 1
