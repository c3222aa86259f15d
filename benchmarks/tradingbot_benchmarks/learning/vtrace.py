"""How long V-trace and PPO take to the same quality on one task, each on one core."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tradingbot.envs.build_world import world_from_market
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.impala.learner import IMPALA
from tradingbot.learning.impala.spec import market_settings
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.config import PPO_PRESETS, PPOConfig
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
SEEDS = tuple(range(300, 320))
"""Times differ by a factor of five from seed to seed: three say little. No setting was tried on
these."""
_HASTE: dict[str, Any] = {
    "rollout_steps": 32,
    "n_epochs": 2,
    "learning_rate": Schedule("cosine", 8e-3, 0.0, over=245_760),
}
"""Settings that are soon good; those of the market learn for longer. Minibatches below are what was
best for each: all chosen on seeds 100 to 119."""
LEARNERS: Mapping[str, IMPALAConfig | PPOConfig] = MappingProxyType(
    {
        "V-trace": replace(market_settings(), minibatch=256, **_HASTE),
        "PPO, preset market": PPO_PRESETS["market"],
        "PPO, as hasty": replace(PPO_PRESETS["market"], minibatch=128, **_HASTE),
    }
)
_OURS, *_REFERENCES = LEARNERS
_N_ENVS, _PLAYS = 16, 16
_WARM_UP_BARS, _TRAIN_BARS, _TEST_BARS = 200, 3_528, 1_200


def vtrace_vs_ppo(
    n_agents: int, limit_s: float, *, compiled: bool, seeds: tuple[int, ...] = SEEDS
) -> Iterator[BenchRecord]:
    """Time all until their deterministic policies earn the same share of the oracle's return.

    PPO's preset is what one would start from; PPO that is tuned for the same tells what V-trace
    does and what its settings do.

    Args:
        n_agents: Symbols of the planted market.
        limit_s: Seconds of the clock of learning after which one that is not there is given up.
        compiled: Compile the simulator.
        seeds: Of market and learners; times are summed over them.
    """
    with torch_threads(1):
        found = [_race(n_agents, limit_s, seed, compiled=compiled) for seed in seeds]
    for name, reference in zip(("vtrace_vs_ppo", "vtrace_vs_hasty_ppo"), _REFERENCES, strict=True):
        pairs = [(courses[_OURS], courses[reference]) for courses in found]
        ours, theirs = (sum(c.processor_s for c in each) for each in zip(*pairs, strict=True))
        clock = [sum(c.seconds for c in each) for each in zip(*pairs, strict=True)]
        told = "; ".join(
            f"seed {seed}: {_tell(a)} against {_tell(b)}"
            for seed, (a, b) in zip(seeds, pairs, strict=True)
        )
        note = (
            f"synthetic planted κ = 0.10, {n_agents} symbols, {_N_ENVS} environments; until "
            f"{QUALITY:.0%} of the oracle's net return in {_PLAYS} plays among {_TEST_BARS:,} "
            f"later bars; V-trace with its actor in this process, one update behind, and "
            f"{reference}, one core each; processor's seconds summed over seeds, by the clock "
            f"{clock[0]:.1f} and {clock[1]:.1f} s; V-trace's time over that of {reference}, "
            f"geometric mean over seeds {_tell_ratios(pairs)}; {told}"
        )
        if all(course.reached for pair in pairs for course in pair):
            yield within(name, ours, "s", theirs, reference, note=note)
        else:
            yield absent(name, "s", note)


def _race(n_agents: int, limit_s: float, seed: int, *, compiled: bool) -> dict[str, TimeToQuality]:
    bars = _WARM_UP_BARS + _TRAIN_BARS + _TEST_BARS
    market = synthetic_market(
        "planted", n_symbols=n_agents, n_bars=bars, seed=seed, params={"kappa": 0.10}
    )
    world = world_from_market(market, label=f"synthetic planted market, seed {seed}")
    judge = Judge(market, world, compiled=compiled, plays=_PLAYS)
    task = PopulationTask(world, CONFIG, n_envs=_N_ENVS, seed=seed, compiled=compiled)
    task = task.during(_WARM_UP_BARS, _WARM_UP_BARS + _TRAIN_BARS - 1)
    view = TableView(task.table)
    courses = {}
    for name, settings in LEARNERS.items():
        _learner(settings, task, view, seed).update()  # whoever is first would pay for compiling
        learner = _learner(settings, task, view, seed)

        def improve(learner: Learner = learner) -> int:
            learner.update()
            return learner.steps * n_agents

        def score(learner: Learner = learner) -> float:
            return judge.share(learner.act)

        courses[name] = time_to_quality(improve, score, QUALITY, limit_s=limit_s)
    return courses


def _learner(
    settings: IMPALAConfig | PPOConfig, task: PopulationTask, view: TableView, seed: int
) -> Learner:
    if isinstance(settings, IMPALAConfig):
        return IMPALA(task, view, settings, seed=seed)
    return PPO(task, view, settings, seed=seed)


def _tell_ratios(found: Sequence[tuple[TimeToQuality, TimeToQuality]]) -> str:
    """Tell the geometric mean over seeds with Student's 95 % interval."""
    logs = [math.log(max(a.processor_s, 1e-9) / max(b.processor_s, 1e-9)) for a, b in found]
    interval = over_seeds(logs)
    mean, low, high = (math.exp(each) for each in (interval.estimate, interval.low, interval.high))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def _tell(course: TimeToQuality) -> str:
    word = "there" if course.reached else f"given up at {course.best:.0%}"
    return f"{word} in {course.processor_s:.2f} s, {course.steps:,} steps"
