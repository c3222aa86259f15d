"""Rewards made by hand, whose moments and rewards-to-go are known, and those of a small run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents.network_policy import TRADES
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.errors import DataError
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask
from tradingbot.evaluation.analyses import rewards
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis.states import RecordedPolicy, collect_states
from tradingbot.evaluation.analyses.rewards import (
    PlayedRewards,
    correlate,
    describe_rewards,
    measure_rewards,
    play_rewards,
    read_course,
    rewards_by_horizon,
    rewards_to_go,
)
from tradingbot.evaluation.analyses.settings import RewardSettings
from tradingbot.evaluation.backtest import PolicyUnderTest
from tradingbot.market.goals import GOAL_INPUTS, GoalSettings
from tradingbot.runs.acting_checkpoint import acting_checkpoint
from tradingbot.training.environment import EnvironmentSection


def test_moments_and_histogram_of_known_rewards() -> None:
    values = np.array([[1.0, -1.0, 3.0, 1.0], [0.0, 0.0, 0.0, 2.0]])
    first, rare = describe_rewards(("a", "b"), values, 4)
    assert (first.mean, first.deviation) == pytest.approx((1.0, 2.0**0.5))
    assert first.signal_to_noise == pytest.approx(2.0**-0.5)
    assert rare.nonzero_frac == 0.25
    assert first.shares == (0.25, 0.0, 0.5, 0.25)
    assert first.edges == pytest.approx(np.linspace(-1.0, 3.0, 5), abs=0.01)
    (constant,) = describe_rewards(("c",), np.full((1, 7), 0.1), 4)
    assert constant.deviation == 0.0  # and not the 1e-17 that rounding leaves
    assert np.isnan(constant.signal_to_noise)
    assert constant.shares == (1.0,)


def test_correlations_of_known_rewards() -> None:
    base = np.array([1.0, -1.0, 2.0, -2.0])
    values = np.stack([base, -3.0 * base + 5.0, np.array([1.0, 1.0, -1.0, -1.0]), 0.1 + 0.0 * base])
    found = correlate(values)
    np.testing.assert_allclose(found[:3, :3], [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert np.isnan(found[3]).all()
    assert np.abs(found[:3, :3]).max() <= 1.0


def test_reward_to_go_of_a_constant_reward_is_the_geometric_sum() -> None:
    reward, ended = np.ones((7, 1, 2)), np.zeros((7, 1, 2), dtype=bool)
    ended[3, 0, 0] = ended[6, 0, 0] = ended[4, 0, 1] = True  # the last episode is not seen to end
    to_go, steps = rewards_to_go(reward, ended, 0.5)
    assert steps[:, 0, 0].tolist() == [4, 3, 2, 1, 3, 2, 1]
    assert steps[:, 0, 1].tolist() == [5, 4, 3, 2, 1, 0, 0]
    seen = steps > 0
    np.testing.assert_allclose(to_go[seen], 2.0 * (1.0 - 0.5 ** steps[seen]))
    horizons, mean, deviation = rewards_by_horizon(to_go, steps, 3)
    assert horizons == (1, 3, 5)
    assert mean == pytest.approx((1.0, 1.75, 1.9375))
    assert deviation == pytest.approx((0.0, 0.0, 0.0))


def test_spread_of_rewards_to_go_is_between_episodes() -> None:
    reward = np.array([1.0, 3.0])[None, None].repeat(2, axis=0)  # two steps, two environments
    ended = np.array([False, True])[:, None, None] & np.ones((2, 1, 2), dtype=bool)
    horizons, mean, deviation = rewards_by_horizon(*rewards_to_go(reward, ended, 1.0), 2)
    assert (horizons, mean, deviation) == ((1, 2), (2.0, 4.0), (1.0, 2.0))


def test_course_is_the_mean_over_agents_of_every_update() -> None:
    journal = [
        {"updates": 1, "metrics": {"reward/a": [1.0, 3.0], "reward/b": [0.0, 0.5]}},
        {"updates": 2, "metrics": {"loss": 1.0}},
        {"updates": 3, "metrics": {"reward/a": [2.0, 2.0], "reward/b": [1.0, 1.0]}},
    ]
    assert read_course(journal, ("a", "b")) == ((1, 3), (("a", (2.0, 2.0)), ("b", (0.25, 1.0))))
    assert read_course([{"updates": 1}], ("a",)) == ((), ())


def test_rewards_of_a_run_follow_from_its_returns(ppo_subject: EvaluatedRun) -> None:
    """The run's reward is log growth: 200 / 3 · log(1 + net return), also where an episode ends."""
    train = ppo_subject.data.split.train
    task = PopulationTask(ppo_subject.data.world, ppo_subject.env, n_envs=2, seed=1)
    task = task.during(train.start, train.stop - 1)
    played = play_rewards(task, ppo_subject.policy)
    assert played.ended[-1].all()
    growth = (200.0 / 3.0) * np.log1p(played.net_return)
    assert np.ptp(growth) > 0.1
    np.testing.assert_allclose(played.terms[:, 0], growth.clip(-1.0, 1.0), atol=1e-4)


