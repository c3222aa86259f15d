"""Hand-computed orders of each action space, and the mask."""

from __future__ import annotations

import math

import pytest

from reference.scalar_simulator import ScalarAccount, ScalarDecision, open_account, scalar_mask
from reference.scalar_simulator.actions import read_action
from reference.scalar_simulator.room import measure_room
from tradingbot.domain.action import Action
from tradingbot.market import ActionRules, SimulatorParams
from tradingbot.market.costs import CostProfile
from tradingbot.risk import RiskLimits

FREE = CostProfile(0.0, 0.0)
FLAT = open_account(100_000.0, 0, 100.0)
LONG_60 = FLAT._replace(cash=94_000.0, units=60.0, entry=100.0)  # of at most 150
SHORT_60 = FLAT._replace(cash=106_000.0, units=-60.0, entry=100.0)
SHORTS = RiskLimits(allow_short=True)


def read(rules: SimulatorParams, account: ScalarAccount, action: float) -> ScalarDecision:
    room = measure_room(rules.limits, FREE, account, account.equity)
    return read_action(rules, account, room, action)


@pytest.mark.parametrize(
    ("account", "action", "order", "code"),
    [
        (FLAT, 1.0, 150.0, Action.BUY_LARGE),
        (FLAT, 0.46, 60.0, Action.BUY_SMALL),  # (0.46 − 0.1) / 0.9 = 0.4
        (FLAT, 0.1, 0.0, Action.HOLD),
        (FLAT, 7.0, 150.0, Action.BUY_LARGE),
        (FLAT, -1.0, -150.0, Action.BUY_LARGE),
        (LONG_60, 1.0, 90.0, Action.ADD_POSITION),
        (LONG_60, -1.0, -60.0, Action.SELL_ALL),
        (LONG_60, -0.55, -30.0, Action.SELL_PARTIAL),
        (SHORT_60, 1.0, 60.0, Action.SELL_ALL),
        (SHORT_60, -1.0, -90.0, Action.ADD_POSITION),
    ],
)
def test_continuous_action_is_a_share_of_room_or_position(
    account: ScalarAccount, action: float, order: float, code: Action
) -> None:
    rules = SimulatorParams(limits=SHORTS, action=ActionRules("continuous", smoothing_bars=1))
    decision = read(rules, account, action)

    assert decision.order == pytest.approx(order, rel=1e-12)
    assert (decision.code, decision.selected, decision.violation) == (code, code, False)


def test_continuous_sell_of_a_flat_long_only_account_is_nothing() -> None:
    assert read(SimulatorParams(), FLAT, -1.0).order == 0.0


@pytest.mark.parametrize("action", [math.nan, math.inf, -math.inf])
def test_action_that_is_no_number_is_read_as_hold_and_counted(action: float) -> None:
    smoothed = LONG_60._replace(smoothed=0.8)
    continuous = read(SimulatorParams(), smoothed, action)
    target = read(SimulatorParams(action=ActionRules("target")), smoothed, action)
    discrete = read(SimulatorParams(action=ActionRules("discrete")), smoothed, action)

    assert [x.violation for x in (continuous, target, discrete)] == [True] * 3
    assert (continuous.order, continuous.smoothed, continuous.code) == (0.0, 0.8, Action.HOLD)
    assert (target.order, target.smoothed, target.code) == (0.0, 0.8, Action.HOLD)
    assert (discrete.order, discrete.code, discrete.selected) == (0.0, Action.HOLD, Action.HOLD)


