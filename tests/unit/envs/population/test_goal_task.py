"""Goals of a population: drawn, seen, judged and met as in the single environment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.envs.goal import GoalEnv
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask, evaluation_task
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.learning.task import extras_of, task_metrics
from tradingbot.market.goals import GOAL_INPUTS, GoalSettings, goal_reward, meets_goal

N, B, LENGTH = 3, 4, 12
SETTINGS = GoalSettings(
    return_range_frac=(0.001, 0.01), drawdown_range_frac=(0.002, 0.02), reward="dense"
)


def goals(settings=SETTINGS, world=None, **changes):
    config = short_config("target", episode_bars=LENGTH, smoothing_bars=1)
    own = PopulationTask(world or small_world(), config, n_envs=B, seed=4, **changes)
    return GoalTask(own.showing("size", "drawdown"), settings)


def play(task, steps, number=1.0):
    state, made = task.begin()[0], []
    for _ in range(steps):
        made.append(task.step(state, torch.full((N, B), number)))
        state = made[-1].state
    return made


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_reward_is_that_of_the_single_environment_step_for_step(reward):
    settings = replace(SETTINGS, reward=reward)
    task, world = goals(settings, dtype=torch.float64), small_world()
    state, seen = task.begin()
    env = GoalEnv(world, replace(task.config, observation="flat"), settings)
    row = int(seen.row[1, 2])
    goal = state[2][:2].view(2, N, B)[:, 1, 2].tolist()
    options = {"symbol": world.symbols[1], "bar": row % world.n_bars, "goal": goal}
    env.reset(seed=1, options=options)

    for step, made in enumerate(play(task, LENGTH)):
        _, paid, _, truncated, info = env.step(np.array([1.0], np.float32))
        assert made.reward[1, 2].item() == pytest.approx(paid, abs=1e-6)
        assert bool(made.truncated[1, 2]) is truncated is (step == LENGTH - 1)
    met = made.state[2][3].view(N, B)[1, 2].item()
    assert bool(met) is info["is_success"]


def test_goals_are_drawn_anew_for_every_episode_within_their_ranges():
    made = play(goals(), 8 * LENGTH)
    drawn = torch.stack([step.goal for step in made[::LENGTH]])

    assert drawn.shape == (8, N, B, 2)
    assert len(drawn[..., 0].unique()) == len(drawn[..., 1].unique()) == 8 * N * B
    for part, (low, high) in enumerate(((0.001, 0.01), (0.002, 0.02))):
        values = drawn[..., part]
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < values.max() <= high
    within = torch.stack([step.goal for step in made[:LENGTH]])
    assert torch.equal(within, within[:1].expand_as(within))
    again = torch.stack([step.goal for step in play(goals(), LENGTH + 1)[::LENGTH]])
    assert torch.equal(again, drawn[:2])


def test_agents_see_goal_and_what_is_missing_before_and_after_a_reset():
    task = goals()
    assert task.private_names == ("size", "drawdown", *GOAL_INPUTS)
    assert (task.n_private, extras_of(task).n_goal) == (6, 2)

    for step in play(task, LENGTH + 1):
        assert torch.equal(step.observation.private, task.observe(step.state).private)
        _, drawdown, want, allowed, missing, left = step.final_private.unbind(-1)
        assert torch.allclose(want * 0.01, step.goal[..., 0])
        assert torch.allclose(allowed * 0.02, step.goal[..., 1])
        expected = (step.goal[..., 0] - step.final_return) / 0.01
        assert torch.allclose(missing, expected.clip(-2.0, 2.0), atol=1e-4)
        assert torch.allclose(left, ((step.goal[..., 1] - drawdown) / 0.02).clip(-2.0, 2.0))
        assert torch.equal(step.terms.sum(0), step.reward)


def test_drawdown_cannot_be_undone_within_an_episode_and_is_forgotten_after_it():
    prices = small_world().prices.copy()
    prices[:, ::2, :4] *= 0.97  # down and up again, bar by bar
    task = goals(world=replace(small_world(), prices=prices))
    made = play(task, LENGTH + 1)

    achieved, deepest = [], torch.zeros(N, B)
    for step in made[:LENGTH]:
        deepest = torch.maximum(deepest, step.final_private[..., 1])
        achieved.append(torch.stack([step.final_return, deepest], -1))
        assert torch.allclose(step.reward, goal_reward(SETTINGS, achieved[-1], step.goal))
    assert any(
        (step.final_private[..., 1] < at[..., 1]).any()
        for step, at in zip(made, achieved, strict=False)
    )
    worst = torch.stack([step.state[2][2] for step in made])
    assert (worst[1 : LENGTH - 1] >= worst[: LENGTH - 2]).all()
    assert worst[LENGTH - 2].min() > 0.02
    assert worst[LENGTH - 1].max() == 0.0


def test_success_is_the_share_of_environments_whose_last_episode_met_its_goal():
    easy = replace(SETTINGS, return_range_frac=(-1.0, 1e-9), drawdown_range_frac=(0.9, 1.0))
    task = goals(easy)
    made = play(task, LENGTH)

    assert task_metrics(task, made[0].state)["goal/success"].tolist() == [0.0] * N
    assert task_metrics(task, made[-1].state)["goal/success"].tolist() == [1.0] * N


def test_backtest_asks_for_one_goal_all_along():
    settings = replace(SETTINGS, asked_return_frac=0.005, asked_drawdown_frac=0.015)
    trained = goals(settings)
    world = crashed(small_world(), 1, 300)
    backtest = trained.dress(evaluation_task(world, trained.config, first_bar=250, last_bar=350))
    state, seen = backtest.begin()
    made = backtest.step(state, torch.ones(N, 1))

    assert backtest.private_names == trained.private_names
    assert not backtest.resets
    assert seen.private[..., 2].flatten().tolist() == pytest.approx([0.5] * N)
    assert made.goal[0, 0].tolist() == pytest.approx([0.005, 0.015])
    numbers = torch.zeros(len(PRIVATE_NAMES), N)
    assert torch.allclose(trained.show_private(numbers)[:, 0, 2:], seen.private[:, 0, 2:])


def test_reward_of_tensors_is_that_of_arrays():
    draws = torch.randn(64, 2, generator=torch.Generator().manual_seed(1)) * 0.02
    desired = torch.rand(64, 2, generator=torch.Generator().manual_seed(2)) * 0.02
    for rules in (SETTINGS, replace(SETTINGS, reward="sparse")):
        paid = goal_reward(rules, draws, desired)
        assert np.allclose(paid.numpy(), goal_reward(rules, draws.numpy(), desired.numpy()))
        assert (paid <= 0.0).all()
    assert meets_goal(draws, desired).any()
