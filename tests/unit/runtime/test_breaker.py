"""Breakers trip at once, stay tripped, survive a restart and are armed again by name."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal

import pytest

from fixtures.order_records import AT
from fixtures.session_orders import wanted
from tradingbot.domain.errors import TradingError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.domain.trading_state import TradingState
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.breaker import (
    Breaker,
    BreakerState,
    count_messages,
    list_tripped,
    mark_equity,
    permitted_state,
    press_kill_switch,
    read_breakers,
    record_approval,
    record_execution,
    record_overfill,
    record_rejection,
    record_throttled,
    set_trading_state,
    start_day,
    use_message,
)
from tradingbot.runtime.rearm import rearm_breaker

LIMITS = SessionLimits()
MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)
DESK = frozenset({"ada"})


def marked(*equities: str, day: date = MONDAY) -> BreakerState:
    state = BreakerState()
    for equity in equities:
        state = mark_equity(state, Decimal(equity), day)
    return state


def restarted(state: BreakerState) -> BreakerState:
    return read_breakers(json.loads(json.dumps(as_plain_values(state))))


def tripped_states() -> dict[Breaker, BreakerState]:
    rejects, repeats = BreakerState(), BreakerState()
    for _ in range(LIMITS.max_rejects):
        rejects = record_rejection(rejects)
    for second in range(LIMITS.max_repeated_executions + 1):
        at = AT + timedelta(seconds=second)
        repeats = record_execution(repeats, LIMITS, "SPY buy", at, is_first=True)
    return {
        Breaker.KILL_SWITCH: press_kill_switch(marked("100"), "drill"),
        Breaker.DRAWDOWN: mark_equity(marked("100", "84"), Decimal(84), TUESDAY),
        Breaker.DAILY_LOSS: marked("100", "98"),
        Breaker.REPEATED_EXECUTION: repeats,
        Breaker.CONSECUTIVE_REJECTS: rejects,
        Breaker.OVERFILL: record_overfill(BreakerState()),
    }


@pytest.mark.parametrize("breaker", Breaker)
def test_breaker_stays_tripped_through_restarts_until_a_person_arms_it(breaker: Breaker) -> None:
    state = restarted(tripped_states()[breaker])
    assert list_tripped(state, LIMITS) == (breaker,)
    is_kill = breaker is Breaker.KILL_SWITCH
    expected = TradingState.HALTED if is_kill else TradingState.REDUCING
    assert permitted_state(state, LIMITS) is expected

    for name, reason in (("eve", "let me"), ("", "let me"), ("ada", " ")):  # B24
        with pytest.raises(TradingError, match=r"authorised person|reason must be given"):
            rearm_breaker(state, breaker, by=name, reason=reason, authorised=DESK)
    armed = rearm_breaker(state, breaker, by="ada", reason="looked into it", authorised=DESK)

    assert list_tripped(armed, LIMITS) == ()
    assert permitted_state(armed, LIMITS) is TradingState.ACTIVE


def test_B21_loss_trips_by_mark_gap_and_fee_in_the_same_tick_and_begins_anew_next_day() -> None:
    by_mark = marked("100", "98.000000001", "98", "120")
    assert by_mark.loss_frac == pytest.approx(0.02)
    assert Breaker.DAILY_LOSS in list_tripped(by_mark, LIMITS)

    by_gap = mark_equity(restarted(marked("100")), Decimal(97), TUESDAY)
    assert by_gap.start_ccy == 100  # what Monday ended with
    assert Breaker.DAILY_LOSS in list_tripped(by_gap, LIMITS)

    next_day = mark_equity(by_mark, Decimal(120), TUESDAY)
    assert (next_day.loss_frac, next_day.trades) == (0.0, 0)


def test_drawdown_is_remembered_over_days_and_recoveries() -> None:
    state = marked("100", "120", "102")  # 15 % below 120
    state = mark_equity(restarted(state), Decimal(119), TUESDAY)

    assert list_tripped(state, LIMITS) == (Breaker.DRAWDOWN,)
    armed = rearm_breaker(state, Breaker.DRAWDOWN, by="ada", reason="seen", authorised=DESK)
    assert armed.peak_ccy == 119  # it counts from the equity of now
    assert list_tripped(mark_equity(armed, Decimal(102), TUESDAY), LIMITS) == ()
    assert list_tripped(mark_equity(armed, Decimal(101), TUESDAY), LIMITS) == (Breaker.DRAWDOWN,)


@pytest.mark.parametrize("wrong", ["NaN", "Infinity", "-Infinity"])
def test_equity_that_is_no_number_counts_as_lost(wrong: str) -> None:
    state = mark_equity(marked("100"), Decimal(wrong), MONDAY)
    assert list_tripped(restarted(state), LIMITS) == (Breaker.DRAWDOWN, Breaker.DAILY_LOSS)
    assert list_tripped(marked("0"), LIMITS)


def test_bucket_refills_with_time_and_not_by_a_clock_that_goes_back() -> None:
    state = BreakerState()
    for _ in range(30):
        state = use_message(state, LIMITS, AT)

    assert count_messages(state, LIMITS, AT + timedelta(seconds=5)) == 15.0
    assert count_messages(state, LIMITS, AT - timedelta(hours=5)) == 30.0
    assert count_messages(state, LIMITS, AT + timedelta(hours=5)) == 0.0
    earlier = use_message(state, LIMITS, AT - timedelta(hours=5))
    assert count_messages(earlier, LIMITS, AT) == 31.0


def test_old_content_and_executions_are_forgotten() -> None:
    state = record_approval(BreakerState(), LIMITS, wanted(), 1_000.0, AT)
    later = AT + timedelta(seconds=61)

    assert len(record_approval(state, LIMITS, wanted(1), 1_000.0, later).sent) == 1
    spread = BreakerState()
    for minute in range(40):
        at = AT + timedelta(minutes=2 * minute)
        spread = record_execution(spread, LIMITS, "SPY buy", at, is_first=False)
    assert not spread.is_repeating
    assert spread.trades == 0


def test_B06_fill_ends_a_row_of_rejections_unless_it_tripped() -> None:
    short, key = BreakerState(rejects=LIMITS.max_rejects - 1), "SPY buy"
    tripped = tripped_states()[Breaker.CONSECUTIVE_REJECTS]

    assert record_execution(short, LIMITS, key, AT, is_first=True).rejects == 0
    after = record_execution(tripped, LIMITS, key, AT, is_first=True)
    assert list_tripped(after, LIMITS) == (Breaker.CONSECUTIVE_REJECTS,)


def test_a_day_begins_once_and_never_again() -> None:
    state = record_execution(marked("100", "99"), LIMITS, "SPY buy", AT, is_first=True)
    began = start_day(state, TUESDAY)

    assert (state.trades, began.trades) == (1, 0)
    assert began.start_ccy == Decimal(99)
    assert start_day(state, MONDAY) == state  # it is that day
    later = record_execution(began, LIMITS, "SPY buy", AT, is_first=True)
    assert mark_equity(later, Decimal(99), TUESDAY).trades == 1
    assert start_day(later, MONDAY) == later  # a fill that is told late


@pytest.mark.parametrize("name", ["ada", "", "anybody"])
def test_B24_nobody_arms_where_nobody_was_authorised(name: str) -> None:
    state = tripped_states()[Breaker.OVERFILL]
    with pytest.raises(TradingError, match="only an authorised person"):
        rearm_breaker(state, Breaker.OVERFILL, by=name, reason="sure", authorised=frozenset())


def test_throttled_orders_trip_after_so_many_in_a_row() -> None:
    state = BreakerState()
    for _ in range(LIMITS.max_throttled - 1):
        state = record_throttled(state, LIMITS)
    assert not state.is_repeating
    assert record_throttled(state, LIMITS).is_repeating


def test_state_is_tightened_freely_and_loosened_by_name() -> None:
    state = set_trading_state(BreakerState(), TradingState.REDUCING, reason="drill")
    with pytest.raises(TradingError, match="loosened under a name"):
        set_trading_state(state, TradingState.ACTIVE, reason="over")
    again = set_trading_state(state, TradingState.ACTIVE, reason="over", authorised_by="ada")
    assert again == BreakerState()
    with pytest.raises(TradingError, match="reason"):
        press_kill_switch(state, " ")


def test_state_with_a_field_missing_or_unreadable_is_refused() -> None:
    plain = as_plain_values(tripped_states()[Breaker.DRAWDOWN])
    for name in plain:
        with pytest.raises(TradingError, match="every field must be there"):
            read_breakers({key: value for key, value in plain.items() if key != name})
    for wrong in ({"surprise": 1}, {"peak_ccy": "much"}, {"drawdown_frac": None}):
        with pytest.raises(TradingError, match=r"must be"):
            read_breakers({**plain, **wrong})
