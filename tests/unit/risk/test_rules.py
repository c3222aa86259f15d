"""Every rule below, at and above its limit; unknown is denied; the first denial counts."""

from __future__ import annotations

import math

import pytest
import torch

from tradingbot.domain.denial import Denial
from tradingbot.domain.errors import ConfigError
from tradingbot.risk import RiskLimits
from tradingbot.risk.gate import explain, judge
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import OrderView, RiskRule, RiskVerdict

LIMITS = RiskLimits(
    max_position_frac=0.2,
    max_order_frac=0.1,
    reserve_frac=0.3,
    min_trade_ccy=25.0,
    max_stale_bars=2,
)
SHORTS = RiskLimits(
    max_position_frac=1.0, max_order_frac=5.0, min_trade_ccy=25.0, allow_short=True, margin_frac=3.0
)
PASSES = {"order": 5.0, "units": 0.0, "mark": 100.0, "cash": 10_000.0, "equity": 10_000.0}

CASES = [
    # rule, limits, fields of an order that passes at the limit, fields of one just beyond
    (Denial.UNKNOWN_VALUE, LIMITS, {}, {"equity": 0.0}),
    (Denial.UNKNOWN_VALUE, LIMITS, {"mark": 50.0}, {"mark": 0.0}),
    (Denial.UNKNOWN_VALUE, LIMITS, {}, {"mark": -1.0}),
    (Denial.TRADING_HALTED, LIMITS, {"halted": 0}, {"halted": 1}),
    (Denial.STALE_DATA, LIMITS, {"stale_bars": 2}, {"stale_bars": 3}),
    (
        Denial.SHORT_NOT_ALLOWED,
        LIMITS,
        {"units": 5.0, "order": -5.0},
        {"units": 5.0, "order": -5.001},
    ),
    (Denial.MAX_ORDER_VALUE, LIMITS, {"order": 10.0}, {"order": 10.001}),
    (  # 3,000 long turned into 2,000 short: the part that opens counts
        Denial.MAX_ORDER_VALUE,
        RiskLimits(max_position_frac=0.5, max_order_frac=0.2, allow_short=True),
        {"units": 30.0, "order": -50.0},
        {"units": 30.0, "order": -50.01},
    ),
    (
        Denial.MAX_POSITION,
        LIMITS,
        {"units": 15.0, "order": 5.0},
        {"units": 15.0, "order": 5.001},
    ),
    (  # turned from 3,000 long: a short of 2,000 is allowed, whatever the long was
        Denial.MAX_POSITION,
        RiskLimits(max_position_frac=0.2, max_order_frac=5.0, allow_short=True),
        {"units": 30.0, "order": -50.0},
        {"units": 30.0, "order": -50.01},
    ),
    (
        Denial.CASH_RESERVE,
        LIMITS,
        {"cash": 3_500.0, "units": 1.0},
        {"cash": 3_499.9, "units": 1.0},
    ),
    (Denial.MARGIN, SHORTS, {"order": -50.0}, {"order": -50.01}),  # 10,000 + 5,000 = 3 · 5,000
    (Denial.MIN_TRADE_VALUE, LIMITS, {"order": 0.25}, {"order": 0.2499}),
]


def view(**fields: float) -> OrderView:
    """Return one order that passes, but for these fields."""
    given = PASSES | {"stale_bars": 0, "halted": 0} | fields
    whole = ("stale_bars", "halted")
    return OrderView(
        *(
            torch.tensor([given[name]], dtype=torch.int32 if name in whole else torch.float64)
            for name in OrderView._fields[:-1]
        )
    )


def judged(limits: RiskLimits, **fields: float) -> Denial:
    return Denial(int(judge(limits, view(**fields))))


@pytest.mark.parametrize(("denial", "limits", "within", "beyond"), CASES)
def test_rule_at_its_limit_passes_and_beyond_it_denies(
    denial: Denial, limits: RiskLimits, within: dict[str, float], beyond: dict[str, float]
) -> None:
    assert judged(limits, **within) is Denial.NONE
    assert judged(limits, **beyond) is denial


def test_rules_have_codes_of_their_own_and_cases_of_both_outcomes() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes)) == sorted(set(Denial) - {Denial.NONE})
    assert {case[0] for case in CASES} == set(codes)


