"""How fast backtests are: a population over two years, and a rule beside backtesting.py.

The rule is a crossing of two moving averages on 143 symbols. Trades and equity of both programs
are compared first; only what is equal is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter, process_time

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.baselines.market_rules import table_of
from tradingbot.agents.baselines.price_rules import cross_targets
from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.agents.policy import Policy
from tradingbot.data.splits import IndexRange
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import Backtest, backtest, sleeve_config
from tradingbot.market.costs import CostProfile
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.evaluation.backtest_peer import PeerResult, run_peer
from tradingbot_benchmarks.record import BenchRecord, against

FloatArray = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
BUDGET_S = 2.0
"""What a backtest of the whole population may take."""
GOAL_TIMES = 50.0
"""How much faster than the peer it must be."""
TOLERANCE = 1e-9
_TARGET = 0.5
"""Of equity: with all of it the peer refuses orders that a gap made too large."""
_COMMISSION = 2e-4
_BARS_PER_YEAR = 1_764.0
_HIDDEN = (64,)
_REPEATS = 3


@dataclass(frozen=True)
class BenchSize:
    """What is measured."""

    n_symbols: int = 143
    n_bars: int = 3_528
    """Two years of hourly bars."""
    first_bar: int = 199
    """Features are defined before it."""


FULL, QUICK = BenchSize(), BenchSize(n_symbols=8)


def measure_backtests(size: BenchSize, progress: Progress) -> list[BenchRecord]:
    """Measure both figures.

    Raises:
        MissingExtraError: Without backtesting.py.
        RuntimeError: If the two programs do not agree.
    """
    progress(0, 4, "make a market")
    world = synthetic_world(n_symbols=size.n_symbols, n_bars=size.first_bar + size.n_bars + 1)
    with torch_threads(1):
        progress(1, 4, "agents")
        population = _population(world, size)
        progress(2, 4, "the rule in both programs")
        rule = _rule(size)
    progress(4, 4, "done")
    return [population, rule]


def _population(world: World, size: BenchSize) -> BenchRecord:
    policy = _agents(world)
    config = sleeve_config(reward="log_growth")
    _backtest(world, config, policy, size)  # compiles, once for a machine
    began = process_time()
    seconds, played = _fastest(lambda: _backtest(world, config, policy, size))
    processor = (process_time() - began) / _REPEATS
    made = against("backtest_143x2y", seconds, "s", BUDGET_S, "budget")
    note = (
        f"{size.n_symbols} agents (heads of {_HIDDEN[0]} on the features) × {played.n_bars:,} bars "
        f"of synthetic data, one thread, {len(played.trades):,} trades; embeddings were there; "
        f"{processor:.2f} s of processor time"
    )
    return replace(made, note=note)


def rule_backtest(size: BenchSize) -> tuple[World, FloatArray, Backtest]:
    """Return a market, the targets (N, T) of the rule, and what the simulator makes of them."""
    world = synthetic_world(n_symbols=size.n_symbols, n_bars=size.first_bar + size.n_bars + 1)
    # The peer knows no volume; with much of it no fill is cut here either.
    prices = world.prices.copy()
    prices[..., 4] = 1e12
    world = replace(world, prices=prices)
    targets = _TARGET * np.maximum(cross_targets(world.prices[..., 3]), 0.0)
    return world, targets, _backtest(world, _rule_config(), table_of(targets), size)


def _rule(size: BenchSize) -> BenchRecord:
    world, targets, played = rule_backtest(size)
    policy, start = table_of(targets), size.first_bar - 1
    began, peers = perf_counter(), []
    for symbol in range(size.n_symbols):
        bars, wanted = world.prices[symbol, start:], targets[symbol, start:]
        peers.append(run_peer(bars, wanted, commission_frac=_COMMISSION))
    reference = perf_counter() - began
    worst = max(difference(played, symbol, peer) for symbol, peer in enumerate(peers))
    if worst > TOLERANCE:
        raise RuntimeError(f"backtesting.py and the simulator differ by {worst:.2g}")
    seconds, _ = _fastest(lambda: _backtest(world, _rule_config(), policy, size))
    made = against("vs_backtesting_py", seconds, "s", reference, "backtesting.py")
    note = (
        f"crossing of 20 and 50 bars on {size.n_symbols} symbols × {played.n_bars:,} bars; trades "
        f"are the same, equity and profits to {worst:.0e}; {GOAL_TIMES:.0f} times is the goal"
    )
    return replace(made, note=note)


def _rule_config() -> EnvConfig:
    costs = CostProfile(commission_frac=_COMMISSION, slippage_frac=0.0)
    return sleeve_config(costs, reward="log_growth", max_participation_frac=1.0)


def difference(played: Backtest, symbol: int, peer: PeerResult) -> float:
    """Return the largest relative difference between the programs on one symbol.

    Infinity where a trade is entered or left at another bar, or is in one of them only.
    """
    trades = played.trades
    mine = trades.select((trades.symbol == symbol) & ~trades.is_open)
    entered, left = (
        np.searchsorted(played.closed_at, stamps) for stamps in (mine.entered_at, mine.exited_at)
    )
    if not np.array_equal(entered, peer.entry_bar) or not np.array_equal(left, peer.exit_bar):
        return float("inf")
    initial_ccy = 1e5
    gaps = [
        np.abs(played.equity[:, symbol] / peer.equity - 1.0),
        np.abs(mine.entry_price / peer.entry_price - 1.0),
        np.abs(mine.exit_price / peer.exit_price - 1.0),
        np.abs(mine.pnl_ccy / initial_ccy - peer.pnl_frac),
    ]
    return max(float(gap.max(initial=0.0)) for gap in gaps)


def _agents(world: World) -> NetworkPolicy:
    """Agents that were never trained: what they decide costs what it costs trained ones."""
    table, private = market_table(world), ("size", "drawdown")
    head = HeadConfig(hidden=_HIDDEN, output_gain=2.0, deviation_scale=1.0)
    actor = StackedHead(
        world.n_symbols,
        table.shape[-1] + len(private),
        1,
        head,
        torch.Generator().manual_seed(1),
    )
    squash = Squash("sigmoid", gain=4.0, levels=3)
    return NetworkPolicy(TableView(table), actor.requires_grad_(False), squash, private=private)


def _backtest(world: World, config: EnvConfig, policy: Policy, size: BenchSize) -> Backtest:
    return backtest(
        world,
        config,
        policy,
        name="bench",
        bars_per_year=_BARS_PER_YEAR,
        bars=IndexRange(size.first_bar, size.first_bar + size.n_bars + 1),
    )


def _fastest(work: Callable[[], Backtest]) -> tuple[float, Backtest]:
    """Return the shortest time of a few, in seconds, and the last result."""
    times = []
    for _ in range(_REPEATS):
        began = perf_counter()
        result = work()
        times.append(perf_counter() - began)
    return min(times), result
