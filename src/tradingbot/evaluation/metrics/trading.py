"""Figures of trading: trades, turnover, exposure, costs and actions.

A trade is a round trip. NaN or infinity inside an input is a DataError; a figure that is not
defined (no trade, no loss to divide by) is NaN; counts are 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import SMALLEST, FloatArray

DEFAULT_ACTION_BINS = 7


def trade_count(trade_pnl: ArrayLike) -> float:
    """Return the number of closed trades."""
    return float(len(inputs.finite_series(trade_pnl, "trade_pnl")))


def win_rate(trade_pnl: ArrayLike) -> float:
    """Return the share of closed trades that earn more than 0, net; NaN without trades."""
    pnl = inputs.finite_series(trade_pnl, "trade_pnl")
    return float((pnl > 0.0).mean()) if len(pnl) else math.nan


def profit_factor(trade_pnl: ArrayLike) -> float:
    """Return what winning trades earn ÷ what losing ones lose, a ratio; NaN where none loses.

    Works on returns per bar as well. Any unit, net of costs.
    """
    pnl = inputs.finite_series(trade_pnl, "trade_pnl")
    losses = -float(pnl[pnl < 0.0].sum())
    return float(pnl[pnl > 0.0].sum()) / losses if losses > SMALLEST else math.nan


def mean_trade_bars(trade_bars: ArrayLike) -> float:
    """Return how long a closed trade lasts on average, bars; NaN without trades."""
    bars = inputs.finite_series(trade_bars, "trade_bars")
    if (bars < 0.0).any():
        raise DataError("trade_bars must be 0 or more", was=bars.min())
    return float(bars.mean()) if len(bars) else math.nan


def trades_per_1000_bars(trade_pnl: ArrayLike, *, n_bars: int) -> float:
    """Return closed trades per thousand bars; NaN for no bar."""
    count = inputs.require_count(n_bars, "n_bars", at_least=0)
    return trade_count(trade_pnl) / count * 1_000.0 if count else math.nan


def turnover_per_bar(turnover: ArrayLike) -> float:
    """Return the mean notional traded ÷ equity per bar, share; NaN for no bar.

    Args:
        turnover: (T,) notional traded in each bar ÷ equity before it, ≥ 0; buying and selling
            both count.
    """
    return _mean_of_shares(turnover, "turnover")


def mean_exposure(exposure: ArrayLike) -> float:
    """Return the mean gross exposure, share of equity; NaN for no bar.

    Args:
        exposure: (T,) signed position ÷ equity; its magnitude counts.
    """
    return _mean_of_shares(np.abs(np.asarray(exposure, dtype=np.float64)), "exposure")


def time_in_market(exposure: ArrayLike) -> float:
    """Return the share of bars with a position, (T,) exposures; NaN for no bar."""
    held = inputs.finite_series(exposure, "exposure") != 0.0
    return float(held.mean()) if len(held) else math.nan


def cost_share(net: ArrayLike, costs: ArrayLike) -> float:
    """Return costs ÷ what would have been earned without them, share.

    Args:
        net: Net result per bar or trade, any unit.
        costs: Costs in the same unit, ≥ 0.

    Returns:
        1 where costs eat everything, more where they turn a gain into a loss; NaN where nothing
        would have been earned anyway.
    """
    paid = inputs.finite_series(costs, "costs")
    if (paid < 0.0).any():
        raise DataError("costs must be 0 or more", was=paid.min())
    gross = float(inputs.finite_series(net, "net").sum() + paid.sum())
    return float(paid.sum()) / gross if gross > 0.0 else math.nan


def action_shares(
    actions: ArrayLike, *, low: float, high: float, n_bins: int = DEFAULT_ACTION_BINS
) -> FloatArray:
    """Return the share (bins,) of actions in each of `n_bins` bins of equal width.

    Args:
        actions: Any shape, within [low, high]. For codes 0 … K − 1 ask for K bins from −0.5 to
            K − 0.5.
        low: Lower end of the first bin.
        high: Upper end of the last bin, which it belongs to.
        n_bins: Two or more.

    Returns:
        NaN in every bin where there is no action.
    """
    inputs.require_count(n_bins, "n_bins", at_least=2)
    if not low < high:
        raise ConfigError("low must be below high", was=f"{low}, {high}")
    flat = inputs.finite_series(np.asarray(actions, dtype=np.float64).ravel(), "actions")
    if len(flat) == 0:
        return np.full(n_bins, math.nan)
    if flat.min() < low or flat.max() > high:
        raise DataError(
            f"actions must lie within [{low}, {high}]", was=f"{flat.min()} … {flat.max()}"
        )
    place = np.minimum(((flat - low) / (high - low) * n_bins).astype(np.int64), n_bins - 1)
    return np.bincount(place, minlength=n_bins) / len(flat)


def action_entropy(shares: ArrayLike) -> float:
    """Return the entropy of shares (bins,) ÷ ln(bins): 0 for one bin only, 1 for all alike.

    NaN where the shares are (no action).
    """
    parts = np.asarray(shares, dtype=np.float64)
    if parts.ndim != 1 or len(parts) < 2:
        raise DataError("shares must be those of two bins or more", was=f"shape {parts.shape}")
    if np.isnan(parts).all():
        return math.nan
    if not ((parts >= 0.0).all() and math.isclose(float(parts.sum()), 1.0, abs_tol=1e-6)):
        raise DataError("shares must be 0 or more and add up to 1", was=parts.tolist())
    used = parts[parts > 0.0]
    # 0 is added so that one bin only is 0, not −0.
    return 0.0 - float((used * np.log(used)).sum()) / math.log(len(parts))


def voluntary_trade_rate(asked: NDArray[np.bool_], traded: NDArray[np.bool_]) -> float:
    """Return the share of steps in which the policy asked for a trade and got it.

    Args:
        asked: Any shape; the policy wanted another position than it had.
        traded: The same shape; something was traded, for whatever reason.

    Returns:
        NaN for no step.
    """
    if asked.shape != traded.shape or asked.dtype != bool or traded.dtype != bool:
        rule = "asked and traded must be truth values of one shape"
        raise DataError(rule, was=f"{asked.dtype} {asked.shape}, {traded.dtype} {traded.shape}")
    return float((asked & traded).mean()) if asked.size else math.nan


def _mean_of_shares(numbers: ArrayLike, name: str) -> float:
    shares = inputs.finite_series(numbers, name)
    if (shares < 0.0).any():
        raise DataError(f"{name} must be 0 or more", was=shares.min())
    return float(shares.mean()) if len(shares) else math.nan
