"""How long V-trace and PPO take to the same quality on one task, each on one core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tradingbot.envs.build_world import world_from_market
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.learning.impala.learner import IMPALA
from tradingbot.learning.impala.spec import market_settings
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.config import PPO_PRESETS
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.ppo.quality import TimeToQuality, time_to_quality
from tradingbot_benchmarks.learning.sac.quality import CONFIG, Judge
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.recovery.table import over_seeds
from tradingbot_benchmarks.simulator.bench import absent, within

QUALITY = 0.8
SEEDS = tuple(range(20, 27))
"""Times differ by a factor of five from seed to seed: three say little. No setting was tried on
these."""
HASTY = replace(
    market_settings(),
    n_epochs=2,
    minibatch=256,
    learning_rate=Schedule("cosine", 8e-3, 0.0, over=245_760),
)
"""Settings that are soon good, chosen on seeds 100 to 106; those of the market learn for longer."""
_N_ENVS = 16
_WARM_UP_BARS, _TRAIN_BARS, _TEST_BARS = 200, 3_528, 1_200


def vtrace_vs_ppo(
    n_agents: int, limit_s: float, *, compiled: bool, seeds: tuple[int, ...] = SEEDS
) -> BenchRecord:
    """Time both until their deterministic policies earn the same share of the oracle's return.

    Args:
        n_agents: Symbols of the planted market.
        limit_s: Seconds of the clock of learning after which one that is not there is given up.
        compiled: Compile the simulator.
        seeds: Of market and learners; times are summed over them.
    """
    with torch_threads(1):
        found = [_race(n_agents, limit_s, seed, compiled=compiled) for seed in seeds]
    ours, ppo = (sum(c.processor_s for c in courses) for courses in zip(*found, strict=True))
    clock = [sum(c.seconds for c in courses) for courses in zip(*found, strict=True)]
    told = "; ".join(
        f"seed {seed}: {_tell(a)} against {_tell(b)}"
        for seed, (a, b) in zip(seeds, found, strict=True)
    )
    note = (
        f"synthetic planted κ = 0.10, {n_agents} symbols, {_N_ENVS} environments; until "
        f"{QUALITY:.0%} of the oracle's net return on {_TEST_BARS:,} later bars; V-trace with "
        f"actors in this process, one update behind, and PPO, preset market, one core each; "
        f"processor's seconds summed over seeds, by the clock {clock[0]:.1f} and {clock[1]:.1f} s; "
        f"V-trace's time over PPO's by seed {_tell_ratios(found)}; {told}"
    )
    name = "vtrace_vs_ppo"
    if not all(course.reached for courses in found for course in courses):
        return absent(name, "s", note)
    return within(name, ours, "s", ppo, "PPO", note=note)


def _race(
    n_agents: int, limit_s: float, seed: int, *, compiled: bool
) -> tuple[TimeToQuality, TimeToQuality]:
    bars = _WARM_UP_BARS + _TRAIN_BARS + _TEST_BARS
    market = synthetic_market(
        "planted", n_symbols=n_agents, n_bars=bars, seed=seed, params={"kappa": 0.10}
    )
    world = world_from_market(market, label=f"synthetic planted market, seed {seed}")
    judge = Judge(market, world, compiled=compiled)
    task = PopulationTask(world, CONFIG, n_envs=_N_ENVS, seed=seed, compiled=compiled)
    task = task.during(_WARM_UP_BARS, _WARM_UP_BARS + _TRAIN_BARS - 1)
    view = TableView(task.table)
    courses = []
    for name in ("vtrace", "ppo"):
        _learner(name, task, view, seed).update()  # whoever is first would pay for compiling
        learner = _learner(name, task, view, seed)

        def improve(learner: Learner = learner) -> int:
            learner.update()
            return learner.steps * n_agents

        def score(learner: Learner = learner) -> float:
            return judge.share(learner.act)

        courses.append(time_to_quality(improve, score, QUALITY, limit_s=limit_s))
    return courses[0], courses[1]


def _learner(name: str, task: PopulationTask, view: TableView, seed: int) -> Learner:
    if name == "vtrace":
        return IMPALA(task, view, HASTY, seed=seed)
    return PPO(task, view, PPO_PRESETS["market"], seed=seed)


def _tell_ratios(found: Sequence[tuple[TimeToQuality, TimeToQuality]]) -> str:
    """Tell the geometric mean over seeds with Student's 95 % interval."""
    logs = [math.log(max(a.processor_s, 1e-9) / max(b.processor_s, 1e-9)) for a, b in found]
    interval = over_seeds(logs)
    mean, low, high = (math.exp(each) for each in (interval.estimate, interval.low, interval.high))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def _tell(course: TimeToQuality) -> str:
    word = "there" if course.reached else f"given up at {course.best:.0%}"
    return f"{word} in {course.processor_s:.2f} s, {course.steps:,} steps"
