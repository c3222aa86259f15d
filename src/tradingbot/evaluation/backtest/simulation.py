"""The loop over bars: L lanes of any policies, costs and delays in one exact simulation.

Nothing is reset on the way; an account that was ruined stays ruined. A decision is made with what
is known at the close of a bar; it is executed at the next open, or so many bars later.

Two engines come to the same: tensors, and the same operations compiled. Compiling takes seconds
once and is kept on disk, so it is done where the bars are many. Which of them is used follows from
the call alone: sums of many bars differ in their last digits between the two, and no figure may
depend on what the process did before.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tradingbot.evaluation.backtest.lanes import Lanes, PolicyInputsTable
from tradingbot.evaluation.backtest.native import native_trade
from tradingbot.evaluation.backtest.native_lanes import NativeLanes
from tradingbot.evaluation.backtest.simulation_record import SimulationRecord
from tradingbot.evaluation.backtest.tensor_lanes import TensorLanes
from tradingbot.market.bars import TensorMarket
from tradingbot.market.params import SimulatorParams
from tradingbot.rewards import PotentialShaping, RewardStack

Progress = Callable[[int, int, str], None]
"""Told (finished, total, label) in bars."""
_TOLD_BARS = 50
_MANY_BARS = 400
"""So many take tensors about half of what compiling takes: from here on it pays by the second call.
"""


def simulate(  # noqa: PLR0913 - a simulation's parts, and how it is run
    market: TensorMarket,
    inputs_table: PolicyInputsTable,
    rules: SimulatorParams,
    reward: RewardStack | PotentialShaping,
    lanes: Lanes,
    *,
    n_bars: int,
    progress: Progress | None = None,
    native: bool | None = None,
) -> SimulationRecord:
    """Let every lane trade for `n_bars` bars, without gradients.

    Args:
        market: Bars, float64.
        inputs_table: What policies see of the market.
        rules: Of all lanes.
        reward: Whose terms are added up.
        lanes: Accounts to simulate.
        n_bars: S.
        progress: Told how far it is.
        native: Compile; by default where the bars are many. Without a compiler tensors are used.
    """
    with torch.no_grad():
        engine = _engine(market, rules, reward, lanes, n_bars, native)
        if isinstance(engine, NativeLanes):
            wanted = lanes.wanted(n_bars)
            if wanted is not None:
                engine.trade_all(wanted)
                if progress:
                    progress(n_bars, n_bars, "bars")
                return engine.simulation_record()
        for step in range(n_bars):
            engine.trade(inputs_table.ask(lanes, *engine.see()))
            if progress and ((step + 1) % _TOLD_BARS == 0 or step + 1 == n_bars):
                progress(step + 1, n_bars, "bars")
    return engine.simulation_record()


def _engine(
    market: TensorMarket,
    rules: SimulatorParams,
    reward: RewardStack | PotentialShaping,
    lanes: Lanes,
    n_bars: int,
    native: bool | None,
) -> TensorLanes | NativeLanes:
    is_native = n_bars >= _MANY_BARS if native is None else native
    trade = native_trade(rules, reward) if is_native else None
    if trade is None:
        return TensorLanes(market, rules, reward, lanes, n_bars)
    return NativeLanes(trade, market, rules, lanes, n_bars=n_bars, n_terms=len(reward.names))
