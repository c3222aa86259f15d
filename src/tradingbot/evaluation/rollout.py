"""Policies side by side on one market, in account currency: a view of their backtests.

Each lane is a sleeve: one account with the same cash that trades one symbol from the first bar to
the last. The simulation is `evaluation.backtest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, Trades, backtest_all
from tradingbot.evaluation.backtest.backtests import as_one_episode
from tradingbot.evaluation.backtest.terms import sleeve_config

__all__ = ["AccountFigures", "PolicyRollout", "account_figures", "roll_out", "sleeve_config"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class AccountFigures:
    """What the sleeves of one policy together paid, hold and would be paid in reward."""

    n_open_trades: int
    commission_ccy: float
    slippage_ccy: float
    costs_frac: float
    """Commission and slippage ÷ initial cash."""
    reward: float
    """Mean over sleeves of the sum over bars."""


@dataclass(frozen=True, eq=False)
class PolicyRollout:
    """What P policies did with N sleeves each over S bars. Money in account currency."""

    backtests: tuple[Backtest, ...]
    """One of each policy, on the same bars."""
    closes: FloatArray
    """(S + 1, N) prices at the closes; NaN where there is no bar."""
    config: EnvConfig

    @property
    def label(self) -> str:
        """Data, period and seed in words."""
        return self.backtests[0].label

    @property
    def synthetic(self) -> bool:
        """Generated bars, not observed ones."""
        return self.backtests[0].synthetic

    @property
    def policies(self) -> tuple[str, ...]:
        """P names."""
        return tuple(each.policy for each in self.backtests)

    @property
    def symbols(self) -> tuple[str, ...]:
        """N names."""
        return self.backtests[0].symbols

    @property
    def closed_at(self) -> NDArray[np.int64]:
        """(S + 1,) µs since 1970 UTC: the first decision's close, then every bar's."""
        return self.backtests[0].closed_at

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return self.backtests[0].n_bars

    @property
    def initial_cash_ccy(self) -> float:
        """Cash of every sleeve at the start."""
        return self.backtests[0].initial_cash_ccy

    @property
    def equity(self) -> FloatArray:
        """(S + 1, P, N) at the closes."""
        return self.initial_cash_ccy * self._of_each(lambda each: each.equity, axis=1)

    @property
    def reward_names(self) -> tuple[str, ...]:
        """K names of reward terms."""
        return self.backtests[0].reward_names

    @property
    def reward_terms(self) -> FloatArray:
        """(K, P, N) weighted reward terms, summed over bars."""
        return self._of_each(lambda each: each.reward_terms, axis=1)

    @property
    def trades(self) -> Trades:
        """Of all policies, each with its place among them."""
        found = [vars(each.trades) for each in self.backtests]
        columns = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
        counts = [len(each.trades) for each in self.backtests]
        columns["policy"] = np.repeat(np.arange(len(counts)), counts)
        return Trades(**columns)

    def _of_each(self, read: Callable[[Backtest], FloatArray], axis: int = 0) -> FloatArray:
        return np.stack([read(each) for each in self.backtests], axis=axis)


def roll_out(
    world: World,
    config: EnvConfig,
    policies: Mapping[str, Policy],
    *,
    bars_per_year: float = 1.0,
    progress: Progress = ignore_progress,
) -> PolicyRollout:
    """Let every policy trade every symbol, from the first usable bar to the last.

    Args:
        world: What is traded and seen; cut it (`envs.world.between`) for a shorter period.
        config: Rules, costs and reward; see `sleeve_config`. Length of episodes is not read.
        policies: By name; they act in the space of the rules.
        bars_per_year: To annualise with; by default nothing is.
        progress: Told (finished, total, label) in bars.

    Raises:
        ConfigError: If there is no policy.
        DataError: If no bar follows the first usable one.
    """
    first = first_ready_bar(world)
    backtests = backtest_all(
        world,
        config,
        [PolicyUnderTest(name, policy) for name, policy in policies.items()],
        bars_per_year=bars_per_year,
        bars=IndexRange(first, world.n_bars),
        progress=progress,
    )
    closes = world.prices[:, first:, 3].T
    return PolicyRollout(backtests, closes, as_one_episode(config, backtests[0].n_bars))


def account_figures(played: Backtest) -> AccountFigures:
    """Return what a policy's sleeves paid, in account currency."""
    commission = float(played.account.commission_ccy.sum())
    slippage = float(played.account.slippage_ccy.sum())
    return AccountFigures(
        n_open_trades=int(played.trades.is_open.sum()),
        commission_ccy=commission,
        slippage_ccy=slippage,
        costs_frac=(commission + slippage) / (played.initial_cash_ccy * len(played.symbols)),
        reward=float(played.reward_terms.sum(axis=0).mean()),
    )
