"""Reward terms and episode numbers of every step, as multi-objective learners will read them."""

from __future__ import annotations

import torch

from reference.value_targets import lambda_targets_by_loop
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.task import PopulationTask
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner import Experience, Update
from tradingbot.learning.rollout import Choice, Rollout, allocate_rollout, collect_rollout
from tradingbot.learning.task import Observation, TransitionExtras
from tradingbot.market.params import EpisodeRules, SimulatorParams


def rollout_of(extras: TransitionExtras, *, n_steps: int = 160) -> tuple[PopulationTask, Rollout]:
    world = synthetic_world("noise", n_symbols=2, n_bars=800, seed=3)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=48))
    config = EnvConfig(rules=rules, reward="v31")
    task = PopulationTask(world, config, n_envs=3, seed=1)
    generator = torch.Generator().manual_seed(1)

    def choose(observation: Observation) -> Choice:
        action = 2.0 * torch.rand(observation.row.shape, generator=generator) - 1.0
        return Choice(action, action, torch.zeros_like(action))

    rollout = allocate_rollout(task, n_steps, extras)
    collect_rollout(task, *task.begin(), choose, rollout)
    return task, rollout


def test_targets_of_each_objective_add_up_to_those_of_the_reward() -> None:
    task, rollout = rollout_of(TransitionExtras(terms=True))
    terms = rollout.step_terms

    assert terms is not None
    assert terms.shape == (160, len(task.term_names), 2, 3)
    assert int((terms.abs().sum((0, 2, 3)) > 0.0).sum()) >= 3  # several terms say something
    torch.testing.assert_close(terms.sum(1), rollout.reward, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(terms.sum(0), rollout.terms, rtol=1e-4, atol=1e-4)

    # A critic for each objective, whatever it says; together they are one critic of the reward.
    values = torch.randn(terms.shape, generator=torch.Generator().manual_seed(2))
    ends = (rollout.terminated, rollout.truncated)
    objectives = [
        lambda_targets_by_loop(terms[:, k], values[:, k], *ends, discount=0.95, decay=0.9)
        for k in range(terms.shape[1])
    ]
    whole = lambda_targets_by_loop(rollout.reward, values.sum(1), *ends, discount=0.95, decay=0.9)
    torch.testing.assert_close(torch.stack(objectives).sum(0), whole, rtol=1e-3, atol=1e-3)


def test_episode_numbers_rise_where_an_episode_ends() -> None:
    _, rollout = rollout_of(TransitionExtras(episode=True))
    episode = rollout.episode

    assert episode is not None
    assert episode.dtype == torch.int64
    assert episode[0].unique().tolist() == [0]
    ended = (rollout.terminated | rollout.truncated)[:-1].long()
    assert int(ended.sum()) > 0
    assert torch.equal(episode[1:] - episode[:-1], ended)


def test_nothing_is_kept_without_a_request() -> None:
    _, rollout = rollout_of(TransitionExtras(), n_steps=4)
    assert rollout.step_terms is None
    assert rollout.episode is None
    assert rollout.turnover is None


def test_turnover_is_what_changed_hands_of_what_the_account_was_worth() -> None:
    world = synthetic_world("noise", n_symbols=2, n_bars=800, seed=3)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=4))
    task = PopulationTask(world, EnvConfig(rules=rules, costs="free"), n_envs=3, seed=1)  # type: ignore[arg-type]
    state, seen = task.begin()
    told = []
    for _ in range(5):
        made = task.step(state, torch.ones(seen.row.shape))
        state, seen = made.state, made.observation
        assert made.turnover is not None
        told.append(made.turnover)

    first, *_, last, again = told
    # Smoothed over three bars, the first order is for a part of the 15 % that are allowed.
    assert ((first > 0.0) & (first < 0.15)).all()
    assert (last == -1.0).all()  # the account that traded is gone
    assert ((again > 0.0) & (again < 0.15)).all()
    assert (torch.stack(told[:3]).sum(0) <= 0.16).all()


def test_recorder_knows_the_turnover_of_a_market_task() -> None:
    task, rollout = rollout_of(TransitionExtras(turnover=True))
    told = ("action", "executed", "traded", "reward", "terms", "turnover")
    experience = Experience(*(getattr(rollout, name) for name in told))

    report = FlightRecorder(task).record(Update({}, experience), updates=1, steps=480)

    found = report.to_row()["measures"]["market/turnover"]
    assert all(number is not None and 0.0 < number < 1.0 for number in found)
