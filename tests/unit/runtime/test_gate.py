"""Every control through the gate: below, at and above its limit, after a restart, no way around."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from fixtures.order_records import AT
from fixtures.session_orders import ACCOUNT, ASSET, EQUITY, known, quiet_gate, sale, wanted
from tradingbot.domain.denial import Denial, SessionDenial
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderType, Side
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.domain.trading_state import TradingState
from tradingbot.risk.gate import OrderDenial
from tradingbot.risk.limits import SESSION_RISK, RiskLimits, SessionLimits
from tradingbot.runtime.approval import Approval, require_seal
from tradingbot.runtime.breaker import (
    BreakerState,
    mark_equity,
    press_kill_switch,
    read_breakers,
    record_execution,
    record_overfill,
    record_rejection,
    set_trading_state,
)
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.order_book import OrderBook, open_order
from tradingbot.runtime.order_facts import OrderContext

D = SessionDenial
LIMITS = SessionLimits()
Change = Callable[[SessionGate], None]


@dataclass(frozen=True)
class Try:
    """One order against one state of the session."""

    context: dict[str, Any] = field(default_factory=dict)
    intent: dict[str, Any] = field(default_factory=dict)
    setup: Change | None = None
    limits: SessionLimits | None = LIMITS
    risk: RiskLimits | None = SESSION_RISK

    def judge(self, *, restarted: bool = False) -> Approval | OrderDenial:
        gate = quiet_gate(session_limits=self.limits, limits=self.risk)
        if self.setup is not None:
            self.setup(gate)
        if restarted:
            gate = restart(gate)
        return gate.judge(wanted(60, **self.intent), known(AT + timedelta(hours=1), **self.context))


def restart(gate: SessionGate) -> SessionGate:
    """Return the gate as another process makes it from what was written."""
    written = json.dumps(as_plain_values(gate.breakers))
    book = OrderBook()
    for order in gate.book.orders.values():
        book.add(order)
    state = read_breakers(json.loads(written))
    assert state == gate.breakers
    return SessionGate(book, state, gate.limits, gate.session_limits, dict(gate.prices))


def breakers(change: Callable[[BreakerState], BreakerState]) -> Change:
    def apply(gate: SessionGate) -> None:
        gate.breakers = change(gate.breakers)

    return apply


def equity(*values: str) -> Change:
    def apply(gate: SessionGate) -> None:
        for value in values:
            gate.breakers = mark_equity(gate.breakers, Decimal(value), AT.date())

    return apply


def rejected(times: int) -> Change:
    return breakers(lambda state: _repeat(state, times, record_rejection))


def executed(times: int) -> Change:
    def once(state: BreakerState) -> BreakerState:
        return record_execution(state, LIMITS, "SPY buy", AT, is_first=True)

    return breakers(lambda state: _repeat(state, times, once))


def _repeat(
    state: BreakerState, times: int, once: Callable[[BreakerState], BreakerState]
) -> BreakerState:
    for _ in range(times):
        state = once(state)
    return state


def sent(status: OrderStatus, *, minutes: int = 0, price: float = 100.0, **fields_: Any) -> Change:
    """An earlier order, in some state."""

    def apply(gate: SessionGate) -> None:
        earlier = open_order(wanted(minutes, **fields_))
        gate.book.add(earlier)
        gate.prices[earlier.client_order_id] = price
        if status is not OrderStatus.APPROVED:
            gate.book.move(earlier.client_order_id, OrderStatus.SUBMITTED)
        if status is OrderStatus.ACCEPTED:
            gate.book.move(earlier.client_order_id, OrderStatus.ACCEPTED)

    return apply


def asset(**changes: bool) -> dict[str, Any]:
    return {"asset": replace(ASSET, **changes)}


def limits(**changes: Any) -> SessionLimits:
    return replace(LIMITS, **changes)


FEW = replace(ACCOUNT, buying_power_ccy=Decimal(1_000))


def limit_order(price: str) -> dict[str, Any]:
    return {"order_type": OrderType.LIMIT, "limit_price": Decimal(price)}


LONG = {"held_units": 50.0, "entry_price": 100.0, "held_values_ccy": {"SPY": 5_000.0}}
WAITING = sent(OrderStatus.ACCEPTED, units="50")
CASES: list[tuple[Any, Try, Try]] = [
    # code, the closest that passes, the closest that is denied
    (D.LIMIT_MISSING, Try(), Try(limits=None)),
    (D.LIMIT_MISSING, Try(), Try(risk=None)),
    (D.KILL_SWITCH, Try(), Try(setup=breakers(lambda s: press_kill_switch(s, "drill")))),
    (
        D.SESSION_HALTED,
        Try(),
        Try(setup=breakers(lambda s: set_trading_state(s, TradingState.HALTED, reason="by hand"))),
    ),
    (
        D.REDUCING_ONLY,
        Try(),
        Try(
            setup=breakers(lambda s: set_trading_state(s, TradingState.REDUCING, reason="by hand"))
        ),
    ),
    (D.ACCOUNT_BLOCKED, Try(), Try({"account": replace(ACCOUNT, is_blocked=True)})),
    (
        D.SYMBOL_RESTRICTED,
        Try(limits=limits(restricted_symbols=("QQQ",))),
        Try(limits=limits(restricted_symbols=("QQQ", "SPY"))),
    ),
    (D.ASSET_NOT_TRADABLE, Try(asset()), Try(asset(tradable=False))),  # type: ignore[call-arg]
    (D.ASSET_HALTED, Try(asset()), Try(asset(halted=True))),
    (
        D.MARKET_CLOSED,
        Try({"market_is_closed": True, "seconds_to_close": None}),
        Try({"market_is_closed": True}, limits=limits(queue_when_closed=False)),
    ),
    # The same id: a decision that is sent again, whatever became of it.
    (
        D.DUPLICATE_ORDER,
        Try(setup=sent(OrderStatus.ACCEPTED, minutes=59)),
        Try(setup=sent(OrderStatus.ACCEPTED, minutes=60)),
    ),
    (
        D.UNANSWERED_ORDER,
        Try(setup=sent(OrderStatus.ACCEPTED)),
        Try(setup=sent(OrderStatus.SUBMITTED)),
    ),
    (
        D.SELF_CROSS,
        Try(setup=sent(OrderStatus.ACCEPTED)),
        Try(setup=sent(OrderStatus.ACCEPTED, side=Side.SELL)),
    ),
    (
        D.MAX_QUANTITY,
        Try(limits=limits(max_quantity_units=10.0)),
        Try(intent={"units": "10.000000001"}, limits=limits(max_quantity_units=10.0)),
    ),
    (  # B17, B18: a number with three zeros too many
        D.MAX_QUANTITY,
        Try(),
        Try(intent={"units": "1000000000000"}),
    ),
    (
        D.MIN_QUANTITY,
        Try(intent={"units": "0.5"}, limits=limits(min_quantity_units=0.5)),
        Try(intent={"units": "0.499999999"}, limits=limits(min_quantity_units=0.5)),
    ),
    (
        D.QUANTITY_PRECISION,
        Try(asset(fractionable=False)),
        Try(asset(fractionable=False), {"units": "10.5"}),
    ),
    (
        D.PRICE_TICK,
        Try(intent=limit_order("100.01")),
        Try(intent=limit_order("100.011")),
    ),
    (
        D.ORDER_NOTIONAL,
        Try(limits=limits(max_order_ccy=1_000.0)),
        Try(intent={"units": "10.01"}, limits=limits(max_order_ccy=1_000.0)),
    ),
    (
        D.MESSAGE_RATE,
        Try(limits=limits(message_burst=1)),
        Try(
            setup=breakers(
                lambda s: replace(s, messages_used=1.0, messages_at=AT + timedelta(hours=1))
            ),
            limits=limits(message_burst=1),
        ),
    ),
    (D.STALE_PRICE, Try({"last_price_age_s": 90.0}), Try({"last_price_age_s": 90.1})),
    (D.STALE_PRICE, Try({"last_price_age_s": 0.0}), Try({"last_price_age_s": -0.1})),
    (D.PRICE_COLLAR, Try(intent=limit_order("105")), Try(intent=limit_order("105.01"))),
    (D.QUOTE_CROSSED, Try({"quote_is_crossed": False}), Try({"quote_is_crossed": True})),
    (D.QUOTE_OLD, Try({"quote_age_s": 60.0}), Try({"quote_age_s": 60.1})),
    (D.QUOTE_OLD, Try({"quote_age_s": -60.0}), Try({"quote_age_s": -60.1})),
    (D.QUOTE_WIDE, Try({"spread_frac": 0.02}), Try({"spread_frac": 0.0201})),
    (D.PRICE_JUMP, Try({"previous_price": 200.0}), Try({"previous_price": 200.5})),
    (D.PRICE_JUMP, Try(), Try({"previous_price": 0.0})),
    (
        D.CRITICAL_DRAWDOWN,
        Try(setup=equity("110000", "99900")),
        Try(setup=equity("125000", "100000")),
    ),
    # 15 % below the peak; equity came back since, which changes nothing
    (
        D.DRAWDOWN,
        Try(setup=equity("100000", "98500")),
        Try(setup=equity("117647.06", "100000")),
    ),
    (
        D.DAILY_LOSS,
        Try(setup=equity("98000.01")),
        Try(setup=equity("98000", "100000")),
    ),
    (
        D.TRADE_COUNT,
        Try(setup=breakers(lambda s: replace(s, trades=99))),
        Try(setup=breakers(lambda s: replace(s, trades=100))),
    ),
    (
        D.TRADE_COUNT,
        Try(setup=sent(OrderStatus.ACCEPTED), limits=limits(max_trades=2)),
        Try(setup=sent(OrderStatus.ACCEPTED), limits=limits(max_trades=1)),
    ),
    (D.REPEATED_EXECUTION, Try(setup=executed(10)), Try(setup=executed(11))),
    (D.CONSECUTIVE_REJECTS, Try(setup=rejected(4)), Try(setup=rejected(5))),
    (D.OVERFILL, Try(), Try(setup=breakers(record_overfill))),
    (D.JOURNAL_UNAVAILABLE, Try(), Try({"journal_is_down": True})),
    (D.BROKER_DISCONNECTED, Try({"disconnected_s": 10.0}), Try({"disconnected_s": 10.1})),
    (D.CLOCK_SKEW, Try({"clock_skew_s": 1.0}), Try({"clock_skew_s": -1.1})),
    (D.POSITION_DRIFT, Try(), Try({"position_drift_units": 1e-9})),
    (D.MODEL_UNHEALTHY, Try(), Try({"model_is_unhealthy": True})),
    (D.LOW_CONFIDENCE, Try(intent={"confidence": 0.6}), Try(intent={"confidence": 0.59})),
    (D.LOW_CONFIDENCE, Try(), Try(intent={"confidence": None})),
    (D.AUCTION_CUTOFF, Try({"seconds_to_close": 60.0}), Try({"seconds_to_close": 59.0})),
    (
        D.NOT_SHORTABLE,
        Try(asset(), {"side": Side.SELL}, risk=replace(SESSION_RISK, allow_short=True)),
        Try(
            asset(shortable=False),
            {"side": Side.SELL},
            risk=replace(SESSION_RISK, allow_short=True),
        ),
    ),
    (
        D.STOP_LOSS,
        Try(LONG | {"entry_price": 105.26}),
        Try(LONG | {"entry_price": 105.27}),
    ),
    (
        D.VOLUME_SHARE,
        Try({"day_volume_units": 200.0}),
        Try({"day_volume_units": 199.0}),
    ),
    (
        D.NOTIONAL_WINDOW,
        Try(
            setup=breakers(lambda s: replace(s, sent=(("x", AT + timedelta(hours=1), 199_000.0),)))
        ),
        Try(
            setup=breakers(lambda s: replace(s, sent=(("x", AT + timedelta(hours=1), 199_001.0),)))
        ),
    ),
    (
        D.CORRELATED_EXPOSURE,
        Try({"correlated_exposure_frac": 0.7}),
        Try({"correlated_exposure_frac": 0.71}),
    ),
    (
        D.GROSS_EXPOSURE,
        Try({"held_values_ccy": {"QQQ": 50_000.0, "IWM": -49_000.0}}),
        Try({"held_values_ccy": {"QQQ": 50_000.0, "IWM": -49_001.0}}),
    ),
    (
        D.NET_EXPOSURE,
        Try({"held_values_ccy": {"QQQ": 49_000.0}}, limits=limits(max_net_frac=0.5)),
        Try({"held_values_ccy": {"QQQ": 49_001.0}}, limits=limits(max_net_frac=0.5)),
    ),
    (
        D.LEVERAGE,
        Try({"held_values_ccy": {"QQQ": 49_000.0}}, limits=limits(max_leverage=0.5)),
        Try({"held_values_ccy": {"QQQ": 49_001.0}}, limits=limits(max_leverage=0.5)),
    ),
    (
        D.BUYING_POWER,
        Try({"account": replace(ACCOUNT, buying_power_ccy=Decimal(1_000))}),
        Try({"account": replace(ACCOUNT, buying_power_ccy=Decimal("999.99"))}),
    ),
    # Orders that are approved and not sent use it up; those that the venue has are in its number
    (
        D.BUYING_POWER,
        Try({"account": FEW}, setup=sent(OrderStatus.ACCEPTED, units="30", symbol="QQQ")),
        Try({"account": FEW}, setup=sent(OrderStatus.APPROVED, units="30", symbol="QQQ")),
    ),
    (
        D.BUYING_POWER,
        Try(
            {"account": FEW, "held_values_ccy": {"QQQ": 3_000.0}},
            setup=sent(OrderStatus.APPROVED, units="30", symbol="QQQ", side=Side.SELL),
        ),
        Try(
            {"account": FEW, "held_values_ccy": {"QQQ": 2_999.0}},
            setup=sent(OrderStatus.APPROVED, units="30", symbol="QQQ", side=Side.SELL),
        ),
    ),
    (
        D.OPEN_ORDERS,
        Try(setup=WAITING, limits=limits(max_open_order_frac=0.06)),
        Try(setup=WAITING, limits=limits(max_open_order_frac=0.0599)),
    ),
    # Rules of an order, with open orders counted as if they had filled
    (Denial.UNKNOWN_VALUE, Try(), Try(LONG | {"equity_ccy": None}, {"side": Side.SELL})),
    (Denial.STALE_DATA, Try(), Try({"stale_bars": 1.0})),
    (Denial.SHORT_NOT_ALLOWED, Try(LONG, {"side": Side.SELL}), Try(intent={"side": Side.SELL})),
    (
        Denial.MAX_ORDER_VALUE,
        Try(risk=replace(SESSION_RISK, max_order_frac=0.01)),
        Try(risk=replace(SESSION_RISK, max_order_frac=0.0099)),
    ),
    (Denial.MAX_POSITION, Try(intent={"units": "100"}), Try(intent={"units": "100.01"})),
    (
        Denial.MAX_POSITION,
        Try(intent={"units": "50"}, setup=WAITING),
        Try(intent={"units": "50.01"}, setup=WAITING),
    ),
    (
        Denial.CASH_RESERVE,
        Try({"cash_ccy": 6_000.0}, setup=WAITING),
        Try({"cash_ccy": 5_999.0}, setup=WAITING),
    ),
    (
        Denial.MARGIN,
        Try(
            {"cash_ccy": 501.0},
            {"side": Side.SELL},
            risk=replace(SESSION_RISK, allow_short=True),
        ),
        Try(
            {"cash_ccy": 499.0},
            {"side": Side.SELL},
            risk=replace(SESSION_RISK, allow_short=True),
        ),
    ),
    (Denial.MIN_TRADE_VALUE, Try(intent={"units": "0.25"}), Try(intent={"units": "0.249"})),
]


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize(
    ("code", "within", "beyond"), CASES, ids=[f"{case[0].name}-{i}" for i, case in enumerate(CASES)]
)
def test_control_passes_at_its_limit_and_denies_beyond_it(
    code: SessionDenial | Denial, within: Try, beyond: Try, restarted: bool
) -> None:
    denial = beyond.judge(restarted=restarted)

    assert isinstance(denial, OrderDenial)
    assert denial.code is code
    assert denial.words.startswith(f"{code.name}: limit=")
    passed = within.judge(restarted=restarted)
    assert isinstance(passed, Approval), passed
    assert require_seal(passed).confidence == within.intent.get("confidence", 0.9)


def test_every_code_has_a_case() -> None:
    # The session's own state of trading is SESSION_HALTED; TRADING_HALTED is that of a simulation.
    needed = {*SessionDenial, *Denial} - {Denial.NONE, Denial.TRADING_HALTED}
    assert {case[0] for case in CASES} == needed
    assert len(SessionDenial) + len(Denial) - 1 >= 25


@pytest.mark.parametrize("name", [f.name for f in fields(OrderContext) if f.name != "at"])
def test_B23_what_is_not_known_is_denied(name: str) -> None:
    for unknown in (None, math.nan):
        if unknown is not None and name in ("account", "asset", "held_values_ccy"):
            continue
        # An entry price is asked for where something is held.
        base = LONG if name == "entry_price" else {}
        intent = {"side": Side.SELL} if name == "asset" else {}
        assert isinstance(Try(base | {name: unknown}, intent).judge(), OrderDenial), name


@pytest.mark.parametrize("name", [each.name for each in fields(SessionLimits)])
def test_B23_limit_that_is_no_number_denies_everything(name: str) -> None:
    for wrong in (None, math.nan):
        broken = replace(LIMITS)
        object.__setattr__(broken, name, wrong)
        denial = Try(limits=broken).judge()
        assert isinstance(denial, OrderDenial)
        assert denial.code is D.LIMIT_MISSING


def test_facts_that_cannot_be_put_together_deny() -> None:
    denial = Try({"mark": "cheap"}).judge()

    assert isinstance(denial, OrderDenial)
    assert "ValueError" in denial.words


def test_approved_order_counts_at_once() -> None:
    gate = quiet_gate()
    assert isinstance(gate.judge(wanted(0, units="60"), known()), Approval)

    second = gate.judge(wanted(1, units="61"), known())
    assert isinstance(second, OrderDenial)
    assert second.words == "MAX_POSITION: limit=10000 observed=12100"


def test_two_sales_do_not_sell_what_is_held_once() -> None:
    gate = quiet_gate()
    held = LONG | {"held_units": 10.0, "held_values_ccy": {"SPY": 1_000.0}}
    assert isinstance(gate.judge(sale(0), known(**held)), Approval)

    again = gate.judge(sale(1, units="9"), known(**held))
    assert isinstance(again, OrderDenial)
    assert again.code is Denial.SHORT_NOT_ALLOWED


def test_B20_same_content_within_the_window_is_a_duplicate_whatever_its_id() -> None:
    gate = quiet_gate()
    soon, later = AT + timedelta(seconds=5), AT + timedelta(seconds=5.1)
    assert isinstance(gate.judge(wanted(0), known()), Approval)

    denial = gate.judge(wanted(1), known(soon))
    assert isinstance(denial, OrderDenial)
    assert denial.code is D.DUPLICATE_ORDER
    assert isinstance(gate.judge(wanted(1), known(later)), Approval)


def test_B18_order_cut_into_parts_is_held_by_the_sum_of_the_window() -> None:
    gate = quiet_gate(
        session_limits=limits(max_window_frac=0.05, max_open_order_frac=9.0),
        limits=replace(SESSION_RISK, max_position_frac=1.0),
    )
    parts = [
        gate.judge(wanted(n, units=f"10.{n + 1}"), known(AT + timedelta(seconds=n)))
        for n in range(20)
    ]

    passed = [each for each in parts if isinstance(each, Approval)]
    assert len(passed) == 4
    denied = [each for each in parts if isinstance(each, OrderDenial)]
    assert {each.code for each in denied} == {D.NOTIONAL_WINDOW}


def test_B19_flood_of_orders_is_throttled_and_then_disabled_for_good() -> None:
    gate = quiet_gate(
        session_limits=limits(message_burst=20, max_throttled=50, max_open_order_frac=9.0),
        limits=replace(SESSION_RISK, max_position_frac=1.0, min_trade_ccy=0.0),
    )
    answers = [
        gate.judge(wanted(n, units=f"0.0{n + 1:05d}"), known(AT + timedelta(microseconds=100 * n)))
        for n in range(400)
    ]
    codes = [each.code for each in answers if isinstance(each, OrderDenial)]

    assert len(answers) - len(codes) == 20
    assert set(codes) == {D.MESSAGE_RATE}
    # An hour later the bucket is full, and the breaker still holds.
    denial = restart(gate).judge(wanted(500), known(AT + timedelta(hours=1)))
    assert isinstance(denial, OrderDenial)
    assert denial.code is D.REPEATED_EXECUTION


def test_B22_kill_switch_voids_what_was_approved_and_not_sent() -> None:
    gate = quiet_gate()
    approved = gate.judge(wanted(0), known())
    assert isinstance(approved, Approval)
    require_seal(approved)

    gate.press_kill_switch("seen from outside")
    gate.press_kill_switch("pressed twice")

    with pytest.raises(TradingError, match="seal"):
        require_seal(approved)
    held = known(AT + timedelta(seconds=9), **LONG)
    for order in (wanted(1), sale(2)):  # also what reduces
        denial = restart(gate).judge(order, held)
        assert isinstance(denial, OrderDenial)
        assert denial.code is D.KILL_SWITCH
    assert gate.breakers.kill_reason == "seen from outside"


def test_tripped_session_still_reduces() -> None:
    gate = quiet_gate()
    equity("80000")(gate)
    gate.breakers = _repeat(gate.breakers, 9, record_rejection)
    gate.breakers = record_overfill(gate.breakers)
    held = known(**LONG, disconnected_s=99.0, journal_is_down=True, position_drift_units=3.0)

    assert isinstance(gate.judge(sale(0, units="50"), held), Approval)
    denial = gate.judge(wanted(1), held)
    assert isinstance(denial, OrderDenial)


def test_denial_leaves_nothing_behind() -> None:
    gate = quiet_gate()
    before = gate.breakers
    assert isinstance(gate.judge(wanted(confidence=0.1), known()), OrderDenial)

    assert gate.breakers == before
    assert not gate.book.orders


def test_judging_takes_well_under_a_millisecond() -> None:
    gate = quiet_gate()
    times = []
    for number in range(50):
        order, context = wanted(number, confidence=0.1), known()
        began = time.perf_counter()
        gate.judge(order, context)
        times.append(time.perf_counter() - began)

    assert sorted(times)[5] < 2e-3  # the fastest tenth: other programs of the machine slow the rest


def test_equity_of_the_fixture_is_the_start_of_the_day() -> None:
    assert quiet_gate().breakers.start_ccy == EQUITY


@pytest.mark.parametrize("units", ["0", "-1", "1e-12", "NaN"])
def test_B17_units_that_cannot_be_are_no_intent(units: str) -> None:
    with pytest.raises(TradingError, match="quantity_units"):
        wanted(units=units)


@pytest.mark.parametrize(
    ("fields_", "code"),
    [
        ({"units": "1e12"}, {D.MAX_QUANTITY}),
        ({"order_type": OrderType.LIMIT, "limit_price": Decimal("100.001")}, {D.PRICE_TICK}),
    ],
)
def test_B17_units_and_prices_that_no_venue_takes_are_denied(
    fields_: dict[str, Any], code: set[SessionDenial]
) -> None:
    denial = quiet_gate().judge(wanted(**fields_), known())

    assert isinstance(denial, OrderDenial)
    assert denial.code in code


def test_B22_order_that_was_answered_is_not_sealed_again() -> None:
    gate, asked = quiet_gate(), wanted()
    assert isinstance(gate.judge(asked, known()), Approval)
    with pytest.raises(TradingError, match="must lack its answer"):
        gate.approve_again(asked.client_order_id)
    gate.book.move(asked.client_order_id, OrderStatus.SUBMITTED)
    assert gate.approve_again(asked.client_order_id).intent == asked
    gate.book.move(asked.client_order_id, OrderStatus.ACCEPTED)
    with pytest.raises(TradingError, match="must lack its answer"):
        gate.approve_again(asked.client_order_id)
