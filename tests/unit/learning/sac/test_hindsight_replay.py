"""Hindsight on SAC: which goals are chosen, what they pay, what is refused; SB3 as a reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.replay_pairs import drawn_pairs
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.learning.hindsight import Hindsight
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.replay import Replay, Transitions, transitions_of
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.task import Task, extras_of
from tradingbot.market.goals import GOAL_INPUTS, GoalSettings
from tradingbot.market.params import EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.hindsight.measure import success_of_ours
from tradingbot_benchmarks.learning.hindsight.reach import (
    EPISODE_STEPS,
    ReachEnv,
    ReachTask,
    reach_reward,
)

SETTINGS = GoalSettings(return_range_frac=(0.0, 0.02), tolerance_frac=0.001)
SMALL = SACConfig(
    actor=HeadConfig(hidden=(8,)),
    critic=HeadConfig(hidden=(8,)),
    buffer_size=400,
    warm_up=16,
    batch_size=16,
    steps_per_update=8,
    hindsight=HindsightConfig("future"),
)
Strategy = Literal["future", "episode", "random"]


def collected(task: Task, n_steps: int, *, slots: int = 200) -> tuple[Replay, list[Transitions]]:
    """Play at random; return the replay and every step."""
    extras = replace(extras_of(task), terms=False)
    n_agents, k = len(task.agent_names), task.action.n_components
    replay = Replay(
        *(n_agents, task.n_envs, task.n_private),
        capacity=slots * task.n_envs,
        n_components=k,
        extras=extras,
    )
    draws, made = torch.Generator().manual_seed(1), []
    state, seen = task.begin()
    for _ in range(n_steps):
        shape = (n_agents, task.n_envs, *task.action.shape)
        action = 2.0 * torch.rand(shape, generator=draws) - 1.0
        step = task.step(state, action)
        made.append(transitions_of(seen, action, step, extras))
        replay.insert(made[-1])
        state, seen = step.state, step.observation
    return replay, made


def goal_task(*private: str) -> GoalTask:
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=20))
    world = synthetic_world("planted", n_symbols=2, n_bars=400, seed=1)
    own = PopulationTask(world, EnvConfig(rules=rules), n_envs=3, seed=1)
    return GoalTask(own.showing(*private) if private else own, SETTINGS)


def _part(part: Tensor | None) -> Tensor:
    assert part is not None
    return part


@pytest.mark.parametrize("n_steps", [5, 70, 251])
@pytest.mark.parametrize("strategy", ["future", "episode", "random"])
def test_goals_come_from_where_the_strategy_says(strategy: Strategy, n_steps: int) -> None:
    task = ReachTask(2, 3, 1)
    replay, made = collected(task, n_steps, slots=100)
    oldest, number = max(0, n_steps - 100), {}
    for step, each in enumerate(made):
        for place, lane in zip(_part(each.achieved).reshape(-1, 2), range(6), strict=True):
            number[tuple(place.tolist())] = (step, lane)

    now, other = drawn_pairs(replay, 300, torch.Generator().manual_seed(3), strategy=strategy)

    ahead = []
    for agent in range(2):
        pairs = zip(_part(now.achieved)[agent], _part(other.achieved)[agent], strict=True)
        for one, goal in pairs:
            (at, lane), (then, whose) = (number[tuple(x.tolist())] for x in (one, goal))
            assert lane // 3 == whose // 3 == agent
            assert oldest <= then < n_steps
            if strategy != "random":
                assert lane == whose
                assert at // EPISODE_STEPS == then // EPISODE_STEPS
                ahead.append(then - at)
    if strategy == "future":
        assert min(ahead) == 0
    if strategy == "episode" and n_steps > 5:
        assert min(ahead) < -5
        assert max(ahead) > 5


def test_four_of_five_transitions_get_a_goal_that_was_reached() -> None:
    task = ReachTask(2, 3, 1)
    replay, _ = collected(task, 90)
    hindsight = Hindsight(task, HindsightConfig("future"))
    draws = torch.Generator().manual_seed(1)

    found = hindsight.sample(replay, 500, draws)
    drawn, other = drawn_pairs(replay, 500, torch.Generator().manual_seed(1), strategy="future")

    assert HindsightConfig().ratio == 0.8
    assert torch.equal(_part(found.goal)[:, :400], _part(other.achieved)[:, :400])
    assert torch.equal(_part(found.goal)[:, 400:], _part(drawn.goal)[:, 400:])
    assert torch.equal(found.reward, reach_reward(found.achieved, found.goal).float())
    assert torch.equal(found.private[..., 2:], _part(found.goal))
    assert torch.equal(found.private[..., :2], drawn.private[..., :2])
    assert torch.equal(found.reward[:, 400:], drawn.reward[:, 400:])
    reached = float((found.reward[:, :400] == 0.0).double().mean())
    assert reached > 5 * float((drawn.reward == 0.0).double().mean()) + 0.03


def test_trading_task_relabels_what_is_seen_and_paid_as_if_the_goal_had_been_the_other() -> None:
    task = goal_task()
    _, made = collected(task, 30)
    step = made[-1]

    same = task.relabel(step, _part(step.goal))
    torch.testing.assert_close(same.private, step.private)
    torch.testing.assert_close(same.final_private, step.final_private)
    assert torch.equal(same.reward, step.reward)

    met = task.relabel(step, _part(step.achieved))
    assert met.reward.unique().tolist() == [0.0]
    shown = met.private[..., -len(GOAL_INPUTS)]
    torch.testing.assert_close(shown, _part(step.achieved)[..., 0] / 0.02)
    others = len(task.private_names) - len(GOAL_INPUTS)
    assert torch.equal(met.private[..., :others], step.private[..., :others])

    more = _part(step.achieved) + torch.tensor([0.002, 0.0])
    assert task.relabel(step, more).reward.unique().tolist() == [-1.0]
    nearly = _part(step.achieved) + torch.tensor([0.0009, 0.0])  # within the tolerance
    assert task.relabel(step, nearly).reward.unique().tolist() == [0.0]


def test_sac_with_hindsight_resumes_bit_for_bit_and_learns_from_other_goals() -> None:
    task = goal_task()

    def learner(config: SACConfig, seed: int = 1) -> SAC:
        return SAC(task, TableView(task.table), config, seed=seed)

    whole, resumed = learner(SMALL), learner(SMALL, seed=9)
    plain = learner(replace(SMALL, hindsight=HindsightConfig()))
    for each in (whole, plain):
        for _ in range(3):
            each.update()
    resumed.load_state(whole.state())
    for each in (whole, resumed):
        for _ in range(3):
            each.update()

    one, other = whole.state(), resumed.state()
    assert [key for key in one if not torch.equal(one[key], other[key])] == []
    assert "replay/spans" in one
    assert "replay/spans" not in plain.state()


@pytest.mark.parametrize("strategy", ["future", "episode", "random"])
def test_what_a_goal_shows_and_pays_is_worked_out_to_the_bits_of_a_replay_that_keeps_it(
    strategy: Strategy,
) -> None:
    task = goal_task("size", "total_return", "drawdown")
    hindsight = Hindsight(task, HindsightConfig(strategy))
    full, made = collected(task, 70, slots=50)
    extras, sizes = replace(extras_of(task), reward=False), (2, task.n_envs, hindsight.n_kept)
    thin = Replay(*sizes, capacity=50 * task.n_envs, extras=extras)
    for step in made:
        thin.insert(hindsight.strip(step))

    kept, worked_out = (
        hindsight.sample(replay, 200, torch.Generator().manual_seed(2)) for replay in (full, thin)
    )

    assert thin.state_bytes < full.state_bytes
    assert worked_out.private.shape == (2, 200, task.n_private)
    for one, other in zip(kept, worked_out, strict=True):
        assert (one is None and other is None) or torch.equal(_part(one), _part(other))


def test_replay_of_143_agents_and_200_000_transitions_takes_less_than_two_gigabytes() -> None:
    task = goal_task("size", "total_return", "drawdown")
    learner = SAC(task, TableView(task.table), SMALL, seed=1)

    replay = learner._memory.replay
    per_transition = learner.replay_bytes / (2 * replay.n_slots * task.n_envs)

    assert per_transition * 143 * 200_000 < 2e9
    assert bool(replay.sample(4, torch.Generator().manual_seed(1)).reward.isnan().all())


@pytest.mark.parametrize("strategy", ["future", "episode", "random"])
def test_every_strategy_is_learned_with(strategy: Strategy) -> None:
    task = goal_task("size", "total_return", "drawdown")
    config = replace(SMALL, hindsight=HindsightConfig(strategy))
    learner = SAC(task, TableView(task.table), config, seed=1)
    for _ in range(3):
        metrics = learner.update().metrics
    assert all(bool(value.isfinite().all()) for value in metrics.values())


def test_hindsight_is_refused_where_it_cannot_act() -> None:
    world = synthetic_world("planted", n_symbols=2, n_bars=400, seed=1)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=20))
    task = PopulationTask(world, EnvConfig(rules=rules), n_envs=2, seed=1)
    with pytest.raises(ConfigError, match="must have goals to relabel"):
        SAC(task, TableView(task.table), SMALL, seed=1)

    blind = goal_task("size")
    with pytest.raises(ConfigError, match="must see their return and drawdown"):
        SAC(blind, TableView(blind.table), SMALL, seed=1)

    class Bonus:
        needs_terms = False

        def transform(self, steps: Any) -> Tensor:
            return torch.as_tensor(steps.reward)

        def learn(self, steps: Any) -> dict[str, Tensor]:
            return {}

        def parts(self) -> dict[str, Any]:
            return {}

    goals = goal_task()
    with pytest.raises(ConfigError, match="as they are paid where goals are relabelled"):
        SAC(goals, TableView(goals.table), SMALL, seed=1, reward_transform=Bonus())


def test_relabelled_rewards_and_goals_are_those_of_stable_baselines() -> None:
    """The same episode in both: goals from the same steps, and the same reward for each pair."""
    buffers = pytest.importorskip("stable_baselines3.her.her_replay_buffer")
    vec = pytest.importorskip("stable_baselines3.common.vec_env")
    env, task = ReachEnv(1), ReachTask(1, 1, 1)
    buffer = buffers.HerReplayBuffer(
        200, env.observation_space, env.action_space, vec.DummyVecEnv([lambda: env]),
        n_sampled_goal=4, goal_selection_strategy="future",
    )  # fmt: skip
    draws = torch.Generator().manual_seed(5)
    seen, _ = env.reset()
    state, _ = task.begin()
    state[0][2:4] = torch.from_numpy(seen["desired_goal"])[:, None]
    places, steps = [], []
    for _ in range(EPISODE_STEPS):
        action = 2.0 * torch.rand(1, 1, 2, generator=draws) - 1.0
        after, reward, _, done, info = env.step(action[0, 0].numpy())
        step = task.step(state, action)
        torch.testing.assert_close(
            _part(step.achieved)[0, 0], torch.from_numpy(after["achieved_goal"])
        )
        assert float(step.reward) == reward
        batched = [{key: value[None] for key, value in each.items()} for each in (seen, after)]
        buffer.add(*batched, action[0].numpy(), np.array([reward]), np.array([done]), [info])
        places.append(tuple(np.round(after["achieved_goal"], 5).tolist()))
        steps.append(transitions_of(task.observe(state), action, step, extras_of(task)))
        seen, state = after, step.state
    np.random.seed(1)  # noqa: NPY002 - what SB3 draws from

    drawn = buffer.sample(500)

    theirs = drawn.next_observations
    n_other = 0
    for reached, goal, paid in zip(
        theirs["achieved_goal"], theirs["desired_goal"], drawn.rewards[:, 0], strict=True
    ):
        at = places.index(tuple(np.round(reached.numpy(), 5).tolist()))
        ours = task.relabel(steps[at], goal.view(1, 1, 2))
        assert float(ours.reward) == float(paid)
        from_step = tuple(np.round(goal.numpy(), 5).tolist())
        if from_step in places:  # a later step, itself included
            n_other += 1
            assert places.index(from_step) >= at
    assert n_other == 400  # four of five, as ours


@pytest.mark.slow
def test_success_rises_by_thirty_points_where_plain_sac_finds_nothing() -> None:
    ours, plain = (success_of_ours(each, 3) for each in ("future", "off"))
    assert min(ours) > 0.8
    assert sum(ours) / 3 - sum(plain) / 3 > 0.3
