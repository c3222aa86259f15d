"""Whatever is stacked: the terms sum to the reward, within bounds, one account as in a batch."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.reward_steps import rollout, scalar_of, wild_step
from tradingbot.market import SimulatorParams
from tradingbot.market.bars import tensor_market
from tradingbot.market.costs import CostProfile
from tradingbot.market.episodes import begin, drawn_symbols, possible_starts
from tradingbot.market.simulation import step
from tradingbot.rewards import (
    RewardStack,
    registered_terms,
    reward_preset,
    reward_stack,
)
from tradingbot.rewards.presets import REWARD_PRESETS

weights = st.dictionaries(
    st.sampled_from(tuple(registered_terms())),
    st.floats(-10.0, 10.0).filter(lambda x: abs(x) > 1e-6),
    min_size=1,
)
seeds = st.integers(0, 2**32 - 1)


@given(weights.map(reward_stack), seeds)
@settings(max_examples=60, deadline=None)
def test_reward_of_wild_steps_is_bounded_and_adds_up(stack: RewardStack, seed: int) -> None:
    done = wild_step(seed, 64)

    terms = stack(SimulatorParams(), done)
    reward = terms.sum(0)

    assert terms.shape == (len(stack.names), 64)
    assert torch.isfinite(terms).all()
    assert stack.bounds.low - 1e-9 <= reward.min()
    assert reward.max() <= stack.bounds.high + 1e-9
    one = stack.scalar(SimulatorParams(), scalar_of(done, 7))
    np.testing.assert_allclose(one, terms[:, 7].numpy(), rtol=1e-12, atol=1e-12)


@given(weights, seeds)
@settings(max_examples=30, deadline=None)
def test_doubled_weights_double_the_terms(chosen: dict[str, float], seed: int) -> None:
    done = wild_step(seed, 16)

    twice = reward_stack({name: 2.0 * weight for name, weight in chosen.items()})

    assert torch.equal(
        twice(SimulatorParams(), done), 2.0 * reward_stack(chosen)(SimulatorParams(), done)
    )


@given(weights.map(reward_stack), st.integers(0, 39))
@settings(max_examples=20, deadline=None)
def test_lanes_do_not_see_each_other(stack: RewardStack, moved: int) -> None:
    *_, (rules, done) = rollout("discrete", 6, n_lanes=40)
    cash = done.after.cash.clone()
    cash[moved] *= 0.9

    base = stack(rules, done)
    changed = stack(rules, done._replace(after=done.after._replace(cash=cash)))

    others = torch.arange(40) != moved
    assert torch.equal(base[:, others], changed[:, others])


def test_simulator_reward_is_exactly_the_sum_of_the_terms() -> None:
    rng = np.random.default_rng(5)
    close = 30.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (2, 120)), axis=1))
    prices = np.stack([close, close * 1.01, close * 0.99, close, np.full_like(close, 1e7)], -1)
    present = np.ones(close.shape, dtype=bool)
    market = tensor_market(prices, present, dtype=torch.float64)
    starts = drawn_symbols(possible_starts(present, window_bars=24, episode_bars=60), 16, 3)
    rules, rates = SimulatorParams(), CostProfile().rates(dtype=torch.float64)
    for name in REWARD_PRESETS:
        account = begin(starts, market, 100_000.0, torch.zeros(16, dtype=torch.int32))
        for _ in range(20):
            action = torch.from_numpy(rng.uniform(-1.0, 1.0, 16))
            taken = step(rules, reward_preset(name), rates, market, starts, account, action)
            account = taken.account
            assert torch.equal(taken.reward, taken.terms.sum(0))
            assert taken.terms.shape[0] == len(reward_preset(name).names)
