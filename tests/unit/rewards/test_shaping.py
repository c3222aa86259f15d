"""Potential-based shaping: worked out by hand, and without effect on what is best."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fixtures.reward_steps import rollout
from tradingbot.domain.errors import ConfigError
from tradingbot.market import SimulatorParams
from tradingbot.market.account import Account
from tradingbot.rewards import PotentialShaping, reward_preset


def wealth(rules: SimulatorParams, account: Account) -> Tensor:
    return account.equity / rules.account.initial_cash_ccy


def test_shaping_is_discounted_potential_less_potential() -> None:
    reward = reward_preset("log_growth")
    *_, (rules, done) = rollout("continuous", 8, n_lanes=3)
    before = done.before._replace(
        cash=torch.tensor([100_000.0, 50_000.0, 80_000.0]).double(), units=torch.zeros(3).double()
    )
    after = done.after._replace(
        cash=torch.tensor([110_000.0, 40_000.0, 70_000.0]).double(), units=torch.zeros(3).double()
    )
    step = done._replace(
        before=before,
        after=after,
        terminated=torch.tensor([False, True, False]),
        truncated=torch.tensor([False, False, True]),
    )

    shaped = PotentialShaping(reward, wealth, discount=0.9, weight=2.0)
    terms = shaped(rules, step)

    # 2 (0.9 · 1.1 − 1), 2 (0 − 0.5) for the ruined, 2 (0.9 · 0.7 − 0.8) for the truncated.
    torch.testing.assert_close(terms[-1], torch.tensor([-0.02, -1.0, -0.34]).double())
    assert torch.equal(terms[:-1], reward(rules, step))
    assert shaped.names == ("log_growth", "shaping")


def test_discounted_sum_depends_on_the_ends_alone() -> None:
    shaped = PotentialShaping(reward_preset("v31"), wealth, discount=0.95)
    total, factor, first = torch.zeros(32).double(), 1.0, None

    for rules, done in rollout("discrete", 20):
        running = done._replace(terminated=torch.zeros(32, dtype=torch.bool))
        first = wealth(rules, done.before) if first is None else first
        total += factor * shaped(rules, running)[-1]
        factor *= 0.95
        last = wealth(rules, done.after)

    torch.testing.assert_close(total, factor * last - first)


@pytest.mark.parametrize(("discount", "weight"), [(1.5, 1.0), (-0.1, 1.0), (0.9, float("nan"))])
def test_impossible_shaping_is_refused(discount: float, weight: float) -> None:
    with pytest.raises(ConfigError, match=r"PotentialShaping"):
        PotentialShaping(reward_preset("v31"), wealth, discount, weight)
