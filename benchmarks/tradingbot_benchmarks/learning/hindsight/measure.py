"""What hindsight replay gains and costs: success with and without it, SB3 beside, sampling."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import torch

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.learning.hindsight import Hindsight
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.replay import Replay, transitions_of
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import extras_of
from tradingbot.market.goals import GoalSettings
from tradingbot.market.params import EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.hindsight.reach import EPISODE_STEPS, ReachEnv, ReachTask
from tradingbot_benchmarks.record import BenchRecord

STEPS = 6_000
"""Of one agent, for ours and SB3 alike."""
_HIDDEN = (64, 64)
_N_ENVS = 4
_LANES = 16
"""Environments of each agent where sampling is timed."""
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


def sampling(n_agents: int, capacity: int, n_draws: int = 40) -> BenchRecord:
    """Time the drawing and relabelling of 256 transitions of each agent from a full replay.

    Agents trade towards returns and see their size, return and drawdown; one thread.
    """
    world = synthetic_world("planted", n_symbols=n_agents, n_bars=600, seed=1)
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=64))
    own = PopulationTask(world, EnvConfig(rules=rules), n_envs=_LANES, seed=1)
    task = GoalTask(own.showing("size", "total_return", "drawdown"), GoalSettings())
    hindsight = Hindsight(task, HindsightConfig(strategy="future"))
    replay, draws = _filled(task, hindsight, capacity), torch.Generator().manual_seed(2)
    clock, processor = [], []
    with torch_threads(1):
        for _ in range(n_draws):
            began_s, worked_s = time.perf_counter(), time.thread_time()
            hindsight.sample(replay, _BATCH, draws)
            processor.append(time.thread_time() - worked_s)
            clock.append(time.perf_counter() - began_s)
    note = (
        f"{_BATCH} transitions of each of {n_agents} agents with goals of later steps, full replay "
        f"of {capacity:,} each ({replay.state_bytes / 1e9:.3f} GB), one thread, best of {n_draws}; "
        f"median {1e3 * median(clock):.2f} ms by the clock, of the processor best "
        f"{1e3 * min(processor):.2f} and median {1e3 * median(processor):.2f} ms; goal 10 ms"
    )
    return BenchRecord("her_sample_ms", 1e3 * min(clock), "ms", note=note)


def _filled(task: GoalTask, hindsight: Hindsight, capacity: int) -> Replay:
    """Play at random until the replay has gone round."""
    n_agents, extras = len(task.agent_names), replace(extras_of(task), terms=False, reward=False)
    replay = Replay(n_agents, _LANES, hindsight.n_kept, capacity=capacity, extras=extras)
    (state, seen), draws = task.begin(), torch.Generator().manual_seed(1)
    for _ in range(replay.n_slots + 1):
        action = 2.0 * torch.rand(n_agents, _LANES, generator=draws) - 1.0
        step = task.step(state, action)
        replay.insert(hindsight.strip(transitions_of(seen, action, step, extras)))
        state, seen = step.state, step.observation
    return replay


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _tell(values: Sequence[float]) -> str:
    return f"{_mean(values):.0%} ({', '.join(f'{value:.0%}' for value in values)})"
