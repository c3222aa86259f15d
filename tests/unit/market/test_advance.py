"""What a step remembers of the action it was given."""

from __future__ import annotations

import torch

from fixtures.plain_accounts import accounts, bars, costs
from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial
from tradingbot.market import ActionRules, SimulatorParams
from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.advance import advance
from tradingbot.risk import RiskLimits

RULES = SimulatorParams(
    limits=RiskLimits(0.5, max_order_frac=0.1), action=ActionRules(space="discrete")
)


def after(code: int, **fields: float):
    return advance(RULES, costs(), accounts(**fields), bars(), torch.tensor([code]))


def test_actions_are_remembered_for_fifty_steps() -> None:
    assert ACTION_MEMORY == 50
    step = after(Action.HOLD)
    assert step.after.action_ages[:, 0].tolist() == [0] + [50] * 6


def test_denied_order_was_not_executed_and_is_remembered_as_a_hold() -> None:
    step = after(Action.BUY_LARGE)  # 50 % of equity, and an order may have 10 %

    assert step.denial.item() == Denial.MAX_ORDER_VALUE
    assert step.after.action_ages[Action.HOLD, 0].item() == 0
    assert step.after.action_ages[Action.BUY_LARGE, 0].item() == ACTION_MEMORY
