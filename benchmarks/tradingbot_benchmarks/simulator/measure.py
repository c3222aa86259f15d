"""The measurements of the simulator benchmark, in the order in which they are made."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.seeding import stream
from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.vector import TradingVectorEnv
from tradingbot.envs.world import World
from tradingbot.market.compiled import packed_step
from tradingbot.market.simulation import Reward
from tradingbot_benchmarks.simulator.bound import GrowthPoint, bytes_per_step, observation_bytes
from tradingbot_benchmarks.simulator.checks import check_compiled, check_single
from tradingbot_benchmarks.simulator.first_step import first_steps
from tradingbot_benchmarks.simulator.neighbour import busy_neighbour
from tradingbot_benchmarks.simulator.peers import NOT_INSTALLED, PEERS, PeerSpeed, measure_peer
from tradingbot_benchmarks.simulator.scale import Scale
from tradingbot_benchmarks.simulator.setup import (
    BARE_RULES,
    DEFAULT,
    EVERY_RULE,
    SEED,
    Batch,
    among_symbols,
    bare_reward,
    bench_world,
    draw_batch,
    market_batch,
    with_observation,
    with_window,
)
from tradingbot_benchmarks.simulator.timing import (
    calls_per_second,
    copy_bandwidth,
    resident_bytes,
)
from tradingbot_benchmarks.threads import one_thread

LEFT_OUT = "left out of a quick run"
_WARM_STEPS = 500
COPY_SECONDS = 0.05
LONE_THREAD_ENVIRONMENTS = 16_384
"""Up to so many environments an operation is too small for two threads: waiting costs more."""


@dataclass
class Measured:
    """Everything one run found; speeds in steps per second, absent figures are missing keys."""

    scale: Scale
    speeds: dict[str, float] = field(default_factory=dict)
    growth: list[GrowthPoint] = field(default_factory=list)
    peers: dict[str, PeerSpeed] = field(default_factory=dict)
    step_ms: dict[str, float] = field(default_factory=dict)
    """Percentile → milliseconds of a step through Gymnasium."""
    learner_share: float | None = None
    learner_reason: str = ""
    state_bytes: float = 0.0
    memory_growth_bytes: float | None = None
    memory_steps: int = 0
    copy_bandwidth: float = 0.0
    threads: int = 0
    first_step_s: dict[str, float] = field(default_factory=dict)
    """cold and warm → seconds."""


def measure(scale: Scale, progress: Progress = ignore_progress) -> Measured:
    """Check equality, then measure everything.

    Raises:
        AssertionError: If results that must be equal are not.
    """
    found = Measured(scale, threads=torch.get_num_threads())
    stages = _stages(scale)
    world = bench_world(scale.market_symbols, scale.market_bars)
    for number, (label, stage) in enumerate(stages):
        progress(number, len(stages), label)
        stage(found, world)
    progress(len(stages), len(stages), "measured")
    return found


Stage = Callable[[Measured, World], None]


def _stages(scale: Scale) -> list[tuple[str, Stage]]:
    stages: list[tuple[str, Stage]] = [
        ("one environment equals the tensors", lambda _, world: check_single(world)),
        ("one environment through Gymnasium", _measure_single),
        (f"{scale.few} environments through Gymnasium", _measure_vector),
        (f"{scale.few} environments through SB3", _measure_sb3),
        (f"{scale.headline:,} environments", _measure_headline),
        (f"{scale.wide:,} environments", _measure_wide),
        (f"{scale.market_symbols} symbols in parallel", _measure_markets),
    ]
    sizes = [size for size in scale.environments if size not in (scale.headline, scale.wide)]
    stages += [(f"{size:,} environments", _growth_stage(size)) for size in sizes]
    if scale.rules:
        stages.append(("every rule on", _measure_every_rule))
        stages.append(("bare reward", _measure_bare_reward))
    stages += [(PEERS[name].package, _peer_stage(name)) for name in scale.peers]
    stages.append(("share of a learner's time", _measure_learner))
    if scale.first_steps:
        stages.append(("first step of a fresh process", _measure_first_steps))
    return stages


def _measure_single(found: Measured, world: World) -> None:
    env = TradingEnv(world, DEFAULT)
    env.reset(seed=SEED)
    actions = _actions()
    seconds = np.empty(found.scale.single_steps)
    for number in range(-_WARM_STEPS, len(seconds)):
        start = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(next(actions))
        if number >= 0:
            seconds[number] = time.perf_counter() - start
        if terminated or truncated:
            env.reset()

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(next(actions))
        if terminated or truncated:
            env.reset()

    found.speeds["single_env"] = calls_per_second(
        step, seconds=found.scale.seconds, repeats=found.scale.repeats
    )
    found.step_ms = {f"p{p}": float(np.percentile(seconds, p)) * 1e3 for p in (50, 95)}


def _actions(n: int | None = None) -> Iterator[np.ndarray]:
    """Draw actions (1,), or (n, 1), without end; many at once, as for peers."""
    draws = stream(SEED, "bench", "single")
    shape = (4096, 1) if n is None else (4096 // n, n, 1)
    while True:
        yield from draws.uniform(-1.0, 1.0, shape).astype(np.float32)


def _measure_vector(found: Measured, world: World) -> None:
    n = found.scale.few
    env = TradingVectorEnv(world, DEFAULT, n, compile="auto" if found.scale.compiled else False)
    env.reset(seed=SEED)
    actions = _actions(n)
    calls = calls_per_second(
        lambda: env.step(next(actions)), seconds=found.scale.seconds, repeats=found.scale.repeats
    )
    found.speeds["vec_8"] = calls * n


def _measure_sb3(found: Measured, world: World) -> None:
    if importlib.util.find_spec("stable_baselines3") is None:
        return
    from tradingbot.envs.sb3 import TradingVecEnv

    n = found.scale.few
    env = TradingVecEnv(world, DEFAULT, n, compile="auto" if found.scale.compiled else False)
    env.seed(SEED)
    env.reset()
    actions = _actions(n)
    calls = calls_per_second(
        lambda: env.step(next(actions)), seconds=found.scale.seconds, repeats=found.scale.repeats
    )
    found.speeds["sb3_vec_8"] = calls * n


def _measure_headline(found: Measured, world: World) -> None:
    scale = found.scale
    batch = _checked_batch(found, world, scale.headline)
    found.speeds["batch_4096"] = _steps_per_s(found, batch, batch.advance)
    if scale.busy:
        with busy_neighbour():
            found.speeds["batch_4096_busy"] = _steps_per_s(found, batch, batch.advance)
    found.speeds["eager_4096"] = _eager_speed(found, world, scale.headline)
    found.copy_bandwidth = copy_bandwidth(scale.copied_bytes)
    found.state_bytes = batch.account.bytes_per_account
    _add_environments(found, batch, found.speeds["batch_4096"], found.speeds["eager_4096"])
    _measure_memory(found, batch)
    for window_bars in scale.windows:
        _add_window(found, batch, world, window_bars)
    for n_symbols in scale.symbols:
        with among_symbols(batch, n_symbols):
            speed = _steps_per_s(found, batch, batch.advance)
        found.growth.append(_point(batch, "symbols", str(n_symbols), speed))


def _measure_wide(found: Measured, world: World) -> None:
    batch = _checked_batch(found, world, found.scale.wide)
    found.speeds["batch_65536"] = _steps_per_s(found, batch, batch.advance)
    eager = _eager_speed(found, world, found.scale.wide)
    _add_environments(found, batch, found.speeds["batch_65536"], eager)


def _growth_stage(n_environments: int) -> Stage:
    def measure_size(found: Measured, world: World) -> None:
        batch = _checked_batch(found, world, n_environments)
        speed = _steps_per_s(found, batch, batch.advance)
        _add_environments(found, batch, speed, _eager_speed(found, world, n_environments))

    return measure_size


def _measure_markets(found: Measured, world: World) -> None:
    sizes = {"parallel_143": found.scale.market_environments}
    if found.scale.lone_market:
        sizes["parallel_143_alone"] = 1
    for name, n_environments in sizes.items():
        batch = market_batch(world, n_environments, compiled=found.scale.compiled)
        found.speeds[name] = _steps_per_s(found, batch, batch.advance)


def _measure_every_rule(found: Measured, world: World) -> None:
    _measure_variant(found, world, "every rule on", EVERY_RULE, None)


def _measure_bare_reward(found: Measured, world: World) -> None:
    _measure_variant(found, world, "loss limits off and one reward term", BARE_RULES, bare_reward)


def _measure_variant(
    found: Measured, world: World, label: str, config: EnvConfig, reward: Reward | None
) -> None:
    batch = draw_batch(
        world, found.scale.headline, config, compiled=found.scale.compiled, reward=reward
    )
    found.growth.append(_point(batch, "rules", label, _steps_per_s(found, batch, batch.advance)))


def _peer_stage(name: str) -> Stage:
    def measure_one(found: Measured, _: World) -> None:
        found.peers[name] = measure_peer(name, found.scale.peer_seconds)

    return measure_one


def _measure_learner(found: Measured, world: World) -> None:
    if not found.scale.learner:
        found.learner_reason = LEFT_OUT
        return
    if importlib.util.find_spec("stable_baselines3") is None:
        found.learner_reason = NOT_INSTALLED
        return
    from tradingbot_benchmarks.simulator.sb3_share import environment_share

    found.learner_share = environment_share(world).share_frac


def _measure_first_steps(found: Measured, _: World) -> None:
    found.first_step_s = first_steps(found.scale.headline)


def _measure_memory(found: Measured, batch: Batch) -> None:
    before = resident_bytes()
    for _ in range(found.scale.memory_batch_steps):
        batch.advance()
    after = resident_bytes()
    found.memory_steps = found.scale.memory_batch_steps * batch.n_lanes
    if before is not None and after is not None:
        found.memory_growth_bytes = float(after - before)


def _add_environments(found: Measured, batch: Batch, speed: float, eager: float) -> None:
    found.growth.append(_point(batch, "environments", str(batch.n_lanes), speed, eager=eager))


def _add_window(found: Measured, batch: Batch, world: World, window_bars: int) -> None:
    writer = ObservationWriter(world, with_window(window_bars))
    speed = _steps_per_s(found, batch, with_observation(batch, writer))
    if window_bars == DEFAULT.rules.episode.window_bars:
        found.speeds[f"batch_4096_window{window_bars}"] = speed
    extra = observation_bytes(writer)
    found.growth.append(_point(batch, "window", str(window_bars), speed, extra=extra))


def _point(
    batch: Batch,
    axis: str,
    at: str,
    speed: float,
    *,
    eager: float | None = None,
    extra: float = 0.0,
) -> GrowthPoint:
    moved = bytes_per_step(batch) + extra
    # Half of the bytes are read and half written, as by a copy of half their number.
    bandwidth = copy_bandwidth(int(moved * batch.n_lanes / 2), seconds=COPY_SECONDS)
    return GrowthPoint(axis, at, batch.n_lanes, speed, moved, bandwidth, eager)


def _checked_batch(found: Measured, world: World, n_environments: int) -> Batch:
    batch = draw_batch(world, n_environments, compiled=found.scale.compiled)
    eager = packed_step(DEFAULT.rules, DEFAULT.reward_stack, batch.market, batch.starts)
    check_compiled(batch, eager)
    return batch


def _eager_speed(found: Measured, world: World, n_environments: int) -> float:
    batch = draw_batch(world, n_environments, compiled=False)
    with one_thread() if n_environments <= LONE_THREAD_ENVIRONMENTS else nullcontext():
        return _steps_per_s(found, batch, batch.advance)


def _steps_per_s(found: Measured, batch: Batch, advance: Callable[[], None]) -> float:
    calls = calls_per_second(advance, seconds=found.scale.seconds, repeats=found.scale.repeats)
    return calls * batch.n_lanes