def test_lanes_of_a_policy_are_agents_in_turn(ppo_subject: EvaluatedRun) -> None:
    """A policy that buys for the first agent alone moves nothing of the second."""
    train, n_bars = ppo_subject.data.split.train, ppo_subject.data.world.n_bars
    task = PopulationTask(ppo_subject.data.world, ppo_subject.env, n_envs=3, seed=1)

    def buy_first(seen: PolicyInputs) -> Tensor:
        lane = torch.arange(len(seen.row))
        assert (seen.row // n_bars == lane % 2).all()
        assert seen.private.shape == (18, len(lane))
        return (lane % 2 == 0).float()

    played = play_rewards(task.during(train.start, train.stop - 1), buy_first)
    assert (np.ptp(played.net_return[:, 0], axis=0) > 0.0).all()
    assert (played.net_return[:, 1] == 0.0).all()


def test_analysis_of_a_run_tells_terms_sum_and_return(ppo_subject: EvaluatedRun) -> None:
    found = measure_rewards(ppo_subject, RewardSettings(episodes=2, n_bins=5, n_horizons=4))
    assert [row.quantity for row in found.rows] == ["log_growth", "reward", "net return"]
    bars = ppo_subject.env.rules.episode.episode_bars
    assert (found.episodes, found.steps) == (4, 4 * bars)
    assert found.discount == ppo_subject.config.learner.settings.discount
    assert found.is_learned
    assert found.rows[0].mean == found.rows[1].mean
    assert found.correlation[1][2] == pytest.approx(1.0, abs=1e-3)
    assert all(sum(row.shares) == pytest.approx(1.0) for row in found.rows)
    assert all(len(row.shares) == 5 for row in found.rows)
    assert len(found.steps_to_end) == len(found.to_go_mean) == len(found.to_go_deviation) == 4
    assert found.steps_to_end[-1] == bars
    journal = [*ppo_subject.run.read_journal("metrics")]
    assert found.updates == tuple(row["updates"] for row in journal)
    last = np.mean(journal[-1]["metrics"]["reward/log_growth"])
    assert found.course[0][1][-1] == pytest.approx(last)
    assert found == measure_rewards(ppo_subject, RewardSettings(episodes=2, n_bins=5, n_horizons=4))


def test_training_part_is_played_and_rewards_to_go_have_the_discount_of_the_learner(
    ppo_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, train = ppo_subject.data.world, ppo_subject.data.split.train
    bars, played = list[Tensor](), list[PlayedRewards]()

    def watch(task: PopulationTask, policy: Policy) -> PlayedRewards:
        def look(seen: PolicyInputs) -> Tensor:
            bars.append(seen.row % world.n_bars)
            return policy(seen)

        played.append(play_rewards(task, look))
        return played[-1]

    monkeypatch.setattr(rewards, "play_rewards", watch)
    found = measure_rewards(ppo_subject, RewardSettings(episodes=2, n_horizons=4))

    seen = torch.stack(bars)
    assert train.start <= int(seen.min()) < int(seen.max()) < train.stop
    reward, discount = played[0].terms.sum(axis=1), ppo_subject.config.learner.settings.discount
    assert not played[0].ended[:-1].any()  # every episode is whole
    factor = discount ** np.arange(len(reward))[:, None, None]
    assert found.to_go_mean[-1] == pytest.approx((factor * reward).sum(axis=0).mean())
    assert found.to_go_mean[-1] != pytest.approx(reward.sum(axis=0).mean(), rel=1e-3)


def test_agents_that_stay_out_are_left_out(
    ppo_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = acting_checkpoint(ppo_subject.run)
    for trades, episodes in ((torch.tensor([False, True]), 1), (torch.tensor([False, False]), 0)):
        agent = {**stored.agent, TRADES: trades}
        monkeypatch.setattr(
            rewards, "acting_checkpoint", lambda _, agent=agent: SimpleNamespace(agent=agent)
        )
        if episodes:
            assert measure_rewards(ppo_subject, RewardSettings(episodes=1)).episodes == episodes
        else:
            with pytest.raises(DataError, match="no agent trades"):
                measure_rewards(ppo_subject, RewardSettings())


def test_run_with_goals_is_paid_for_the_goal_that_it_is_asked_for(
    ppo_subject: EvaluatedRun,
) -> None:
    for wanted, paid in ((-1.0, 0.0), (10.0, -1.0)):  # always met, and never
        goal = GoalSettings(asked_return_frac=wanted, asked_drawdown_frac=1.0)
        section = EnvironmentSection(kind="goal", goal=goal)
        config = ppo_subject.config.model_copy(update={"environment": section})
        found = measure_rewards(replace(ppo_subject, config=config), RewardSettings(episodes=1))
        assert [row.quantity for row in found.rows] == ["goal", "reward", "net return"]
        assert [row.mean for row in found.rows[:2]] == [paid, paid]
    assert found.course == ()  # the run itself was paid another reward
    watched = RecordedPolicy(ppo_subject.policy)
    (played,) = ppo_subject.backtest_all([PolicyUnderTest("p", watched)], "test")
    states = collect_states(replace(ppo_subject, config=config), played, watched, 100)
    assert states.names[-4:] == tuple(f"own {name}" for name in GOAL_INPUTS)
    assert states.private.shape[1] == len(config.task.private or PRIVATE_NAMES) + 4
    assert (states.column("own goal_return") == 10.0 / 0.02).all()


def test_learner_with_another_objective_is_told(subject: EvaluatedRun) -> None:
    found = measure_rewards(subject, RewardSettings(episodes=1))
    assert not found.is_learned
    assert found.discount == 1.0
