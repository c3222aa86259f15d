"""Backtests beside their market: what was beta, what was timing of the market, what was alpha."""

from __future__ import annotations

import numpy as np

from tradingbot.data.factor import EQUAL_WEIGHT, MarketFactor, bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.evaluation.metrics.attribution import Attribution, attribute


def world_factor(whole: World, bars: IndexRange, name: str = EQUAL_WEIGHT) -> MarketFactor:
    """Return the market beside every symbol of a world.

    Args:
        whole: Every symbol of the data, also those that nothing trades.
        bars: Bars before those that are judged: betas see nothing else.
        name: `equal_weight`, `none`, or a symbol of the world.

    Raises:
        DataError: If the factor is a symbol that the world does not have; names the closest.
    """
    returns = bar_returns(whole.prices, whole.present)
    return fit_factor(returns, whole.symbols, bars, whole.closed_at, name)


def factor_before(whole: World, first_close: np.int64, name: str = EQUAL_WEIGHT) -> MarketFactor:
    """Return the market of a world, with betas of every bar before one that closes then."""
    before = int(np.searchsorted(whole.closed_at, first_close))
    return world_factor(whole, IndexRange(0, before), name)


def attribute_backtest(played: Backtest, factor: MarketFactor) -> Attribution:
    """Take apart what each account earned in each bar, (S, A).

    Args:
        played: One account per symbol, or one of several.
        factor: Its symbols and bars may be more.

    Raises:
        DataError: If the factor lacks a symbol or a bar.
    """
    market = factor.of(played.held or played.symbols).at(played.closed_at[1:])
    return attribute(played.returns, played.exposure, market)
