"""Names and bounds of what an agent knows of its own account; read without torch."""

from __future__ import annotations

from typing import NamedTuple

HOLDING_SCALE_BARS = 24.0
RATIO_BOUND = 1.0
"""Sharpe and Sortino per bar are cut to this."""


class PrivateFeature(NamedTuple):
    """Name and bounds of one number of the private observation."""

    name: str
    low: float
    high: float


POSITION_FEATURES = (
    PrivateFeature("size", -2.0, 2.0),  # position ÷ largest position
    PrivateFeature("entry_move", -1.0, 2.0),  # return since entry, in the position's direction
    PrivateFeature("unrealised", -2.0, 2.0),  # unrealised P&L ÷ initial cash
    PrivateFeature("holding", 0.0, 1.0),  # bars ÷ (bars + 24)
    PrivateFeature("stop_distance", -1.0, 1.0),  # way to the stop ÷ price; 1 when flat
    PrivateFeature("target_distance", -1.0, 1.0),  # way to the take-profit ÷ price; 1 when flat
    PrivateFeature("adds", 0.0, 1.0),  # adds ÷ (1 + adds)
    PrivateFeature("last_action", -1.0, 1.0),  # smoothed action, or code ÷ 6 of a discrete one
)
PORTFOLIO_FEATURES = (
    PrivateFeature("total_return", -1.0, 10.0),  # equity ÷ initial cash − 1
    PrivateFeature("cash", -2.0, 4.0),  # of equity
    PrivateFeature("exposure", 0.0, 4.0),  # of equity
    PrivateFeature("drawdown", 0.0, 1.0),  # 1 − equity ÷ peak
    PrivateFeature("realised", -2.0, 10.0),  # realised P&L ÷ initial cash
    PrivateFeature("sharpe", -RATIO_BOUND, RATIO_BOUND),  # per bar, since the episode began
    PrivateFeature("sortino", -RATIO_BOUND, RATIO_BOUND),  # likewise
    PrivateFeature("win_rate", 0.0, 1.0),  # of closed trades
    PrivateFeature("repeats", 0.0, 1.0),  # repeats ÷ (1 + repeats)
    PrivateFeature("stale", 0.0, 1.0),  # bars without a trade ÷ (1 + those)
)
PRIVATE_FEATURES = POSITION_FEATURES + PORTFOLIO_FEATURES
FLAT_ACCOUNT = {"stop_distance": 1.0, "target_distance": 1.0, "cash": 1.0}
"""Numbers of an account that has just been opened; all others are 0."""
