"""How long our PPO and Stable-Baselines3's take to reach a stated quality on one task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.errors import MissingExtraError
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.task import Observation, Task
from tradingbot.networks.distributions import round_to_levels
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.ppo.reference import PPOSetting, sb3_act, vec_env

try:
    from stable_baselines3.common.logger import Logger
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e


class Race(NamedTuple):
    """What is to be reached, and when each is given up."""

    target: float
    """Score, e.g. 0.9 of the oracle."""
    limit_s: float
    """Seconds of learning after which ours is given up."""
    patience: float
    """SB3 is given up after so many times what ours took; the ratio is then a bound."""


class TimeToQuality(NamedTuple):
    """When a learner first reached a score."""

    seconds: float
    """Of learning alone; of all learning where it never got there."""
    reached: bool
    steps: int
    """Environment steps over all environments."""
    best: float
    """Best score seen."""
    processor_s: float
    """Of the same learning, on the processor: neighbours hardly count."""


def time_to_quality(
    improve: Callable[[], int], score: Callable[[], float], target: float, *, limit_s: float
) -> TimeToQuality:
    """Learn until a score is reached or the time is up; scoring is not timed.

    After ten turns only every tenth part more is scored: who is told late is at most a tenth late.

    Args:
        improve: Learns a little and returns environment steps made so far.
        score: Of the deterministic policy, in a play that the learner does not see.
        target: What must be reached.
        limit_s: Seconds of learning after which to give up.
    """
    spent_s, worked_s, best, steps = 0.0, 0.0, score(), 0
    turns, due = 0, 1
    while best < target and spent_s < limit_s:
        began_s, idle_s = time.perf_counter(), time.process_time()
        steps = improve()
        spent_s += time.perf_counter() - began_s
        worked_s += time.process_time() - idle_s
        turns += 1
        if turns >= due or spent_s >= limit_s:
            best, due = max(best, score()), max(turns + 1, int(1.1 * turns))
    return TimeToQuality(spent_s, best >= target, steps, best, worked_s)


def compare_time_to_quality(
    train: Task,
    score: Callable[[Callable[[Observation], Tensor]], float],
    *,
    ours: PPOConfig,
    sb3: PPOSetting,
    race: Race,
    seed: int = 0,
) -> tuple[TimeToQuality, TimeToQuality]:
    """Time both on one task: ours with its agents, SB3 with one network for all of them.

    One network is the best that SB3 can do here: a network per agent needs that many runs, each
    with one agent's data. It stops sooner on markets where agents are alike.

    Args:
        train: N agents with numeric actions.
        score: Plays a policy out of sample and returns its score, e.g. its share of the oracle.
        ours: Our configuration, any.
        sb3: SB3's.
        race: What is to be reached, and when each is given up.
        seed: Of both.
    """
    # Compiling, where the task is compiled, is nobody's learning.
    train.step(train.begin()[0], torch.zeros(len(train.agent_names), train.n_envs))
    mine = PPO(train, TableView(train.table), ours, seed=seed)
    n_lanes = len(train.agent_names) * train.n_envs

    def improve_mine() -> int:
        mine.update()
        return mine.steps * len(train.agent_names)

    theirs = sb3.sb3(vec_env(train), seed)
    theirs.set_logger(Logger(folder=None, output_formats=[]))

    def improve_theirs() -> int:
        theirs.learn(sb3.rollout_steps * n_lanes, reset_num_timesteps=False)
        return theirs.num_timesteps

    numbers = sb3_act(train, theirs)

    def act(seen: Observation) -> Tensor:
        """Round SB3's numbers as ours are: it would else pay for changes that earn nothing."""
        return round_to_levels(numbers(seen), train.action.low, train.action.high, ours.act_levels)

    course = time_to_quality(
        improve_mine, lambda: score(mine.act), race.target, limit_s=race.limit_s
    )
    given_s = race.patience * course.seconds
    return course, time_to_quality(improve_theirs, lambda: score(act), race.target, limit_s=given_s)
