"""The training benchmark: our learners against Stable-Baselines3, and how cost grows with agents.

What is compared with SB3, and that both do the same work, is in `ppo_reference.py`, `sac_speed.py`
and `sac_quality.py`; here the figures are put together.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import UserError
from tradingbot.envs.build_world import synthetic_world, world_from_market
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.learning.ppo.config import PPO_PRESETS
from tradingbot.learning.ppo.learner import PPO
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.curiosity import icm_overhead
from tradingbot_benchmarks.learning.encoder import FULL as FULL_ENCODER
from tradingbot_benchmarks.learning.encoder import EncoderScale, embedding_record
from tradingbot_benchmarks.learning.evolution import TINY as TINY_EVOLUTION
from tradingbot_benchmarks.learning.evolution import EvolutionSize, es_vs_processes, es_vs_sac
from tradingbot_benchmarks.learning.hindsight.measure import hindsight_gain, sampling
from tradingbot_benchmarks.learning.options_overhead import options_overhead
from tradingbot_benchmarks.learning.ppo.quality import Race, TimeToQuality, compare_time_to_quality
from tradingbot_benchmarks.learning.ppo.reference import PPOSetting, measure_speed
from tradingbot_benchmarks.learning.sac.quality import CONFIG, Judge, sac_vs_sb3_to_quality
from tradingbot_benchmarks.learning.sac.speed import sac_vs_sb3, window_table
from tradingbot_benchmarks.learning.stages import STAGES
from tradingbot_benchmarks.learning.vtrace import SEEDS, vtrace_vs_ppo
from tradingbot_benchmarks.record import BenchRecord, with_load
from tradingbot_benchmarks.simulator.bench import absent, beyond, within

SEED = 7
PPO_QUALITY = 0.9
_PATIENCE = 60.0
"""SB3's PPO is given up after so many times what ours took: well beyond the goal."""
GOALS = {"ppo_vs_sb3": 5.0, "ppo_vs_sb3_to_quality": 20.0}
_WARM_UP_BARS, _TRAIN_BARS, _TEST_BARS = 200, 3_528, 1_200


@dataclass(frozen=True)
class TrainScale:
    """How much is measured."""

    compared_agents: int
    """Agents of ours in the comparison at equal work."""
    quality_agents: int
    """Symbols of the market on which time to quality is measured."""
    quality_limit_s: float
    """Seconds after which a learner that did not get there is given up."""
    agents: int
    """Of the whole training."""
    steps_per_agent: int
    training_limit_s: float
    """Seconds after which the whole training is extrapolated."""
    growth: tuple[int, ...]
    """Numbers of agents."""
    encoder: EncoderScale
    sac_blocks: int
    """Timed turns of SAC."""
    evolution: EvolutionSize
    compiled: bool
    hindsight_agents: int = 143
    """In the replay that hindsight draws from."""
    hindsight_kept: int = 200_000
    """Transitions of each agent in the replay that hindsight draws from."""
    hindsight_steps: int = 6_000
    """Of each agent, on the problem that needs hindsight."""
    hindsight_with_sb3: bool = True
    """Train SB3's HER beside it: three minutes."""


FULL = TrainScale(
    compared_agents=32,
    quality_agents=32,
    quality_limit_s=600.0,
    agents=143,
    steps_per_agent=100_000,
    training_limit_s=180.0,
    growth=(1, 10, 100, 143, 300, 1000),
    encoder=FULL_ENCODER,
    sac_blocks=5,
    evolution=EvolutionSize(),
    compiled=True,
)
QUICK = replace(
    FULL,
    compared_agents=8,
    quality_agents=16,
    quality_limit_s=60.0,
    training_limit_s=20.0,
    growth=(1, 10, 100),
    encoder=replace(FULL_ENCODER, symbols=8),
    sac_blocks=2,
    compiled=False,
    hindsight_with_sb3=False,
)
TINY = replace(
    QUICK,
    compared_agents=2,
    quality_agents=2,
    quality_limit_s=0.0,
    agents=3,
    steps_per_agent=1_024,
    training_limit_s=5.0,
    growth=(1, 2),
    encoder=replace(
        FULL_ENCODER, encoder=ENCODER_PRESETS["tiny"], preset="tiny", symbols=2, bars=256
    ),
    sac_blocks=1,
    evolution=TINY_EVOLUTION,
    hindsight_agents=4,
    hindsight_kept=1_600,
    hindsight_steps=600,
)
"""So small that figures mean nothing: for tests."""


