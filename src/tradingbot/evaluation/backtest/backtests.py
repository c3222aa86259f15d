"""Backtests of policies on the simulator: one by one, or many as lanes of one simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.policy import MarketRule, Policy
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch.observation import rows_of
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.lanes import Group, Lanes
from tradingbot.evaluation.backtest.result import AccountTotals, Backtest
from tradingbot.evaluation.backtest.simulation import simulate
from tradingbot.evaluation.backtest.simulation_record import COLUMNS, SimulationRecord
from tradingbot.evaluation.backtest.terms import require_period
from tradingbot.evaluation.backtest.trades import fills_of_lanes, trades_of
from tradingbot.evaluation.backtest.world_tables import known_closes
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.costs import CostProfile, CostRates

MOST_DELAY_BARS = 100
_MOST_NUMBERS = 2**25
"""Numbers that one simulation keeps at a time: 256 MiB."""
_MARKETS: WeakKeyDictionary[World, TensorMarket] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class PolicyUnderTest(CheckedFields):
    """One policy, and how it is let trade."""

    name: str
    policy: Policy
    costs: CostProfile | None = None
    """Rates; those of the configuration by default."""
    delay_bars: int = bounded(0, f"[0, {MOST_DELAY_BARS}]")
    """Bars that its decisions wait beyond the next open."""


def backtest(  # noqa: PLR0913 - what identifies a backtest, by name
    world: World,
    config: EnvConfig,
    policy: Policy,
    *,
    name: str,
    bars_per_year: float,
    bars: IndexRange | None = None,
    delay_bars: int = 0,
    progress: Progress = ignore_progress,
) -> Backtest:
    """Let one policy trade every symbol of a world; see `backtest_all`."""
    under_test = PolicyUnderTest(name, policy, delay_bars=delay_bars)
    (only,) = backtest_all(
        world,
        config,
        [under_test],
        bars_per_year=bars_per_year,
        bars=bars,
        progress=progress,
    )
    return only


def backtest_all(
    world: World,
    config: EnvConfig,
    policies: Sequence[PolicyUnderTest],
    *,
    bars_per_year: float,
    bars: IndexRange | None = None,
    progress: Progress = ignore_progress,
) -> tuple[Backtest, ...]:
    """Let every policy trade every symbol, each with accounts of its own.

    All are lanes of one simulation: ten policies cost little more than one. Policies that share a
    policy object (a sweep over costs or delays) share its calls too.

    Args:
        world: What is traded and seen.
        config: Rules, costs and reward; length and starts of episodes are not read.
        policies: Policies to simulate; actions are in the space of the rules.
        bars_per_year: To annualise with.
        bars: From that of the first decision to that at whose close it ends; by default from the
            first at which most symbols are usable to the world's last.
        progress: Told (finished, total, label) in bars.

    Raises:
        ConfigError: If there is no policy.
        DataError: If these are no bars of the world, or none follows the first.
    """
    if bars is None:
        bars = IndexRange(first_ready_bar(world), world.n_bars)
    require_period(world, bars)
    results: dict[int, Backtest] = {}
    batches = _batches(policies, (len(bars) - 1) * world.n_symbols)
    for number, batch in enumerate(batches):
        chosen = [policies[place] for place in batch]
        told = partial(_tell_shared, progress, number, len(batches))
        record = simulate_policies(world, config, chosen, bars, progress=told)
        closed_at = world.closed_at[bars.start : bars.stop]
        made = _results(world, config, chosen, record, closed_at, bars_per_year)
        results |= dict(zip(batch, made, strict=True))
    return tuple(results[place] for place in range(len(policies)))


def simulate_policies(
    world: World,
    config: EnvConfig,
    policies: Sequence[PolicyUnderTest],
    bars: IndexRange,
    *,
    progress: Progress = ignore_progress,
    native: bool | None = None,
) -> SimulationRecord:
    """Simulate P policies with N sleeves each; lane = policy · N + symbol.

    Args:
        world: What is traded and seen.
        config: Rules, costs and reward.
        policies: Policies to simulate.
        bars: From that of the first decision to that at whose close it ends.
        progress: Told how far it is.
        native: Compile; by default where it pays.

    Raises:
        ConfigError: If there is no policy.
        DataError: If these are no bars of the world, or none follows the first.
    """
    if not policies:
        raise ConfigError("a backtest must have a policy", was="none")
    require_period(world, bars)
    lanes = _lay_out(world, config, policies, bars)
    return simulate(lanes, len(bars) - 1, progress=progress, native=native)


def as_one_episode(config: EnvConfig, n_bars: int) -> EnvConfig:
    """Return a configuration whose one episode is the whole period."""
    episode = replace(config.rules.episode, episode_bars=n_bars)
    return replace(config, rules=replace(config.rules, episode=episode))


def period_label(world: World | SleeveBook, closed_at: NDArray[np.int64]) -> str:
    """Say which data and days figures are of."""
    first, last = closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    return f"{world.label}, {first} … {last}"


def _batches(policies: Sequence[PolicyUnderTest], numbers_each: int) -> list[list[int]]:
    """Divide policies, by place, into simulations of the same kind that fit into memory.

    Rules that look at the market alone are kept from the others: they need not be asked bar by bar.
    """
    if not policies:
        raise ConfigError("a backtest must have a policy", was="none")
    size = max(1, _MOST_NUMBERS // (numbers_each * len(COLUMNS)))
    batches: list[list[int]] = []
    for kind in (True, False):
        places = [
            place
            for place, under_test in enumerate(policies)
            if isinstance(under_test.policy, MarketRule) is kind
        ]
        batches += [places[start : start + size] for start in range(0, len(places), size)]
    return batches


def _tell_shared(
    progress: Progress, number: int, count: int, done: int, total: int, label: str
) -> None:
    """Tell the progress of one of several simulations as a part of all."""
    progress(number * total + done, count * total, label)


def _results(
    world: World,
    config: EnvConfig,
    policies: Sequence[PolicyUnderTest],
    record: SimulationRecord,
    closed_at: NDArray[np.int64],
    bars_per_year: float,
) -> Iterator[Backtest]:
    n_symbols, last_mark = world.n_symbols, record.column("mark")[-1]
    first_close = world.prices[:, np.searchsorted(world.closed_at, closed_at[0]), 3]
    fills = record.fills()
    trades = trades_of(fills, last_mark, closed_at, n_symbols=n_symbols)
    closes = known_closes(world, closed_at)
    for index, under_test in enumerate(policies):
        mine = trades.select(trades.policy == index)
        own = record.lanes(slice(index * n_symbols, (index + 1) * n_symbols))
        yield Backtest(
            policy=under_test.name,
            label=period_label(world, closed_at),
            synthetic=world.synthetic,
            symbols=world.symbols,
            closed_at=closed_at,
            bars_per_year=bars_per_year,
            **_shares(own, config.rules.account.initial_cash_ccy),
            **_positions(own, first_close, config.rules.account.initial_cash_ccy),
            action=own.asked.copy(),
            reward_names=config.reward_stack.names,
            reward_terms=own.terms.copy(),
            denials=own.denials.copy(),
            trades=replace(mine, policy=np.zeros_like(mine.policy)),
            costs=under_test.costs or config.costs,
            delay_bars=under_test.delay_bars,
            initial_cash_ccy=config.rules.account.initial_cash_ccy,
            account=AccountTotals(
                own.realised_ccy.copy(),
                *(own.column(name)[-1].copy() for name in ("commission", "slippage", "turnover")),
            ),
            close=closes,
            fills=fills_of_lanes(fills, index * n_symbols, n_symbols),
        )


def _market_of(world: World) -> TensorMarket:
    """Return the bars of a world; those of worlds in use are kept, a world never changes."""
    if world not in _MARKETS:
        _MARKETS[world] = tensor_market(world.prices, world.present, dtype=torch.float64)
    return _MARKETS[world]


def _lay_out(
    world: World, config: EnvConfig, policies: Sequence[PolicyUnderTest], bars: IndexRange
) -> Lanes:
    n_symbols = world.n_symbols
    symbols = torch.arange(n_symbols, dtype=torch.int32).repeat(len(policies))
    profiles = [astuple(under_test.costs or config.costs) for under_test in policies]
    rates = torch.tensor(profiles, dtype=torch.float64).repeat_interleave(n_symbols, dim=0)
    delays = torch.tensor([under_test.delay_bars for under_test in policies])
    return Lanes(
        market=_market_of(world),
        tables=(rows_of(world.features), rows_of(world.regimes)),
        rules=as_one_episode(config, len(bars) - 1).rules,
        reward=config.reward_stack,
        groups=_groups(policies, n_symbols),
        row=symbols * world.n_bars + bars.start,
        rates=CostRates(*rates.T.contiguous()),
        delay_bars=delays.repeat_interleave(n_symbols),
    )


def _groups(policies: Sequence[PolicyUnderTest], n_symbols: int) -> list[Group]:
    """Join neighbours that are decided for by the same object."""
    groups: list[Group] = []
    for index, under_test in enumerate(policies):
        start, stop = index * n_symbols, (index + 1) * n_symbols
        if groups and groups[-1].policy is under_test.policy:
            start = groups.pop().lanes.start
        groups.append(Group(under_test.policy, slice(start, stop)))
    return groups


def _shares(record: SimulationRecord, initial_cash_ccy: float) -> dict[str, Any]:
    """Return equity, positions, turnover and costs as `Backtest` has them."""
    equity = record.column("equity")
    start = np.full_like(equity[:1], initial_cash_ccy)
    before = np.concatenate([start, equity[:-1]])
    paid = record.column("commission") + record.column("slippage") + record.column("borrow")
    return {
        "equity": np.concatenate([start, equity]) / initial_cash_ccy,
        "position_frac": _share(record.column("units") * record.column("mark"), equity),
        "turnover_frac": _share(np.diff(record.column("turnover"), axis=0, prepend=0.0), before),
        "cost_frac": _share(np.diff(paid, axis=0, prepend=0.0), before),
    }


def _positions(
    record: SimulationRecord, first_close: NDArray[np.float64], initial_cash_ccy: float
) -> dict[str, Any]:
    """Return what was held over each bar, and what was asked for, priced at the close before it."""
    units, filled = record.column("units"), record.column("fill_units")
    held = np.concatenate([np.zeros_like(units[:1]), units[:-1]])
    price = np.concatenate([np.nan_to_num(first_close)[None], record.column("mark")[:-1]])
    start = np.full_like(units[:1], initial_cash_ccy)
    before = np.concatenate([start, record.column("equity")[:-1]])

    def share(position: NDArray[np.float64]) -> NDArray[np.float64]:
        return _share(position * price, before)

    exposure = Exposure(gap=share(held), day=share(held + filled))
    return {"exposure": exposure, "asked_frac": share(held + record.column("order_units"))}


def _share(values: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(values, of, out=np.zeros_like(values), where=of > 0.0)
