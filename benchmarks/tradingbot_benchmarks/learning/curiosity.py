"""What curiosity costs: updates with and without it, in turns, at SPEC's sizes of networks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.curiosity.transform import Curiosity
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.sac.config import SACConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.threads import one_thread

_SEED, _GOAL = 7, 0.20
_HEAD = HeadConfig(pooling="independent")
_CRITICS = HeadConfig(hidden=(256, 256, 128), activation="relu", pooling="independent")
_SETTINGS: dict[str, tuple[Any, int, int]] = {
    "ppo": (PPOConfig(actor=_HEAD, critic=_HEAD, rollout_steps=256, kl_stop=0.0), 8, 3),
    "sac": (SACConfig(actor=_CRITICS, critic=_CRITICS, warm_up=16, steps_per_update=8), 16, 15),
}
"""Settings, environments of each agent and turns: SPEC's heads, batches and epochs."""


def icm_overhead(n_agents: int) -> Iterator[BenchRecord]:
    """Yield the time that curiosity adds to PPO (`icm_overhead`) and to SAC, as a fraction.

    Updates with and without take turns; the shortest of each counts. Time of the processor in one
    thread, not of the clock: what else runs does not count, and no thread waits for another.
    """
    agents = min(n_agents, 2)
    for name, (_, n_envs, turns) in _SETTINGS.items():
        with one_thread():
            learners = [_learner(name, agents, with_it=w) for w in (False, True)]
            times = [[_timed(learner) for learner in learners] for _ in range(turns + 1)]
        without, with_it = (min(own) for own in zip(*times[1:], strict=True))
        note = (
            f"{name.upper()} with curiosity ({with_it:.3f} s an update) over without "
            f"({without:.3f} s), less 1; {agents} agents with networks of their own × {n_envs} "
            f"environments, synthetic regimes; best of {turns} turns, time of the processor in "
            f"one thread; goal below {_GOAL:g}"
        )
        label = "icm_overhead" if name == "ppo" else f"icm_overhead_{name}"
        yield BenchRecord(label, with_it / without - 1.0, "fraction of time", note=note)


def _learner(name: str, n_agents: int, *, with_it: bool) -> Learner:
    world = synthetic_world("regimes", n_symbols=n_agents, n_bars=1_000, seed=_SEED)
    config, n_envs, _ = _SETTINGS[name]
    task = PopulationTask(world, EnvConfig(), n_envs=n_envs, seed=_SEED, compiled=False)
    transform = Curiosity(task, CuriosityConfig(mix=0.1), seed=_SEED) if with_it else None
    spec, view = learner_spec(name), TableView(task.table)
    return spec.build(task, view, config, seed=_SEED, reward_transform=transform)


def _timed(learner: Learner) -> float:
    began_s = time.process_time()
    learner.update()
    return time.process_time() - began_s
