"""The loop over bars: L lanes of any policies, costs and delays in one exact simulation.

Nothing is reset on the way; an account that was ruined stays ruined. A decision is made with what
is known at the close of a bar; it is executed at the next open, or so many bars later.

Two engines come to the same: tensors, and the same operations compiled. Compiling takes seconds,
so it is done where the bars are many, or have become many in this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch

from tradingbot.evaluation.backtest.lanes import Lanes, Sight
from tradingbot.evaluation.backtest.native import is_loaded, native_trade
from tradingbot.evaluation.backtest.native_lanes import NativeLanes
from tradingbot.evaluation.backtest.tensor_lanes import TensorLanes
from tradingbot.evaluation.backtest.track import Track
from tradingbot.market.bars import TensorMarket
from tradingbot.market.rules import ActionSpace, Rules
from tradingbot.rewards import PotentialShaping, RewardStack

Progress = Callable[[int, int, str], None]
"""Told (finished, total, label) in bars."""
_TOLD_BARS = 50
_PATIENCE_BARS = 1_000
"""Bars by tensors after which compiling is worth its seconds."""
_BARS_SO_FAR: Counter[ActionSpace] = Counter()


def simulate(  # noqa: PLR0913 - a simulation's parts, and how it is run
    market: TensorMarket,
    sight: Sight,
    rules: Rules,
    reward: RewardStack | PotentialShaping,
    lanes: Lanes,
    *,
    n_bars: int,
    progress: Progress | None = None,
    native: bool | None = None,
) -> Track:
    """Let every lane trade for `n_bars` bars, without gradients.

    Args:
        market: Bars, float64.
        sight: What policies see of the market.
        rules: Of all lanes.
        reward: Whose terms are added up.
        lanes: Who trades.
        n_bars: S.
        progress: Told how far it is.
        native: Compile; by default where it pays. Without a compiler tensors are used.
    """
    with torch.no_grad():
        engine = _engine(market, rules, reward, lanes, n_bars, native)
        if isinstance(engine, NativeLanes):
            wanted = lanes.wanted(n_bars)
            if wanted is not None:
                engine.trade_all(wanted)
                if progress:
                    progress(n_bars, n_bars, "bars")
                return engine.track()
        for step in range(n_bars):
            engine.trade(sight.ask(lanes, *engine.see()))
            if progress and ((step + 1) % _TOLD_BARS == 0 or step + 1 == n_bars):
                progress(step + 1, n_bars, "bars")
    return engine.track()


def _engine(
    market: TensorMarket,
    rules: Rules,
    reward: RewardStack | PotentialShaping,
    lanes: Lanes,
    n_bars: int,
    native: bool | None,
) -> TensorLanes | NativeLanes:
    if native is None:
        _BARS_SO_FAR[rules.action.space] += n_bars
        native = is_loaded(rules, reward) or _BARS_SO_FAR[rules.action.space] > _PATIENCE_BARS
    trade = native_trade(rules, reward) if native else None
    if trade is None:
        return TensorLanes(market, rules, reward, lanes, n_bars)
    return NativeLanes(trade, market, rules, lanes, n_bars=n_bars, n_terms=len(reward.names))
