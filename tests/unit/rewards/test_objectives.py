"""Terms gathered by objective."""

from __future__ import annotations

import pytest
import torch

from tradingbot.rewards import reward_preset, reward_stack, sum_by_objective
from tradingbot.rewards.term import OBJECTIVES


def test_terms_are_summed_by_what_they_are_for() -> None:
    stack = reward_preset("v31")
    rows = dict(zip(stack.names, torch.arange(1.0, 8.0)[:, None] * torch.ones(7, 2), strict=True))

    sums = sum_by_objective(stack, torch.stack(list(rows.values())))

    assert OBJECTIVES == ("profit", "risk", "activity", "timing", "exploration")
    torch.testing.assert_close(sums[0], rows["pnl"] + rows["cost"])
    torch.testing.assert_close(sums[1], rows["sharpe"] + rows["drawdown"])
    torch.testing.assert_close(sums[2], rows["repeat"])
    assert torch.equal(sums[3], torch.zeros(2))
    torch.testing.assert_close(sums[4], rows["diversity"] + rows["intrinsic_action"])


def test_rows_of_another_stack_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one row per term of the stack \(1\), was \(2, 3\)"):
        sum_by_objective(reward_stack({"pnl": 1.0}), torch.zeros(2, 3))