@pytest.mark.parametrize("name", ["order", "units", "mark", "cash", "equity"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_number_that_is_not_finite_is_denied_in_every_field(name: str, value: float) -> None:
    assert judged(LIMITS, **{name: value}) is Denial.UNKNOWN_VALUE
    assert judged(SHORTS, **{name: value}) is Denial.UNKNOWN_VALUE


@pytest.mark.parametrize("name", ["stale_bars", "halted"])
def test_state_that_is_not_a_number_is_denied(name: str) -> None:
    unknown = view()._replace(**{name: torch.tensor([math.nan])})
    assert judge(LIMITS, unknown).item() != Denial.NONE


def test_order_so_large_that_its_value_overflows_is_denied() -> None:
    generous = RiskLimits(1.0, max_order_frac=1e300)
    assert judged(generous, order=1e308) is not Denial.NONE


def test_order_of_nothing_is_never_denied() -> None:
    assert judged(LIMITS, order=0.0, halted=1, stale_bars=9, equity=-1.0) is Denial.NONE


@pytest.mark.parametrize(
    ("fields", "denial"),
    [
        ({"stale_bars": 9}, Denial.NONE),
        ({"units": 500.0, "order": -100.0}, Denial.NONE),  # still above the largest position
        ({"order": -20.0}, Denial.NONE),  # above the largest order
        ({"cash": -50.0}, Denial.NONE),
        ({"order": -0.1}, Denial.MIN_TRADE_VALUE),
        ({"units": 0.1, "order": -0.1}, Denial.NONE),  # closes whole
        ({"halted": 1}, Denial.TRADING_HALTED),
        ({"mark": math.nan}, Denial.UNKNOWN_VALUE),
    ],
)
def test_order_that_only_reduces_is_judged_by_three_rules(
    fields: dict[str, float], denial: Denial
) -> None:
    assert judged(LIMITS, **({"units": 50.0, "order": -5.0} | fields)) is denial


def test_order_that_reduces_a_short_is_reducing_too() -> None:
    assert judged(SHORTS, units=-50.0, order=40.0, stale_bars=9, cash=100.0) is Denial.NONE
    assert judged(SHORTS, units=-50.0, order=60.0, stale_bars=9) is Denial.STALE_DATA


def test_tiny_float32_order_that_reduces_is_seen_as_such() -> None:
    single = OrderView(*(x.float() if x.is_floating_point() else x for x in view()[:-1]))
    units, order = torch.tensor([1e-30]), torch.tensor([-1e-30])
    assert single._replace(units=units, order=order).reduces.item()


def test_cover_of_a_short_needs_no_reserve() -> None:
    limits = RiskLimits(1.0, reserve_frac=0.5, allow_short=True)
    assert judged(limits, units=-10.0, order=10.0, cash=4_000.0, equity=3_000.0) is Denial.NONE
    assert judged(limits, units=-10.0, order=30.0, cash=4_000.0, equity=3_000.0) is (
        Denial.CASH_RESERVE
    )


def test_first_rule_that_denies_is_the_one_recorded() -> None:
    wrong = {"order": -500.0, "stale_bars": 9, "halted": 1, "equity": -1.0}
    mended = [
        {},
        {"equity": 10_000.0},
        {"halted": 0},
        {"stale_bars": 0},
        {"order": 500.0, "cash": 10.0},
        {"order": 5.0, "units": 500.0},
        {"units": 0.0},
        {"cash": 10_000.0},
        {"order": 0.1},
    ]
    found = []
    for change in mended:
        wrong |= change
        found.append(judged(LIMITS, **wrong))
    assert found == [1, 2, 3, 4, 5, 6, 7, 0, 9]


def test_lanes_are_judged_each_alone() -> None:
    orders = torch.tensor([5.0, 11.0, 0.1, -1.0], dtype=torch.float64)
    one = view()
    many = OrderView(*(x.expand(4) for x in one[:-1]))._replace(order=orders)
    assert judge(LIMITS, many).tolist() == [0, 5, 9, 4]


def test_explanation_names_rule_limit_and_observed() -> None:
    assert (
        explain(LIMITS, view(units=15.0, order=7.5), 0) == "MAX_POSITION: limit=2000 observed=2250"
    )
    assert explain(LIMITS, view(order=0.1), 0) == "MIN_TRADE_VALUE: limit=25 observed=10"
    assert explain(LIMITS, view(stale_bars=7), 0) == "STALE_DATA: limit=2 observed=7"
    assert explain(LIMITS, view(), 0) is None


def test_rule_that_fails_stops_the_order() -> None:
    def broken(limits: RiskLimits, view: OrderView) -> RiskVerdict:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        judge(LIMITS, view(), (*RULES, RiskRule(Denial.MARGIN, broken)))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("max_position_frac", [0.0, -0.1, 1.1, math.inf, math.nan]),
        ("max_order_frac", [0.0, -1.0, math.inf, math.nan]),
        ("reserve_frac", [-0.1, 1.0, math.nan]),
        ("min_trade_ccy", [-1.0, math.inf, math.nan]),
        ("margin_frac", [1.0, 0.0, math.inf, math.nan]),
        ("max_stale_bars", [-1, math.nan]),
    ],
)
def test_limit_that_cannot_be_is_refused_by_name(name: str, values: list[float]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=name):
            RiskLimits(**{name: value})


def test_covering_a_short_may_use_the_reserve() -> None:
    limits = RiskLimits(1.0, max_order_frac=5.0, reserve_frac=0.3, allow_short=True)
    short = {"units": -30.0, "cash": 3_100.0, "equity": 10_000.0}

    assert judge(limits, view(**short, order=30.0)).item() == Denial.NONE
    assert judge(limits, view(**short, order=31.0)).item() == Denial.CASH_RESERVE
