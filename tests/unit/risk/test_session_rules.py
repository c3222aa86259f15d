"""Session rules as live trading will use them; without facts they cost the simulator nothing."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

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
from tradingbot.risk.gate import explain_session, judge, judge_session
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskVerdict, SessionFacts, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES

D = SessionDenial
LIMITS = SessionLimits(max_trades=100, price_collar_frac=0.05, max_price_age_s=90.0)
PASSES = {
    "order_is_duplicate": 0.0,
    "limit_price": 100.0,
    "last_price": 100.0,
    "last_price_age_s": 1.0,
    "loss_today_frac": 0.0,
    "trades_today": 0.0,
    "confidence": 0.9,
    "correlated_exposure_frac": 0.1,
    "open_order_value_ccy": 0.0,
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
]
JUDGE_REDUCING = {D.DUPLICATE_ORDER, D.STALE_PRICE, D.PRICE_COLLAR}


def one(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)


def view(order: float = 5.0, units: float = 0.0, **facts: float | None) -> OrderView:
    """Return an order that passes, but for these facts; None is a fact that is not kept."""
    given: dict[str, float | None] = PASSES | facts  # type: ignore[assignment]
    kept = {name: None if value is None else one(value) for name, value in given.items()}
    return OrderView(
        *(one(x) for x in (order, units, 100.0, 10_000.0, 10_000.0)),
        *(torch.zeros(1, dtype=torch.int32) for _ in range(2)),
        SessionFacts(**kept),
    )


def judged(order_view: OrderView) -> int:
    return int(judge_session(LIMITS, order_view))


@pytest.mark.parametrize(("code", "within", "beyond"), CASES)
def test_rule_at_its_limit_passes_and_beyond_it_denies(
    code: SessionDenial, within: dict[str, float], beyond: dict[str, float]
) -> None:
    assert judged(view(**within)) == Denial.NONE
    assert judged(view(**beyond)) == code


def test_every_rule_has_a_code_cases_and_facts_and_every_fact_a_rule() -> None:
    assert [rule.code for rule in SESSION_RULES] == list(SessionDenial)
    assert {case[0] for case in CASES} == set(SessionDenial)
    assert {name for rule in SESSION_RULES for name in rule.facts} == set(SessionFacts._fields)
    assert not {int(code) for code in SessionDenial} & {int(code) for code in Denial}


@pytest.mark.parametrize("rule", SESSION_RULES, ids=lambda rule: rule.code.name)
def test_unknown_is_denied_live_and_names_the_rule(rule: SessionRule) -> None:
    for name in rule.facts:
        assert judged(view(**{name: math.nan})) == rule.code  # kept, but unknown for this order
        assert judged(view(**{name: None})) == rule.code  # not kept at all
    bare = view()._replace(session=None)
    assert int(judge_session(LIMITS, bare, [rule])) == rule.code
    assert explain_session(LIMITS, bare, 0, [rule]) == f"{rule.code.name}: limit=nan observed=nan"


@pytest.mark.parametrize("rule", SESSION_RULES, ids=lambda rule: rule.code.name)
def test_order_that_only_reduces_is_judged_where_a_mistake_is_likely(rule: SessionRule) -> None:
    beyond = next(case[2] for case in CASES if case[0] is rule.code)
    reducing = view(order=-5.0, units=50.0, **beyond)

    expected = rule.code if rule.code in JUDGE_REDUCING else Denial.NONE
    assert int(judge_session(LIMITS, reducing, [rule])) == expected
    assert int(judge_session(LIMITS, view(order=0.0, **beyond), [rule])) == Denial.NONE


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
        facts = SessionFacts(
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
