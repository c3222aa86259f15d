"""Policies side by side on one market, in account currency: a view of one backtest of all of them.

Each lane is a sleeve: one account with the same cash that trades one symbol from the first bar to
the last. The simulation is `evaluation.backtest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.backtests import (
    PolicyUnderTest,
    as_one_episode,
    period_label,
    simulate_policies,
)
from tradingbot.evaluation.backtest.simulation import Progress
from tradingbot.evaluation.backtest.sleeves import sleeve_config
from tradingbot.evaluation.backtest.trades import Trades, trades_of

__all__ = ["PolicyRollout", "roll_out", "sleeve_config"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PolicyRollout:
    """What P policies did with N sleeves each over S bars. Money in account currency."""

    label: str
    """Data, period and seed in words."""
    synthetic: bool
    policies: tuple[str, ...]
    symbols: tuple[str, ...]
    closed_at: NDArray[np.int64]
    """(S + 1,) microseconds since 1970 UTC: the first decision's close, then every bar's."""
    closes: FloatArray
    """(S + 1, N) prices at those closes; NaN where there is no bar."""
    equity: FloatArray
    """(S + 1, P, N) at those closes."""
    exposure_frac: FloatArray
    """(P, N) mean size of the position ÷ equity at the closes."""
    reward_names: tuple[str, ...]
    reward_terms: FloatArray
    """(K, P, N) weighted reward terms, summed over bars."""
    realised_ccy: FloatArray
    """(P, N) closed P&L net of commission, partial exits of open trades included."""
    commission_ccy: FloatArray
    """(P, N)"""
    slippage_ccy: FloatArray
    """(P, N) slippage, spread and impact."""
    turnover_ccy: FloatArray
    """(P, N) traded notional."""
    denials: NDArray[np.int64]
    """(P, N) orders that a risk rule refused."""
    trades: Trades
    config: EnvConfig

    @property
    def initial_cash_ccy(self) -> float:
        """Cash of every sleeve at the start."""
        return self.config.rules.account.initial_cash_ccy

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return len(self.closed_at) - 1


def roll_out(
    world: World,
    config: EnvConfig,
    policies: Mapping[str, Policy],
    *,
    progress: Progress | None = None,
) -> PolicyRollout:
    """Let every policy trade every symbol, from the first usable bar to the last.

    Args:
        world: What is traded and seen; cut it (`envs.world.between`) for a shorter period.
        config: Rules, costs and reward; see `sleeve_config`. Length of episodes is not read.
        policies: By name; they act in the space of the rules.
        progress: Told (finished, total, label) in bars.

    Raises:
        ConfigError: If there is no policy.
        DataError: If no bar follows the first usable one.
    """
    first, shape = first_ready_bar(world), (len(policies), world.n_symbols)
    tested = [PolicyUnderTest(name, policy) for name, policy in policies.items()]
    record = simulate_policies(world, config, tested, first, world.n_bars - 1, progress=progress)
    closed_at = world.closed_at[first:]

    def per_sleeve(values: NDArray[np.generic]) -> FloatArray:
        return np.asarray(values.reshape(*values.shape[:-1], *shape))

    equity, worth = record.column("equity"), np.abs(record.column("units") * record.column("mark"))
    invested = np.divide(worth, equity, out=np.zeros_like(worth), where=equity > 0.0)
    cash = np.full_like(equity[:1], config.rules.account.initial_cash_ccy)
    return PolicyRollout(
        label=period_label(world, closed_at),
        synthetic=world.synthetic,
        policies=tuple(policies),
        symbols=world.symbols,
        closed_at=closed_at,
        closes=world.prices[:, first:, 3].T,
        equity=per_sleeve(np.concatenate([cash, equity])),
        exposure_frac=per_sleeve(invested.mean(axis=0)),
        reward_names=config.reward_stack.names,
        reward_terms=per_sleeve(record.terms),
        realised_ccy=per_sleeve(record.realised_ccy),
        commission_ccy=per_sleeve(record.column("commission")[-1]),
        slippage_ccy=per_sleeve(record.column("slippage")[-1]),
        turnover_ccy=per_sleeve(record.column("turnover")[-1]),
        denials=per_sleeve(record.denials).astype(np.int64),
        trades=trades_of(record.fills(), record.last_mark, closed_at, n_symbols=world.n_symbols),
        config=as_one_episode(config, len(closed_at) - 1),
    )