def measure_training(
    scale: TrainScale = FULL,
    progress: Progress = ignore_progress,
    *,
    only: Sequence[str] = STAGES,
) -> Iterator[BenchRecord]:
    """Yield every record as it is measured, the peak of memory last.

    One that fails for a user's reason says why instead of a number.

    Args:
        scale: How much is measured.
        progress: Told (stages done, in all, name).
        only: Names of `STAGES`; others are left out.
    """
    measures: dict[str, tuple[str, Callable[[], Iterable[BenchRecord]]]] = {
        "ppo_vs_sb3": ("steps/s", lambda: [ppo_vs_sb3(scale)]),
        "sac_vs_sb3": (
            "gradient steps/s",
            lambda: [sac_vs_sb3(n_blocks=scale.sac_blocks, compiled=scale.compiled).record()],
        ),
        "ppo_vs_sb3_to_quality": ("s", lambda: [ppo_to_quality(scale)]),
        "sac_vs_sb3_to_quality": ("s", lambda: [sac_to_quality(scale)]),
        "ppo_143x100k": ("s", lambda: [ppo_whole(scale)]),
        "embed_143x2y": ("s", lambda: [embedding_record(scale.encoder)]),
        "her_sample_ms": ("ms", lambda: [sampling(scale.hindsight_agents, scale.hindsight_kept)]),
        "her_success_gain": (
            "fraction",
            lambda: [hindsight_gain(3, scale.hindsight_steps, with_sb3=scale.hindsight_with_sb3)],
        ),
        "options_overhead": (
            "fraction",
            lambda: [options_overhead(min(10, scale.compared_agents), 3 * scale.sac_blocks)],
        ),
        "growth": ("steps/s", lambda: growth(scale)),
        "es_vs_processes": ("s", lambda: [es_vs_processes(scale.evolution)]),
        "es_vs_sac": ("frac", lambda: [es_to_share(scale)]),
        "vtrace_vs_ppo": ("s", lambda: vtrace_to_quality(scale)),
        "icm_overhead": ("fraction of time", lambda: icm_overhead(scale.compared_agents)),
    }
    stages = [name for name in STAGES if name in only]
    for number, name in enumerate(stages):
        progress(number, len(stages), name)
        unit, measure = measures[name]
        try:
            yield from map(with_load, measure())
        except UserError as e:
            yield absent(name, unit, str(e))
    progress(len(stages), len(stages), "measured")
    yield _peak_memory()


def ppo_vs_sb3(scale: TrainScale) -> BenchRecord:
    """Compare whole updates per agent-step at equal work."""

    def make_task(n_agents: int) -> PopulationTask:
        world = synthetic_world("regimes", n_symbols=n_agents, n_bars=1_000, seed=SEED)
        episode = replace(CONFIG.rules.episode, window_bars=10)
        config = replace(CONFIG, rules=replace(CONFIG.rules, episode=episode))
        task = PopulationTask(world, config, n_envs=8, seed=SEED, compiled=False)
        task.table = window_table(task, world)  # as wide as what SB3 users show their networks
        return task

    pair = measure_speed(make_task, PPOSetting(), n_agents=scale.compared_agents)
    note = (
        f"agent-steps of whole updates; {scale.compared_agents} agents of ours at once, one of "
        "SB3; same environment, head 128, rollout 256 × 8, 10 epochs, minibatch 64, a network "
        f"per agent; goal {GOALS['ppo_vs_sb3']:g} ×"
    )
    return beyond("ppo_vs_sb3", pair.ours, "steps/s", pair.sb3, "SB3 PPO", note=note)