@pytest.mark.parametrize(
    ("account", "action", "order", "code"),
    [
        (FLAT, 0.5, 75.0, Action.BUY_SMALL),
        (FLAT, 0.8, 120.0, Action.BUY_MEDIUM),
        (LONG_60, 1.0, 90.0, Action.ADD_POSITION),
        (LONG_60, 0.0, -60.0, Action.SELL_ALL),
        (LONG_60, 0.2, -30.0, Action.SELL_PARTIAL),
        (LONG_60, -1.0, -210.0, Action.SELL_ALL),
        (SHORT_60, 1.0, 210.0, Action.SELL_ALL),
        (SHORT_60, -0.4, 0.0, Action.HOLD),
    ],
)
def test_target_action_is_the_way_to_the_position_wanted(
    account: ScalarAccount, action: float, order: float, code: Action
) -> None:
    rules = SimulatorParams(limits=SHORTS, action=ActionRules("target", smoothing_bars=1))
    decision = read(rules, account, action)

    assert (decision.order, decision.code) == (pytest.approx(order, rel=1e-12), code)


def test_target_short_in_a_long_only_account_is_flat() -> None:
    rules = SimulatorParams(action=ActionRules("target", smoothing_bars=1))

    assert read(rules, LONG_60, -1.0).order == -60.0


def test_smoothing_moves_halfway_with_a_span_of_three_bars() -> None:
    assert read(SimulatorParams(), FLAT._replace(smoothed=-0.2), 1.0).smoothed == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("account", "allowed"),
    [
        (FLAT, "1111000"),
        (FLAT._replace(cash=20.0), "1000000"),  # 15 % of 20 is below the minimum
        (FLAT._replace(cash=300.0), "1011000"),  # of 45: 15, 30 and 45; at least 25
        (FLAT._replace(halted=1), "1000000"),
        (LONG_60, "1000110"),  # no profit yet
        (LONG_60._replace(mark=101.0), "1000111"),
        (LONG_60._replace(mark=101.0, adds=2), "1000110"),
        (LONG_60._replace(units=0.4), "1000010"),  # half of 40 is below the minimum
        (LONG_60._replace(mark=101.0, halted=1), "1000000"),
    ],
)
def test_mask_allows_what_the_account_can_do(account: ScalarAccount, allowed: str) -> None:
    rules = SimulatorParams(action=ActionRules("discrete"))

    assert scalar_mask(rules, FREE, account) == tuple(mark == "1" for mark in allowed)


@pytest.mark.parametrize(
    ("account", "code", "order"),
    [
        (FLAT, Action.BUY_SMALL, 50.0),
        (FLAT, Action.BUY_MEDIUM, 100.0),
        (FLAT, Action.BUY_LARGE, 150.0),
        (LONG_60, Action.SELL_PARTIAL, -30.0),
        (LONG_60, Action.SELL_ALL, -60.0),
        (LONG_60._replace(entry=99.0), Action.ADD_POSITION, 50.0),
        (LONG_60._replace(entry=99.0, units=140.0), Action.ADD_POSITION, 22.0),  # 16,200 at most
    ],
)
def test_code_trades_its_share_of_the_largest_position(
    account: ScalarAccount, code: Action, order: float
) -> None:
    decision = read(SimulatorParams(action=ActionRules("discrete")), account, code)

    assert decision.order == pytest.approx(order, rel=1e-12)
    assert (decision.code, decision.violation) == (code, False)


def test_code_repeated_too_often_is_executed_as_hold() -> None:
    rules = SimulatorParams(action=ActionRules("discrete", max_repeats=2))
    account = LONG_60
    codes = []
    for _ in range(3):
        decision = read(rules, account, Action.SELL_PARTIAL)
        codes.append((decision.code, decision.repeats, decision.violation))
        account = account._replace(last_action=decision.selected, repeats=decision.repeats)

    sell = Action.SELL_PARTIAL
    assert codes == [(sell, 1, False), (sell, 2, False), (Action.HOLD, 3, True)]
    assert read(rules, account, Action.HOLD).repeats == 0


@pytest.mark.parametrize("code", [-1, 7, 2.5, 1e30])
def test_code_that_does_not_exist_is_hold_and_counted(code: float) -> None:
    decision = read(SimulatorParams(action=ActionRules("discrete")), FLAT, code)

    assert (decision.order, decision.selected, decision.violation) == (0.0, Action.HOLD, True)
