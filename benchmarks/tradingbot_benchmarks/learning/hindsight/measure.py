"""What hindsight replay gains and costs: success with and without it, SB3 beside, sampling."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from tradingbot.learning.hindsight import Hindsight
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.replay import Replay, transitions_of
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import extras_of
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.hindsight.reach import EPISODE_STEPS, ReachEnv, ReachTask
from tradingbot_benchmarks.record import BenchRecord

STEPS = 6_000
"""Of one agent, for ours and SB3 alike."""
_HIDDEN = (64, 64)
_N_ENVS = 4
_RATE, _DISCOUNT, _BATCH = 1e-3, 0.95, 256
_HEAD = HeadConfig(hidden=_HIDDEN, activation="relu", pooling="independent")
_CONFIG = SACConfig(
    actor=_HEAD,
    critic=_HEAD,
    learning_rate=constant(_RATE),
    temperature_rate=_RATE,
    temperature=0.2,
    target_normalised_entropy=0.2,
    discount=_DISCOUNT,
    buffer_size=50_000,
    warm_up=500,
    batch_size=_BATCH,
    gradient_steps=_N_ENVS,
    steps_per_update=50,
    scale_rewards=False,
)
GOAL_GAIN = 0.3


def success_of_ours(strategy: str, n_agents: int, steps: int = STEPS) -> list[float]:
    """Return the share of episodes that end at their goal, deterministic, for each agent.

    Agents are repetitions: each has networks, draws and goals of its own.
    """
    task = ReachTask(n_agents, _N_ENVS, 1)
    settings = HindsightConfig(strategy=strategy)  # type: ignore[arg-type]
    learner = SAC(task, TableView(task.table), replace(_CONFIG, hindsight=settings), seed=1)
    while learner.steps < steps:
        learner.update()
    return _success(learner, n_agents)


def _success(learner: SAC, n_agents: int) -> list[float]:
    task = ReachTask(n_agents, 256, 1_001)
    state, seen = task.begin()
    reached = torch.zeros(n_agents, 256, dtype=torch.bool)
    for _ in range(EPISODE_STEPS):
        step = task.step(state, learner.act(seen))
        state, seen, reached = step.state, step.observation, step.reward == 0.0
    found: list[float] = reached.double().mean(1).tolist()
    return found


def success_of_sb3(seeds: Sequence[int], steps: int = STEPS) -> list[float]:
    """Return the same of SB3's SAC with its `HerReplayBuffer`, settings alike."""
    from stable_baselines3 import SAC as SB3SAC
    from stable_baselines3 import HerReplayBuffer

    found = []
    for seed in seeds:
        env = ReachEnv(seed)
        model = SB3SAC(
            "MultiInputPolicy",
            env,
            learning_rate=_RATE,
            buffer_size=50_000,
            learning_starts=500,
            batch_size=_BATCH,
            gamma=_DISCOUNT,
            replay_buffer_class=HerReplayBuffer,
            replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
            policy_kwargs={"net_arch": list(_HIDDEN)},
            seed=seed,
            device="cpu",
        )
        model.learn(steps)
        judge, wins, n_episodes = ReachEnv(seed + 1_000), 0, 100
        for _ in range(n_episodes):
            seen, info = judge.reset()
            for _ in range(EPISODE_STEPS):
                action, _ = model.predict(seen, deterministic=True)
                seen, _, _, _, info = judge.step(action)
            wins += bool(info["is_success"])
        found.append(wins / n_episodes)
    return found


def hindsight_gain(n_agents: int, steps: int, *, with_sb3: bool) -> BenchRecord:
    """Measure how much more often goals are reached with hindsight than without."""
    ours, plain = (success_of_ours(each, n_agents, steps) for each in ("future", "off"))
    gain = _mean(ours) - _mean(plain)
    seeds = tuple(range(1, n_agents + 1))
    beside = f", SB3's SAC with HER {_tell(success_of_sb3(seeds, steps))}" if with_sb3 else ""
    note = (
        f"point on a square, sparse reward, {steps:,} steps, {n_agents} agents each: success of "
        f"SAC with hindsight {_tell(ours)}, without {_tell(plain)}{beside}; goal {GOAL_GAIN:g}"
    )
    return BenchRecord("her_success_gain", gain, "fraction", note=note)


def sampling(n_agents: int, capacity: int, n_draws: int = 30) -> BenchRecord:
    """Time the drawing and relabelling of 256 transitions of each agent, best of some."""
    task = ReachTask(n_agents, 16, 1)
    extras = replace(extras_of(task), terms=False, reward=False)
    hindsight = Hindsight(task, HindsightConfig(strategy="future"))
    sizes = (n_agents, 16, hindsight.n_kept)
    replay = Replay(*sizes, capacity=capacity, n_components=2, extras=extras)
    state, seen = task.begin()
    draws = torch.Generator().manual_seed(1)
    for _ in range(min(replay.n_slots, 2_000)):
        action = 2.0 * torch.rand(n_agents, 16, 2, generator=draws) - 1.0
        step = task.step(state, action)
        replay.insert(hindsight.strip(transitions_of(seen, action, step, extras)))
        state, seen = step.state, step.observation
    times = []
    for _ in range(n_draws):
        began_s = time.perf_counter()
        hindsight.sample(replay, 256, draws)
        times.append(time.perf_counter() - began_s)
    note = (
        f"256 transitions of each of {n_agents} agents with goals of later steps, replay of "
        f"{capacity:,} ({replay.state_bytes / 1e6:.0f} MB), best of {n_draws}; goal 10 ms"
    )
    return BenchRecord("her_sample_ms", 1e3 * min(times), "ms", note=note)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _tell(values: Sequence[float]) -> str:
    return f"{_mean(values):.0%} ({', '.join(f'{value:.0%}' for value in values)})"
