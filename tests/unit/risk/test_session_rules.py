"""Session rules as live trading will use them; without facts they cost the simulator nothing."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.order_records import AT, intent
from tradingbot.domain.denial import Denial, SessionDenial
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.order import Order, OrderStatus, move_order
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.domain.position import Fill, Position, apply_fill
from tradingbot.risk import RiskLimits, SessionLimits
from tradingbot.risk.gate import explain_session, find_denial, judge, judge_session
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES

D = SessionDenial
RISK = RiskLimits(max_position_frac=1.0, min_trade_ccy=0.0, allow_short=True)
LIMITS = SessionLimits(max_trades=100, price_collar_frac=0.05, max_price_age_s=90.0)
PASSES = dict.fromkeys(SessionFacts._fields, 0.0) | {
    "order_is_duplicate": 0.0,
    "limit_price": 100.0,
    "last_price": 100.0,
    "last_price_age_s": 1.0,
    "loss_today_frac": 0.0,
    "trades_today": 0.0,
    "confidence": 0.9,
    "correlated_exposure_frac": 0.1,
    "open_order_value_ccy": 0.0,
    "seconds_to_close": 3_600.0,
    "day_volume_units": 1e6,
    "start_equity_ccy": 10_000.0,
    "buying_power_ccy": 10_000.0,
}
CASES = [
    # rule, facts at the limit that pass, facts just beyond
    (D.DUPLICATE_ORDER, {"order_is_duplicate": 0.0}, {"order_is_duplicate": 1.0}),
    (D.STALE_PRICE, {"last_price_age_s": 90.0}, {"last_price_age_s": 90.001}),
    (D.STALE_PRICE, {"last_price_age_s": 0.0}, {"last_price_age_s": -0.001}),  # from the future
    (D.PRICE_COLLAR, {"limit_price": 105.0}, {"limit_price": 105.01}),
    (D.PRICE_COLLAR, {"limit_price": 95.0}, {"limit_price": 94.99}),
    (D.PRICE_COLLAR, {}, {"limit_price": 0.03, "last_price": 0.03}),  # the tape fell by 99.97 %
    (D.PRICE_COLLAR, {}, {"last_price": 0.0}),
    (D.QUOTE_CROSSED, {"quote_is_crossed": 0.0}, {"quote_is_crossed": 1.0}),
    (D.QUOTE_OLD, {"quote_age_s": 60.0}, {"quote_age_s": 60.001}),
    (D.QUOTE_OLD, {"quote_age_s": -60.0}, {"quote_age_s": -60.001}),  # from the future
    (D.QUOTE_WIDE, {"spread_frac": 0.02}, {"spread_frac": 0.0201}),
    (D.DAILY_LOSS, {"loss_today_frac": 0.0199}, {"loss_today_frac": 0.02}),
    (D.DAILY_LOSS, {"loss_today_frac": -0.5}, {"loss_today_frac": 0.5}),
    (D.TRADE_COUNT, {"trades_today": 99.0}, {"trades_today": 100.0}),
    (D.LOW_CONFIDENCE, {"confidence": 0.6}, {"confidence": 0.59}),
    (
        D.CORRELATED_EXPOSURE,
        {"correlated_exposure_frac": 0.7},
        {"correlated_exposure_frac": 0.701},
    ),
    # equity 10,000 · 0.3; the order itself is worth 500
    (D.OPEN_ORDERS, {"open_order_value_ccy": 2_500.0}, {"open_order_value_ccy": 2_501.0}),
    (D.LIMIT_MISSING, {"missing_limits": 0.0}, {"missing_limits": 1.0}),
    (D.KILL_SWITCH, {"kill_switch": 0.0}, {"kill_switch": 1.0}),
    (D.SESSION_HALTED, {"trading_state": 0.0}, {"trading_state": 2.0}),
    (D.REDUCING_ONLY, {"trading_state": 0.0}, {"trading_state": 1.0}),
    (D.ACCOUNT_BLOCKED, {"account_is_blocked": 0.0}, {"account_is_blocked": 1.0}),
    (D.SYMBOL_RESTRICTED, {"symbol_is_restricted": 0.0}, {"symbol_is_restricted": 1.0}),
    (D.ASSET_NOT_TRADABLE, {"asset_is_untradable": 0.0}, {"asset_is_untradable": 1.0}),
    (D.ASSET_HALTED, {"asset_is_halted": 0.0}, {"asset_is_halted": 1.0}),
    (D.MARKET_CLOSED, {"market_is_closed": 0.0}, {"market_is_closed": 1.0}),
    (D.UNANSWERED_ORDER, {"unanswered_orders": 0.0}, {"unanswered_orders": 1.0}),
    (D.SELF_CROSS, {"opposite_open_units": 0.0}, {"opposite_open_units": 1e-9}),
    (D.MAX_QUANTITY, {"order": 6.0}, {"order": 6.001}),
    (D.MIN_QUANTITY, {"order": 0.5}, {"order": 0.499}),
    (D.ORDER_NOTIONAL, {"order": 5.5}, {"order": 5.501}),
    (D.QUANTITY_PRECISION, {}, {"quantity_remainder_units": 0.5}),
    (D.PRICE_TICK, {}, {"price_remainder_ccy": 0.003}),
    (D.MESSAGE_RATE, {"messages_used": 199.0}, {"messages_used": 199.001}),
    (D.PRICE_JUMP, {"price_jump_frac": 0.5}, {"price_jump_frac": 0.501}),
    (D.PRICE_JUMP, {}, {"price_jump_frac": 0.9997}),  # D18
    (D.CRITICAL_DRAWDOWN, {"drawdown_frac": 0.1499}, {"drawdown_frac": 0.2}),
    (D.DRAWDOWN, {"drawdown_frac": 0.1499}, {"drawdown_frac": 0.15}),
    (D.DRAWDOWN, {"drawdown_frac": 0.1499}, {"drawdown_frac": 0.1999}),
    (D.REPEATED_EXECUTION, {"repeated_executions": 0.0}, {"repeated_executions": 1.0}),
    (D.CONSECUTIVE_REJECTS, {"rejects_in_a_row": 4.0}, {"rejects_in_a_row": 5.0}),
    (D.OVERFILL, {"overfills": 0.0}, {"overfills": 1.0}),
    (D.JOURNAL_UNAVAILABLE, {"journal_is_down": 0.0}, {"journal_is_down": 1.0}),
    (D.BROKER_DISCONNECTED, {"disconnected_s": 10.0}, {"disconnected_s": 10.001}),
    (D.CLOCK_SKEW, {"clock_skew_s": -1.0}, {"clock_skew_s": -1.001}),
    (D.CLOCK_SKEW, {"clock_skew_s": 1.0}, {"clock_skew_s": 1.001}),
    (D.POSITION_DRIFT, {"position_drift_units": 0.0}, {"position_drift_units": -1e-9}),
    (D.MODEL_UNHEALTHY, {"model_is_unhealthy": 0.0}, {"model_is_unhealthy": 1.0}),
    (D.AUCTION_CUTOFF, {"seconds_to_close": 60.0}, {"seconds_to_close": 59.9}),
    (D.NOT_SHORTABLE, {"asset_is_unshortable": 1.0}, {"asset_is_unshortable": 1.0, "order": -5.0}),
    (D.STOP_LOSS, {"position_loss_frac": 0.0499}, {"position_loss_frac": 0.05}),
    (D.VOLUME_SHARE, {"day_volume_units": 100.0}, {"day_volume_units": 99.9}),
    (D.NOTIONAL_WINDOW, {"window_value_ccy": 19_500.0}, {"window_value_ccy": 19_501.0}),
    (D.GROSS_EXPOSURE, {"gross_exposure_ccy": 10_000.0}, {"gross_exposure_ccy": 10_001.0}),
    (D.NET_EXPOSURE, {"net_exposure_ccy": -10_000.0}, {"net_exposure_ccy": -10_001.0}),
    (
        D.LEVERAGE,
        {"gross_exposure_ccy": 20_000.0, "start_equity_ccy": 90_000.0},
        {"gross_exposure_ccy": 20_001.0, "start_equity_ccy": 90_000.0},
    ),
    (D.BUYING_POWER, {"buying_power_ccy": 500.0}, {"buying_power_ccy": 499.0}),
]
JUDGE_REDUCING = {
    *(D.DUPLICATE_ORDER, D.STALE_PRICE, D.PRICE_COLLAR, D.LIMIT_MISSING, D.KILL_SWITCH),
    *(D.SESSION_HALTED, D.ACCOUNT_BLOCKED, D.SYMBOL_RESTRICTED, D.ASSET_NOT_TRADABLE),
    *(D.ASSET_HALTED, D.MARKET_CLOSED, D.UNANSWERED_ORDER, D.SELF_CROSS, D.MAX_QUANTITY),
    *(D.MIN_QUANTITY, D.QUANTITY_PRECISION, D.PRICE_TICK, D.ORDER_NOTIONAL, D.MESSAGE_RATE),
    *(D.PRICE_JUMP, D.CRITICAL_DRAWDOWN),
}
SIZES = {
    # Limits small enough that an order of a few units is at them.
    D.MAX_QUANTITY: SessionLimits(max_quantity_units=6.0),
    D.MIN_QUANTITY: SessionLimits(min_quantity_units=0.5),
    D.ORDER_NOTIONAL: SessionLimits(max_order_ccy=550.0),
    D.MARKET_CLOSED: SessionLimits(queue_when_closed=False),
}


def one(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)


def view(order: float = 5.0, units: float = 0.0, **facts: float | None) -> OrderView:
    """Return an order that passes, but for these facts; None is a fact that is not kept."""
    given: dict[str, float | None] = PASSES | facts  # type: ignore[assignment]
    kept = {name: None if given[name] is None else one(given[name]) for name in PASSES}
    return OrderView(
        *(one(x) for x in (order, units, 100.0, 10_000.0, 10_000.0)),
        *(torch.zeros(1, dtype=torch.int32) for _ in range(2)),
        SessionFacts(**kept),
    )


def judged(order_view: OrderView, limits: SessionLimits = LIMITS) -> int:
    return int(judge_session(limits, order_view))


def in_plain_numbers(order_view: OrderView) -> OrderView:
    """Return the same order in plain numbers, as a session judges it."""
    *numbers, facts = order_view
    assert isinstance(facts, SessionFacts)
    plain = [None if fact is None else np.float64(fact.item()) for fact in facts]
    return OrderView(*(np.float64(x.item()) for x in numbers), SessionFacts(*plain))


@pytest.mark.parametrize(("code", "within", "beyond"), CASES)
def test_rule_at_its_limit_passes_and_beyond_it_denies(
    code: SessionDenial, within: dict[str, float], beyond: dict[str, float]
) -> None:
    limits = SIZES.get(code, LIMITS)

    assert judged(view(**within), limits) == Denial.NONE
    assert judged(view(**beyond), limits) == code
    # One order in plain numbers: the same verdict and the same words, by both sets of rules.
    wrong = in_plain_numbers(view(**beyond))
    denial = find_denial(RISK, limits, wrong)
    assert denial == (code, explain_session(limits, view(**beyond), 0))
    assert find_denial(RISK, limits, in_plain_numbers(view(**within))) is None


def test_B23_check_that_raises_denies_under_its_own_code() -> None:
    def fails(limits: SessionLimits, order: OrderView, *facts: Tensor) -> RiskVerdict:
        raise ZeroDivisionError("by nothing")

    for rule in SESSION_RULES:
        denial = find_denial(RISK, LIMITS, view(), [rule._replace(check=fails)])
        words = f"{rule.code.name}: the check failed with ZeroDivisionError: by nothing"
        assert denial == (rule.code, words)


def test_critical_drawdown_lets_whole_positions_go_and_nothing_else() -> None:
    whole, half = view(-50.0, 50.0, drawdown_frac=0.2), view(-25.0, 50.0, drawdown_frac=0.2)

    assert (judged(whole), judged(half)) == (Denial.NONE, D.CRITICAL_DRAWDOWN)
    assert judged(view(-25.0, 50.0, drawdown_frac=0.19)) == Denial.NONE  # reducing is enough


def test_B16_order_waits_for_the_next_opening_unless_that_is_forbidden() -> None:
    assert judged(view(market_is_closed=1.0, seconds_to_close=math.inf)) == Denial.NONE
    assert judged(view(market_is_closed=1.0), SIZES[D.MARKET_CLOSED]) == D.MARKET_CLOSED


def test_every_rule_has_a_code_cases_and_facts_and_every_fact_a_rule() -> None:
    assert [rule.code for rule in SESSION_RULES] == list(SessionDenial)
    assert {case[0] for case in CASES} == set(SessionDenial)
    assert {name for rule in SESSION_RULES for name in rule.facts} == set(SessionFacts._fields)
    assert not {int(code) for code in SessionDenial} & {int(code) for code in Denial}


@pytest.mark.parametrize("rule", SESSION_RULES, ids=lambda rule: rule.code.name)
def test_unknown_is_denied_live_and_names_the_rule(rule: SessionRule) -> None:
    for name in rule.facts:
        # Kept, but unknown for this order; and not kept at all. Others may read the fact as well.
        for unknown in (math.nan, None):
            denied = judged(view(-5.0 if rule.code is D.NOT_SHORTABLE else 5.0, **{name: unknown}))
            first = next(each.code for each in SESSION_RULES if name in each.facts)
            assert denied == first
            alone = int(judge_session(LIMITS, view(-5.0, **{name: unknown}), [rule]))
            assert alone == rule.code
    bare = view()._replace(session=None)
    assert int(judge_session(LIMITS, bare, [rule])) == rule.code
    assert explain_session(LIMITS, bare, 0, [rule]) == f"{rule.code.name}: limit=nan observed=nan"


@pytest.mark.parametrize("rule", SESSION_RULES, ids=lambda rule: rule.code.name)
def test_order_that_only_reduces_is_judged_where_a_mistake_is_likely(rule: SessionRule) -> None:
    beyond = next(case[2] for case in CASES if case[0] is rule.code)
    limits = SIZES.get(rule.code, LIMITS)
    size = beyond.get("order", 5.0)
    facts = {name: fact for name, fact in beyond.items() if name != "order"}
    reducing = view(order=-abs(size), units=50.0, **facts)

    expected = rule.code if rule.code in JUDGE_REDUCING else Denial.NONE
    assert int(judge_session(limits, reducing, [rule])) == expected
    assert int(judge_session(limits, view(order=0.0, **facts), [rule])) == Denial.NONE


def test_simulator_without_facts_asks_no_rule_and_is_denied_nothing() -> None:
    def fails(limits: SessionLimits, order: OrderView, *facts: Tensor) -> RiskVerdict:
        raise AssertionError("asked")

    bare = view()._replace(session=None)
    declared = [rule._replace(check=fails) for rule in SESSION_RULES]

    assert int(judge_session(LIMITS, bare, declared, is_simulation=True)) == Denial.NONE
    # A rule that is not declared so denies in a simulation too.
    strict = SESSION_RULES[0]._replace(inactive_in_simulation=False)
    assert int(judge_session(LIMITS, bare, [strict], is_simulation=True)) == strict.code
    # Facts that a simulation does keep are judged.
    lost = view(loss_today_frac=0.03, confidence=None)
    assert int(judge_session(LIMITS, lost, is_simulation=True)) == D.DAILY_LOSS


def test_session_facts_change_nothing_for_rules_of_an_order() -> None:
    orders = torch.linspace(-40.0, 40.0, 81, dtype=torch.float64)
    bare = OrderView(
        orders,
        *(torch.full_like(orders, x) for x in (3.0, 100.0, 5_000.0, 10_000.0)),
        *(torch.zeros(81, dtype=torch.int32) for _ in range(2)),
    )
    limits = RiskLimits(max_position_frac=0.2, max_order_frac=0.1)

    denied = judge(limits, bare)

    assert torch.equal(denied, judge(limits, bare._replace(session=view().session)))
    assert len(set(denied.tolist())) == 3
    assert all(isinstance(rule.code, Denial) for rule in RULES)


def test_first_rule_in_order_is_the_one_recorded_and_explained() -> None:
    wrong = view(loss_today_frac=0.0214, trades_today=300.0, confidence=0.1)

    assert judged(wrong) == D.DAILY_LOSS
    assert explain_session(LIMITS, wrong, 0) == "DAILY_LOSS: limit=0.02 observed=0.0214"
    assert explain_session(LIMITS, view(), 0) is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("max_daily_loss_frac", [0.0, 2.0, math.nan]),
        ("max_trades", [-1, 1.5]),
        ("min_confidence", [-0.1, 1.1, math.nan]),
        ("max_correlated_frac", [0.0, math.inf]),
        ("price_collar_frac", [0.0, 1.5, math.nan]),
        ("max_price_age_s", [-1.0, math.inf, math.nan]),
        ("max_open_order_frac", [0.0, math.nan]),
    ],
)
def test_limit_that_cannot_be_is_refused_by_name(name: str, values: list[float]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=name):
            SessionLimits(**{name: value})  # type: ignore[arg-type]


class Session:
    """A trading day as the live loop will keep it: what was sent, filled and lost so far."""

    def __init__(self, equity: Decimal) -> None:
        self.equity_at_open = equity
        self.position, self.cash = Position("SPY"), equity
        self.orders: list[Order] = []
        self.sent_ids: set[str] = set()
        self.price, self.price_at = Decimal(100), AT
        self.denied: list[str] = []

    def send(self, wanted: OrderIntent, *, seconds: float = 1.0) -> Order | None:
        """Judge an intent some time after the last price; send it where it passes."""
        order_view = self._view(wanted, seconds)
        if words := explain_session(LIMITS, order_view, 0):
            self.denied.append(words)
            return None
        order = move_order(move_order(Order(wanted), OrderStatus.APPROVED), OrderStatus.SUBMITTED)
        self.orders.append(order)
        return order

    def fill(self, order: Order) -> None:
        """Fill an order whole at the last price."""
        wanted = order.intent
        filled = Fill(
            f"f{len(self.orders)}",
            order.client_order_id,
            "SPY",
            wanted.side,
            wanted.quantity_units,
            self.price,
            AT,
        )
        self.orders.remove(order)
        self.position = apply_fill(self.position, filled)
        self.cash -= filled.signed_units * filled.price

    @property
    def equity(self) -> Decimal:
        return self.cash + self.position.units * self.price

    def _view(self, wanted: OrderIntent, seconds: float) -> OrderView:
        sent = wanted.client_order_id in self.sent_ids
        self.sent_ids |= {wanted.client_order_id}
        waiting = sum(abs(order.open_units) * self.price for order in self.orders)
        price = wanted.limit_price or self.price
        after = abs(self.position.units + wanted.signed_units) * self.price / self.equity
        facts = view().session
        assert facts is not None
        facts = facts._replace(
            order_is_duplicate=one(float(sent)),
            limit_price=one(float(price)),
            last_price=one(float(self.price)),
            last_price_age_s=one(seconds),
            loss_today_frac=one(float(1 - self.equity / self.equity_at_open)),
            trades_today=one(0.0),
            confidence=one(math.nan if wanted.confidence is None else wanted.confidence),
            correlated_exposure_frac=one(float(after)),
            open_order_value_ccy=one(float(waiting)),
        )
        numbers = (wanted.signed_units, self.position.units, self.price, self.cash, self.equity)
        return OrderView(
            *(one(float(number)) for number in numbers),
            *(torch.zeros(1, dtype=torch.int32) for _ in range(2)),
            facts,
        )


def test_a_trading_day_is_held_by_the_rules() -> None:
    day = Session(Decimal(10_000))

    first = day.send(intent("20", confidence=0.8))
    assert first is not None
    # The answer is lost and the decision is sent again: same id.
    assert day.send(intent("20", confidence=0.8)) is None
    # The first order may still fill: 2,000 open, so that 1,500 more is too much.
    later = AT + timedelta(hours=1)
    assert day.send(intent("15", decided_at=later, confidence=0.8)) is None
    day.fill(first)
    assert day.send(intent("5", decided_at=later, sequence=1)) is None  # no confidence: unknown
    assert day.send(intent("5", decided_at=later, sequence=2, confidence=0.8), seconds=91) is None
    day.price = Decimal(89)  # 2,000 of 10,000 in a symbol that falls by 11 %: 2.2 % are lost
    assert day.send(intent("1", decided_at=later, sequence=3, confidence=0.9)) is None
    out = day.send(intent("20", Side.SELL, decided_at=later, sequence=4))

    assert out is not None  # reducing is always possible
    assert [words.split(":")[0] for words in day.denied] == [
        "DUPLICATE_ORDER",
        "OPEN_ORDERS",
        "LOW_CONFIDENCE",
        "STALE_PRICE",
        "DAILY_LOSS",
    ]
    assert day.denied[-1] == "DAILY_LOSS: limit=0.02 observed=0.022"
