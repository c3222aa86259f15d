"""The loop over bars: L lanes of any policies, costs and delays in one exact simulation.

Nothing is reset on the way; an account that was ruined stays ruined. A decision is made with what
is known at the close of a bar; it is executed at the next open, or so many bars later.

Two engines come to the same: tensors, and the same operations compiled. Compiling takes seconds
once and is kept on disk, so it is done where the bars are many. Which of them is used follows from
the call alone: sums of many bars differ in their last digits between the two, and no figure may
depend on what the process did before.
"""

from __future__ import annotations

import torch

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.evaluation.backtest.lanes import Lanes
from tradingbot.evaluation.backtest.native_lanes import NativeLanes, native_trade
from tradingbot.evaluation.backtest.simulation_record import SimulationRecord
from tradingbot.evaluation.backtest.tensor_lanes import TensorLanes

_TOLD_BARS = 50
_MANY_BARS = 50
"""Compiling takes seconds once, tensors a tenth of a second each time for so few."""


def simulate(
    lanes: Lanes, n_bars: int, *, progress: Progress = ignore_progress, native: bool | None = None
) -> SimulationRecord:
    """Let every lane trade for `n_bars` bars, without gradients.

    Args:
        lanes: Accounts to simulate.
        n_bars: S.
        progress: Told how far it is.
        native: Compile; by default where the bars are many. Without a compiler tensors are used.
    """
    is_native = n_bars >= _MANY_BARS if native is None else native
    trade = native_trade(lanes.rules, lanes.reward) if is_native else None
    with torch.no_grad():
        wanted = None if trade is None else lanes.wanted(n_bars)
        if trade is not None and wanted is not None:
            compiled = NativeLanes(trade, lanes, n_bars)
            compiled.trade_all(wanted)
            progress(n_bars, n_bars, "bars")
            return compiled.simulation_record()
        engine = TensorLanes(lanes, n_bars) if trade is None else NativeLanes(trade, lanes, n_bars)
        for step in range(n_bars):
            engine.trade(lanes.ask(*engine.see()))
            if (step + 1) % _TOLD_BARS == 0 or step + 1 == n_bars:
                progress(step + 1, n_bars, "bars")
    return engine.simulation_record()
