"""What rewards see of a step, worked out by hand, for a batch and for one account."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fixtures.reward_steps import rollout, scalar_of, wild_step
from tradingbot.domain.action import Action
from tradingbot.market import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.account import open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostProfile
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS
from tradingbot.rewards import RewardInputs
from tradingbot.rewards.inputs import reward_inputs
from tradingbot.risk import RiskLimits

# Capital 100,000, largest position 15 % = 15,000 at the start.
DISCRETE = SimulatorParams(action=ActionRules(space="discrete"))
COSTS = CostProfile(commission_frac=0.001, slippage_frac=0.01)


def play(
    rules: SimulatorParams, steps: list[tuple[float, float, float]], costs: CostProfile = COSTS
) -> list[RewardInputs[float]]:
    """Steps of (action, open, close) from a first close of 100; each input as one number.

    The bar's high and low are its open and close. Batch and plain numbers must agree.
    """
    exact = torch.float64
    account = open_accounts(
        100_000.0, torch.zeros(1, dtype=torch.int32), torch.full((1,), 100.0, dtype=exact)
    )
    seen = []
    for action, opened, close in steps:
        columns = (opened, max(opened, close), min(opened, close), close, 1e9, 0.0, 1.0)
        bar = Bar(*(torch.tensor([x], dtype=exact) for x in columns))
        done = advance(
            rules, costs.rates(dtype=exact), account, bar, torch.tensor([action], dtype=exact)
        )
        batch = reward_inputs(rules, done, TENSOR_MATHS)
        one = reward_inputs(rules, scalar_of(done, 0), FLOAT_MATHS)
        for name, many, single in zip(RewardInputs._fields, batch, one, strict=True):
            assert many.dtype == exact, name
            assert many.item() == pytest.approx(single, rel=1e-12, abs=1e-15), name
        seen.append(one)
        account = done.after
    return seen


def test_entry_is_measured_against_the_largest_position() -> None:
    (step,) = play(DISCRETE, [(Action.BUY_LARGE, 100.0, 102.0)])

    # 150 units at 101: 15,150 and 15.15 commission, worth 15,300; slippage 150.
    assert step.gain == pytest.approx((15_300 - 15_150 - 15.15) / 15_000)
    assert step.equity_return == pytest.approx(134.85 / 100_000)
    assert step.realised == pytest.approx(-15.15 / 15_000)
    assert step.cost == pytest.approx((15.15 + 150.0) / 15_000)
    assert step.exposure == pytest.approx(15_300 / (0.15 * 100_134.85))
    assert step.roi == pytest.approx(102 / 101 - 1)
    assert (step.closed_frac, step.ended, step.held_before, step.closed_class) == (0, 0, 0, 0)
    assert (step.code, step.voluntary, step.novelty, step.distinct_actions) == (3, 1, 1.0, 1)
    assert (step.steps, step.repeats, step.violation) == (1, 1, 0)
    assert step.return_sum == pytest.approx(134.85 / 100_000)
    assert (step.return_sum_before, step.return_mean, step.return_power) == (0, 0, 0)


def test_exit_in_stages_is_told_from_partial_and_full_ones() -> None:
    _, partial, hold, last = play(
        DISCRETE,
        [
            (Action.BUY_LARGE, 100.0, 102.0),
            (Action.SELL_PARTIAL, 110.0, 110.0),
            (Action.HOLD, 111.0, 112.0),
            (Action.SELL_ALL, 120.0, 90.0),
        ],
    )

    # 75 units sold at 108.9 that cost 101; commission 8.1675.
    realised = 75 * 7.9 - 0.001 * 75 * 108.9
    assert partial.roi == pytest.approx(realised / (75 * 101))
    assert partial.realised == pytest.approx(realised / (0.15 * 100_134.85))
    assert (partial.closed_frac, partial.ended, partial.staged) == (0.5, 0, 0)
    assert (partial.closed_class, partial.bars_held, partial.held_before) == (3, 1, 1)
    assert partial.open_roi_before == pytest.approx(102 / 101 - 1)
    assert (hold.closed_frac, hold.code, hold.voluntary) == (0, 0, 0)
    assert hold.roi == pytest.approx(112 / 101 - 1)
    assert (last.closed_frac, last.ended, last.staged, last.bars_held) == (1, 1, 1, 3)
    assert last.roi == pytest.approx((75 * (118.8 - 101) - 0.001 * 75 * 118.8) / (75 * 101))
    assert last.exposure == 0
    assert last.distinct_actions == 4


def test_position_that_was_added_to_is_pyramided_when_closed() -> None:
    steps = play(
        DISCRETE,
        [
            (Action.BUY_SMALL, 100.0, 110.0),
            (Action.ADD_POSITION, 110.0, 112.0),
            (Action.HOLD, 112.0, 113.0),
            (Action.SELL_ALL, 115.0, 115.0),
        ],
    )

    assert [step.pyramided for step in steps] == [0, 0, 0, 1]
    assert [step.closed_class for step in steps] == [0, 1, 1, 1]
    assert [step.staged for step in steps] == [0, 0, 0, 0]


def test_stop_in_the_bar_of_entry_knows_what_was_paid() -> None:
    rules = SimulatorParams(AccountRules(stop_loss_frac=0.05), action=ActionRules(space="discrete"))

    (step,) = play(rules, [(Action.BUY_LARGE, 100.0, 90.0)])

    # Bought 150 at 101, stopped at 95.95 less 1 %, both with 0.1 % commission.
    price = 95.95 * 0.99
    realised = 150 * (price - 101) - 0.001 * 150 * (price + 101)
    assert step.roi == pytest.approx(realised / (150 * 101))
    assert (step.closed_frac, step.ended, step.exposure) == (1, 1, 0)
    assert (step.held_before, step.closed_class) == (0, 0)


def test_turn_and_stop_in_one_bar_adds_both_entry_values() -> None:
    rules = SimulatorParams(
        AccountRules(stop_loss_frac=0.05),
        RiskLimits(allow_short=True),
        ActionRules(space="target", smoothing_bars=1),
    )
    free = CostProfile(0.0, 0.0)

    _, turn = play(rules, [(1.0, 100.0, 100.0), (-0.5, 104.0, 120.0)], free)

    # 150 long from 100 sold at 104, 75 short from 104 stopped at 109.2.
    realised = 150 * 4.0 - 75 * 5.2
    assert turn.roi == pytest.approx(realised / (150 * 100 + 75 * 104))
    assert (turn.closed_frac, turn.ended, turn.voluntary) == (1, 1, 1)


def test_turned_position_was_closed_whole() -> None:
    rules = SimulatorParams(
        limits=RiskLimits(allow_short=True), action=ActionRules(space="target", smoothing_bars=1)
    )

    _, turn = play(rules, [(1.0, 100.0, 100.0), (-0.5, 104.0, 104.0)], CostProfile(0.0, 0.0))

    assert (turn.closed_frac, turn.ended) == (1, 1)
    assert turn.roi == pytest.approx(0.04)
    assert turn.exposure == pytest.approx(0.5, rel=0.05)


def test_short_gains_when_the_price_falls() -> None:
    rules = SimulatorParams(
        limits=RiskLimits(allow_short=True), action=ActionRules(space="target", smoothing_bars=1)
    )
    borrow = CostProfile(0.0, 0.0, borrow_frac_per_bar=0.001)

    opened, closed = play(rules, [(-1.0, 100.0, 90.0), (0.0, 80.0, 80.0)], borrow)

    assert opened.roi == pytest.approx(0.1)
    assert opened.cost == pytest.approx(0.001 * 150 * 90 / 15_000)
    assert closed.open_roi_before == pytest.approx(0.1)
    assert closed.roi == pytest.approx(0.2)
    assert (closed.code, closed.held_before) == (Action.SELL_ALL, 1)


def test_forced_exit_is_not_voluntary() -> None:
    _, forced = play(DISCRETE, [(Action.BUY_LARGE, 100.0, 90.0), (Action.HOLD, 90.0, 90.0)])

    assert (forced.voluntary, forced.ended, forced.code) == (0, 1, Action.HOLD)


def test_masked_action_is_a_violation_without_trade() -> None:
    (step,) = play(DISCRETE, [(Action.SELL_ALL, 100.0, 100.0)])

    assert (step.violation, step.voluntary, step.code, step.repeats) == (1, 0, Action.HOLD, 1)


def test_drawdown_is_measured_from_the_peak() -> None:
    whole = SimulatorParams(
        limits=RiskLimits(max_position_frac=1.0),
        action=ActionRules(space="target", smoothing_bars=1),
    )
    free = CostProfile(0.0, 0.0)

    up, down = play(whole, [(1.0, 100.0, 110.0), (1.0, 110.0, 99.0)], free)

    assert up.drawdown == 0.0
    assert down.drawdown == pytest.approx(0.1, rel=1e-9)


def test_bankrupt_account_has_finite_inputs() -> None:
    for _, done in rollout("continuous", 2, n_lanes=4):
        broke = done._replace(
            before=done.before._replace(cash=-done.before.cash),
            after=done.after._replace(cash=-2.0 * done.after.cash),
        )
    step = reward_inputs(SimulatorParams(), broke, TENSOR_MATHS)

    assert all(torch.isfinite(x).all() for x in step)
    assert (step.equity_return == 0.0).all()
    assert (step.gain == 0.0).all()
    assert (step.drawdown > 1.0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wild_accounts_give_finite_inputs_in_their_number_format(dtype: torch.dtype) -> None:
    step = reward_inputs(SimulatorParams(), wild_step(3, 4096, dtype), TENSOR_MATHS)

    for name, numbers in zip(RewardInputs._fields, step, strict=True):
        assert numbers.dtype == dtype, name
        assert numbers.shape == (4096,), name
        assert np.isfinite(numbers.numpy()).all(), name
