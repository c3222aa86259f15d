"""The master's task: the portfolio environment, for many portfolios at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import short_config, small_world
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.portfolio.env import PortfolioEnv
from tradingbot.envs.portfolio.task import PortfolioTask

N, B, LENGTH = 3, 2, 10


def ones(row, private):
    return torch.ones(len(row), dtype=private.dtype)


def portfolios(decide=ones):
    config = short_config("target", episode_bars=LENGTH, smoothing_bars=1)
    return PortfolioTask(small_world(), config, decide, n_envs=B, seed=4)


def drawn(steps):
    draws = torch.Generator().manual_seed(2)
    return torch.rand(steps, 1, B, N + 1, generator=draws).softmax(-1)


def play(task, actions):
    state, made = task.begin()[0], []
    for action in actions:
        made.append(task.step(state, action))
        state = made[-1].state
    return made


def test_first_portfolio_is_that_of_the_environment_step_for_step():
    task = portfolios()
    env = PortfolioEnv(task.world, lambda seen: torch.ones(len(seen)), task.config)
    env.reset(seed=4)
    actions = drawn(3 * LENGTH)

    for number, (action, step) in enumerate(zip(actions, play(task, actions), strict=True)):
        if number and number % LENGTH == 0:
            env.reset()
        seen, reward, terminated, truncated, info = env.step(action[0, 0].numpy())
        assert step.reward[0, 0].item() == pytest.approx(reward, abs=1e-7)
        assert step.terms[:, 0, 0].tolist() == pytest.approx([*info["reward_terms"].values()])
        assert step.final_return[0, 0].item() == pytest.approx(info["equity"] / 1e5 - 1, abs=1e-6)
        assert (bool(step.terminated[0, 0]), bool(step.truncated[0, 0])) == (terminated, truncated)
        row = np.concatenate([seen["sleeves"].ravel(), seen["weights"], seen["portfolio"]])
        assert np.allclose(step.final_private[0, 0].numpy(), row, atol=1e-6)
        if not truncated:
            assert step.turnover[0, 0].item() == pytest.approx(info["turnover_frac"], abs=1e-6)


def test_task_says_what_it_shows_and_asks_for():
    task = portfolios()
    state, seen = task.begin()
    features = small_world().features

    assert task.action.shape == (N + 1,)
    assert seen.private.shape == (1, B, task.n_private) == (1, B, 18 * N + N + 1 + 3)
    assert seen.row.shape == (1, B)
    bar = int(seen.row[0, 1])
    width = task.table.shape[-1] // N
    shown = task.table[0, bar].view(N, width)[:, : features.shape[-1]].numpy()
    assert np.array_equal(shown, features[:, bar])
    assert task.wealth(state).tolist() == [[1.0, 1.0]]
    with pytest.raises(ConfigError, match="without its gradient"):
        task.differentiable_step(state, drawn(1)[0])


def test_state_shows_what_a_step_does_and_can_be_gone_on_with():
    task, actions = portfolios(), drawn(LENGTH + 3)
    made = play(task, actions)

    for step in made:
        for seen, again in zip(step.observation, task.observe(step.state), strict=True):
            assert torch.equal(seen, again)
    again = task.step(tuple(part.clone() for part in made[-2].state), actions[-1])
    assert torch.equal(again.reward, made[-1].reward)
    assert made[0].episode.tolist() == [[0, 0]]
    assert made[-1].episode.tolist() == [[1, 1]]


def test_all_cash_earns_nothing_and_one_sleeve_is_that_sleeve():
    task = portfolios().backtest(250, 320)
    cash = torch.tensor([0.0, 0.0, 0.0, 1.0]).view(1, 1, -1)
    one = torch.tensor([0.0, 1.0, 0.0, 0.0]).view(1, 1, -1)

    idle, held = play(task, [cash] * 70), play(task, [one] * 70)
    assert task.wealth(idle[-1].state).item() == 1.0
    prices = small_world().prices[1, :, 3]
    assert task.wealth(held[-1].state).item() == pytest.approx(prices[320] / prices[250], rel=0.03)
    assert not any(step.truncated.any() for step in held[:-1])


def test_bars_without_room_for_an_episode_are_refused():
    with pytest.raises(DataError, match="an episode must fit"):
        portfolios().during(300, 305)
