"""How fast our SAC is beside Stable-Baselines3's: at equal work, and until a stated quality."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.sb3 import TradingVecEnv
from tradingbot.envs.world import World
from tradingbot.learning.sac.learner import SAC
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.sac.reference import CommonSetting
from tradingbot_benchmarks.record import BenchRecord

_WINDOW_BARS = 10
"""Of 23 features each: 261 numbers with the account's own, near the 264 of an embedded one."""
_PEAK_SIZE = 1024
Clock = Callable[[], float]


@dataclass(frozen=True)
class SacSpeed:
    """Gradient steps per second, each with one step of all environments."""

    n_inputs: int
    ours_per_s: float
    sb3_per_s: float
    ours_flop: int
    """Of the matrix products of one of our gradient steps."""
    sb3_flop: int
    peak_flop_per_s: float
    """Of a large product of matrices in the same run, float32."""
    compiled: bool = False
    """Whether the environments of both were."""

    @property
    def ratio(self) -> float:
        """Ours ÷ SB3's."""
        return self.ours_per_s / self.sb3_per_s

    def record(self) -> BenchRecord:
        """Say it in the benchmark's form."""
        shares = [
            f"{rate * flop / 1e9:.0f} GFLOP/s, {rate * flop / self.peak_flop_per_s:.0%} of the peak"
            for rate, flop in (
                (self.ours_per_s, self.ours_flop),
                (self.sb3_per_s, self.sb3_flop),
            )
        ]
        note = (
            f"gradient steps with one step of 16 environments each, "
            f"{'compiled' if self.compiled else 'not compiled'} in both, {self.n_inputs} inputs, "
            f"networks 256-256-128, batch 256; "
            f"ours {self.ours_flop / 1e9:.2f} GFLOP per step ({shares[0]}), "
            f"SB3 {self.sb3_flop / 1e9:.2f} ({shares[1]}); peak {self.peak_flop_per_s / 1e9:.0f}"
        )
        return BenchRecord(
            "sac_vs_sb3",
            self.ours_per_s,
            "gradient steps/s",
            self.sb3_per_s,
            "Stable-Baselines3 SAC, same environment, networks and batch",
            self.ratio,
            note,
        )


def sac_vs_sb3(
    *,
    setting: CommonSetting | None = None,
    n_envs: int = 16,
    block: int = 64,
    n_blocks: int = 5,
    compiled: bool = False,
    clock: Clock = time.perf_counter,
) -> SacSpeed:
    """Time the whole loop of both in turns: step all environments, store, sample, learn.

    Args:
        setting: What both are told.
        n_envs: Environments, all of one agent.
        block: Gradient steps of one of them before it is the other's turn.
        n_blocks: Turns of each; the median counts.
        compiled: Whether the environments of both are; then learning is nearly all there is.
        clock: Wall time by default; `time.process_time` where others use the machine too.
    """
    setting = setting or CommonSetting()
    world, config = _bench_world()
    task = PopulationTask(world, config, n_envs=n_envs, seed=0, compiled=compiled)
    view = TableView(window_table(task, world))
    ours = SAC(task, view, setting.ours(steps_per_update=block), seed=0)
    theirs = setting.sb3(TradingVecEnv(world, config, n_envs, compile=compiled), 0)
    per_block = block * n_envs

    def learn() -> None:
        theirs.learn(per_block, reset_num_timesteps=False)

    while ours.steps < setting.warm_up + per_block:
        ours.update()
    theirs.learn(setting.warm_up + per_block)
    seconds = take_turns([lambda: ours.update(), learn], n_blocks, clock)
    n_inputs = view.width + task.n_private
    return SacSpeed(
        n_inputs,
        block / seconds[0],
        block / seconds[1],
        our_flop(n_inputs, setting.hidden, setting.batch_size),
        sb3_flop(n_inputs, setting.hidden, setting.batch_size),
        peak_flop_per_s(clock),
        compiled,
    )


def take_turns(
    jobs: Sequence[Callable[[], Any]], n_turns: int, clock: Clock = time.perf_counter
) -> list[float]:
    """Run jobs one after the other, several times; return the median seconds of each."""
    spent: list[list[float]] = [[] for _ in jobs]
    for _ in range(n_turns):
        for job, times in zip(jobs, spent, strict=True):
            began_s = clock()
            job()
            times.append(clock() - began_s)
    return [statistics.median(times) for times in spent]


def our_flop(n_inputs: int, hidden: Sequence[int], batch: int) -> int:
    """Count two operations per product in the matrix products of one of our gradient steps."""
    seen, rest, actor = _products(n_inputs, hidden)
    targets = actor + 2 * (seen + hidden[0] + rest)
    forward = actor + 2 * seen + 2 * 2 * (hidden[0] + rest)
    # Critics: weights, and inputs of all layers but the first. For the actor: inputs alone.
    backward = 2 * (seen + hidden[0] + 2 * rest) + 2 * (hidden[0] + rest) + 2 * actor - seen
    return 2 * batch * (targets + forward + backward)


def sb3_flop(n_inputs: int, hidden: Sequence[int], batch: int) -> int:
    """Count the same of SB3's, which computes gradients of critics in the actor's loss too."""
    seen, rest, actor = _products(n_inputs, hidden)
    critics = 2 * (seen + hidden[0] + rest)
    targets = actor + critics
    forward = actor + 2 * critics
    backward = critics + 2 * rest + 2 * critics + 2 * actor - seen
    return 2 * batch * (targets + forward + backward)


def _products(n_inputs: int, hidden: Sequence[int]) -> tuple[int, int, int]:
    """Return products per sample: observation to first layer, a critic's rest, the actor."""
    between = sum(fan_in * fan_out for fan_in, fan_out in pairwise(hidden))
    seen = n_inputs * hidden[0]
    return seen, between + hidden[-1], seen + between + 2 * hidden[-1]


def peak_flop_per_s(clock: Clock = time.perf_counter) -> float:
    """Return what a large product of matrices reaches with the threads that torch has."""
    matrix = torch.ones(_PEAK_SIZE, _PEAK_SIZE)
    seconds = min(take_turns([lambda: matrix @ matrix], 9, clock))
    return 2.0 * _PEAK_SIZE**3 / seconds


def window_table(task: PopulationTask, world: World) -> torch.Tensor:
    """Return the task's table with the features of the last bars in every row, the oldest first.

    As `TradingVecEnv` shows them, but for the order of columns. Rows that lack a past repeat the
    first bar; no episode begins there.
    """
    bars = np.arange(world.n_bars)[:, None] + np.arange(1 - _WINDOW_BARS, 1)
    windows = world.features[:, bars.clip(min=0)].reshape(*world.features.shape[:2], -1)
    rest = task.table[..., world.features.shape[-1] :]
    return torch.cat([torch.from_numpy(windows).to(rest), rest], dim=-1)


def _bench_world(n_symbols: int = 1) -> tuple[World, EnvConfig]:
    world = synthetic_world("regimes", n_symbols=n_symbols, n_bars=1_000, seed=7)
    config = EnvConfig(observation="flat")
    episode = replace(config.rules.episode, window_bars=_WINDOW_BARS)
    return world, replace(config, rules=replace(config.rules, episode=episode))
