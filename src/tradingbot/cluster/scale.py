"""How far work can be divided: a model, not a measurement, of up to hundreds of GPUs.

Two kinds of work. A *search* is many trainings that know nothing of each other. *One training* has
its symbols divided over GPUs, and one encoder whose gradient is exchanged at every optimiser step.
What was measured and what is assumed stands in `ScaleAssumptions`; docs/concepts/scale.md has the
table, which a test computes from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded

GPUS = (1, 8, 64, 512)
SYMBOLS = (143, 5_000)
STOPS_BELOW_FRAC = 0.5
"""Efficiency below which more GPUs are said not to help."""


@dataclass(frozen=True)
class ScaleAssumptions(CheckedFields):
    """What the model reads; seconds, bytes and counts."""

    symbols: int = bounded(143, ">= 1")
    """Measured: agents of the training below."""
    training_s: float = bounded(15.5, "> 0")
    """Measured on one H200 (benchmarks/RESULTS.md): 143 agents, 102,400 PPO steps each, while the
    full encoder learns too, bfloat16."""
    memory_gb: float = bounded(8.7, "> 0")
    """Measured: of the same."""
    steps: int = bounded(200, ">= 1")
    """Counted: optimiser steps of it, 25 updates of 2 epochs of 4 minibatches."""
    parameters: int = bounded(3_170_000, ">= 1")
    """Counted: of the full encoder; what is exchanged, 4 bytes each."""
    floor_s: float = bounded(0.010, ">= 0")
    """Assumed: what an optimiser step takes however few symbols there are, 300 kernels of 20 µs and
    the environments' steps."""
    gpu_memory_gb: float = bounded(141.0, "> 0")
    """Known: of an H200."""
    link_bytes_per_s: float = bounded(25e9, "> 0")
    """Assumed: between GPUs, all-reduce over InfiniBand or NVLink."""
    hop_s: float = bounded(20e-6, ">= 0")
    """Assumed: latency of one hop of an all-reduce."""
    driver_bytes_per_s: float = bounded(3e9, "> 0")
    """Assumed: what the driver can send or take in all, 25 Gbit/s Ethernet."""
    item_s: float = bounded(1e-3, ">= 0")
    """Measured on two cores (`bench cluster`: 1,195 empty items a second, 0.84 ms each), rounded
    up: of the driver, per item."""
    trainings: int = bounded(512, ">= 1")
    """Assumed: of a search, e.g. 25 trials, 5 seeds, 4 windows."""
    start_s: float = bounded(15.0, ">= 0")
    """Assumed: a worker's imports, data and compilation from the cache, once."""


@dataclass(frozen=True)
class ScalePoint:
    """One cell of the table."""

    gpus: int
    seconds: float
    """NaN where the symbols do not fit into the memory of so many GPUs."""
    efficiency_frac: float
    """Speed ÷ (GPUs × speed per GPU of the fewest that can do it)."""
    bound_by: str
    """What takes most of the time that is not computing."""


def search_seconds(symbols: int, gpus: int, given: ScaleAssumptions) -> tuple[float, str]:
    """Return how long a search takes, and what bounds it."""
    per_training = gpus_needed(symbols, given)
    places = gpus // per_training
    if not places:
        return math.nan, "memory"
    compute = _step_s(symbols / per_training, given) * given.steps
    if per_training > 1:
        compute += given.steps * _all_reduce_s(per_training, given)
    rounds = math.ceil(given.trainings / places)
    idle = rounds * compute - given.trainings * compute / places
    driver = given.trainings * given.item_s
    costs = {"start of workers": given.start_s, "last round": idle, "driver": driver}
    seconds = max(rounds * compute + given.start_s, driver)
    return seconds, max(costs, key=lambda name: costs[name])


def training_seconds(
    symbols: int, gpus: int, given: ScaleAssumptions, *, through_driver: bool
) -> tuple[float, str]:
    """Return how long one training takes, and what bounds it.

    Args:
        symbols: Divided evenly over the GPUs.
        gpus: Of them.
        given: Assumptions.
        through_driver: Gradients and weights go through the driver, as our executors do it; else
            GPUs exchange them among each other.
    """
    if gpus < gpus_needed(symbols, given):
        return math.nan, "memory"
    share = math.ceil(symbols / gpus)
    compute = _compute_s(share, given)
    exchange = _driver_s(gpus, given) if through_driver else _all_reduce_s(gpus, given)
    costs = {"starting kernels": given.floor_s, "exchange of gradients": exchange}
    idle = compute - _compute_s(symbols / gpus, given)
    costs["uneven shares"] = idle
    step = compute + given.floor_s + exchange
    return step * given.steps, max(costs, key=lambda name: costs[name])


def gpus_needed(symbols: int, given: ScaleAssumptions) -> int:
    """Return the fewest GPUs whose memory holds one training."""
    return math.ceil(symbols / given.symbols * given.memory_gb / given.gpu_memory_gb)


def scale_row(
    seconds: Callable[[int], tuple[float, str]], gpus: Sequence[int] = GPUS, fewest: int = 1
) -> list[ScalePoint]:
    """Return the points of a row; efficiency is beside the fewest GPUs that can do it."""
    base = fewest * seconds(fewest)[0]
    found = [(count, *seconds(count)) for count in gpus]
    return [ScalePoint(count, took, base / (count * took), bound) for count, took, bound in found]


def stops_at(
    seconds: Callable[[int], tuple[float, str]], fewest: int = 1, most: int = 4_096
) -> int:
    """Return the most GPUs, a power of two, that are used at half of their speed or better."""
    counts = [1 << power for power in range(int(math.log2(most)) + 1)]
    row = scale_row(seconds, counts, fewest)
    return max(point.gpus for point in row if point.efficiency_frac >= STOPS_BELOW_FRAC)


def _compute_s(share: float, given: ScaleAssumptions) -> float:
    """Return what one optimiser step of so many symbols computes, in proportion to them."""
    whole = given.training_s / given.steps - given.floor_s
    return whole * share / given.symbols


def _step_s(share: float, given: ScaleAssumptions) -> float:
    return _compute_s(share, given) + given.floor_s


def _all_reduce_s(gpus: int, given: ScaleAssumptions) -> float:
    if gpus == 1:
        return 0.0
    moved = 2.0 * (gpus - 1) / gpus * 4.0 * given.parameters
    return moved / given.link_bytes_per_s + 2.0 * math.log2(gpus) * given.hop_s


def _driver_s(gpus: int, given: ScaleAssumptions) -> float:
    """Weights out to every worker, gradients back, one link; and the driver's own time per item."""
    if gpus == 1:
        return 0.0
    return 2.0 * gpus * 4.0 * given.parameters / given.driver_bytes_per_s + gpus * given.item_s