def ppo_to_quality(scale: TrainScale) -> BenchRecord:
    """Time both on `planted` until their deterministic policies earn 90 % of the oracle's."""
    bars = _WARM_UP_BARS + _TRAIN_BARS + _TEST_BARS
    market = synthetic_market(
        "planted",
        n_symbols=scale.quality_agents,
        n_bars=bars,
        seed=SEED,
        params={"kappa": 0.10},
    )
    world = world_from_market(market, label=f"synthetic planted market, seed {SEED}")
    judge = Judge(market, world, compiled=scale.compiled)
    task = PopulationTask(world, CONFIG, n_envs=16, seed=SEED, compiled=scale.compiled)
    task = task.during(_WARM_UP_BARS, _WARM_UP_BARS + _TRAIN_BARS - 1)
    ours, theirs = compare_time_to_quality(
        task,
        judge.share,
        ours=PPO_PRESETS["market"],
        sb3=PPOSetting(rollout_steps=64, discount=0.95, decay=0.9),
        race=Race(PPO_QUALITY, scale.quality_limit_s, _PATIENCE),
        seed=SEED,
    )
    bound = "" if theirs.reached else "ratio is at least this; "
    note = (
        f"{bound}synthetic planted κ = 0.10, {scale.quality_agents} symbols; "
        f"until {PPO_QUALITY:.0%} of the oracle's net return on {_TEST_BARS:,} later bars; "
        f"ours {_tell(ours)}, SB3 with one network for all {_tell(theirs)}; "
        f"goal {GOALS['ppo_vs_sb3_to_quality']:g} ×"
    )
    name = "ppo_vs_sb3_to_quality"
    if not ours.reached:
        return replace(absent(name, "s", note), reference=theirs.seconds, reference_name="SB3 PPO")
    return within(name, ours.seconds, "s", theirs.seconds, "SB3 PPO", note=note)


def sac_to_quality(scale: TrainScale) -> BenchRecord:
    """See `sac_quality.py`."""
    return sac_vs_sb3_to_quality(
        n_symbols=min(scale.quality_agents, 16),
        limit_s=scale.quality_limit_s,
        compiled=scale.compiled,
    )


def es_to_share(scale: TrainScale) -> BenchRecord:
    """See `evolution.py`."""
    few = scale.quality_agents <= TINY.quality_agents
    seeds = (0,) if scale.quality_agents < FULL.quality_agents else (0, 1, 2)
    return es_vs_sac(min(scale.quality_agents, 8), seeds=seeds, updates=1 if few else 0)


def vtrace_to_quality(scale: TrainScale) -> Iterator[BenchRecord]:
    """See `vtrace.py`."""
    n_agents, limit_s = min(scale.quality_agents, 16), scale.quality_limit_s
    seeds = SEEDS if scale.quality_agents >= FULL.quality_agents else SEEDS[:1]
    return vtrace_vs_ppo(n_agents, limit_s, compiled=scale.compiled, seeds=seeds)


def ppo_whole(scale: TrainScale) -> BenchRecord:
    """Train all agents to the budget on this processor."""
    seconds, done = _train(scale.agents, scale.steps_per_agent, scale, scale.training_limit_s)
    name = f"ppo_{scale.agents}x{scale.steps_per_agent // 1000}k"
    note = f"{scale.agents} agents × {scale.steps_per_agent:,} steps, preset market, CPU"
    if done < scale.steps_per_agent:
        seconds *= scale.steps_per_agent / done
        note += f"; EXTRAPOLATED from {done:,} steps"
    return BenchRecord(name, seconds, "s", note=note)


def growth(scale: TrainScale) -> Iterator[BenchRecord]:
    """Say how speed changes with the number of agents."""
    for n_agents in scale.growth:
        seconds, done = _train(n_agents, 2_048, scale, scale.training_limit_s)
        speed = done * n_agents / seconds
        note = f"PPO, preset market, {done:,} steps per agent, {1e3 * seconds / done:.2f} ms each"
        yield BenchRecord(f"growth_agents_{n_agents}", speed, "steps/s", note=note)


def _train(
    n_agents: int, steps_per_agent: int, scale: TrainScale, limit_s: float
) -> tuple[float, int]:
    """Return seconds of learning, after one update that is not counted, and steps per agent."""
    world = synthetic_world("planted", n_symbols=n_agents, n_bars=1_024, seed=SEED)
    task = PopulationTask(world, CONFIG, n_envs=16, seed=SEED, compiled=scale.compiled)
    task = task.showing("size")
    learner = PPO(task, TableView(task.table), PPO_PRESETS["market"], seed=SEED)
    learner.update()
    first, began_s = learner.steps, time.perf_counter()
    while learner.steps - first < steps_per_agent and time.perf_counter() - began_s < limit_s:
        learner.update()
    return time.perf_counter() - began_s, learner.steps - first


def _tell(course: TimeToQuality) -> str:
    word = "got there" if course.reached else f"gave up at {course.best:.0%}"
    return f"{word} after {course.steps:,} steps in {course.seconds:.0f} s"


def _peak_memory() -> BenchRecord:
    name, note = "peak_memory", "largest resident size of this process, everything above included"
    if not sys.platform.startswith("linux"):
        return BenchRecord(name, math.nan, "bytes", note="this system does not tell it in bytes")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return BenchRecord(name, float(peak), "bytes", note=note)
