"""`tb.check_strategy`: the checks that every strategy must pass, on bars of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.strategy_check import require_causal
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import as_traded
from tradingbot.plugins.declaring import strategy_of
from tradingbot.plugins.reference import find_strategy


def check_strategy(
    strategy: str | Callable[..., Any], bars: Bars | World | str | Path | Any
) -> None:
    """Refuse a strategy that looks ahead, changes from call to call or returns no targets.

    It is asked at every bar; then bars after five cuts are changed and it is asked again from the
    beginning: what it decided before a cut must be the same to the last bit.

    Args:
        strategy: A function, a class, or the name of a declared one.
        bars: What it looks at; any bars will do.

    Raises:
        ConfigError: If it fails, or a target is outside −1 … 1.
        DataError: If a decision moved, naming symbol and bar.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d")
        >>> tb.check_strategy(lambda view: 0.5, bars)
    """
    found = find_strategy(strategy) if isinstance(strategy, str) else None
    declared = found or strategy_of(strategy)  # type: ignore[arg-type]
    data = as_traded(bars)
    require_causal(declared, data.prices, scaled=data.with_features, first_bar=declared.warm_up())
