"""Answers of the auxiliary tasks of a world: what the bars after t will show.

They look ahead by intent. They are answers to learn from, never inputs, and only where everything
that they look at lies within the training period. What is read of the past is read up to bar t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World
from tradingbot.learning.pretraining.targets import AuxiliaryTarget

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

EXPERT_ACTIONS = ("sell", "hold", "buy")
"""Classes 0, 1, 2 of the expert's action."""
VOLUME_CLASSES = ("low", "usual", "high")
REGIMES = ("calm fall", "calm", "calm rise", "wild fall", "wild", "wild rise")
"""Classes of the next bars: 3 · (more volatile than the past) + (falls, neither, rises)."""
_CLOSE, _VOLUME = 3, 4


@dataclass(frozen=True)
class AuxiliaryConfig(CheckedFields):
    """How far answers look ahead, and what they are measured against."""

    horizon_bars: int = bounded(12, ">= 2")
    """Bars ahead of volatility and regime."""
    past_bars: int = bounded(48, ">= 2")
    """Bars whose returns say what is usual; half of them must be there."""
    volume_bars: int = bounded(168, ">= 2")
    """Bars whose volumes say what is usual; half of them must be there."""
    return_bound: float = bounded(4.0, "> 0")
    """Standardised returns are cut to ± this."""
    volatility_bound: float = bounded(2.0, "> 0")
    """Log ratios of volatilities are cut to ± this."""
    trend_bound: float = bounded(0.5, "> 0")
    """Return of the next bars, ÷ its usual size, beyond which they rise or fall."""


def auxiliary_targets(
    world: World,
    *,
    train: IndexRange,
    config: AuxiliaryConfig | None = None,
    expert: NDArray[np.int64] | None = None,
    device: torch.device | str = "cpu",
) -> dict[str, AuxiliaryTarget]:
    """Compute the answers of every task.

    An answer is valid at usable bars of the training period whose whole horizon lies in it too.

    Args:
        world: Bars; prices beyond the training period do not change any answer.
        train: Bars of the training period.
        config: Windows and bounds.
        expert: (N, T) class of `EXPERT_ACTIONS` at bar t, decided at its close; without it that
            task has no answers. See `evaluation.expert_actions`.
        device: Where tensors go.

    Raises:
        DataError: If the training period is not in the world, or the expert's classes are not
            (N, T) of 0, 1, 2.
    """
    config = config or AuxiliaryConfig()
    if not len(train) or train.stop > world.n_bars:
        rule = "training bars must be in the world"
        where = f"{world.n_bars} bars, {world.label}"
        raise DataError(rule, was=f"{train.start} … {train.stop - 1}", where=where)
    returns, is_return = _log_returns(world)
    volatility, is_volatility = _past_volatility(returns, is_return, config.past_bars)
    bars = np.arange(world.n_bars)
    begins = world.usable & (bars >= train.start) & (bars < train.stop)
    parts = _number_tasks(returns, volatility, is_return, is_volatility, config)
    parts["volume_class"] = (*_volume_class(world, config.volume_bars), 1, len(VOLUME_CLASSES))
    if expert is not None:
        parts["expert_action"] = (_checked_expert(world, expert), world.usable, 0, 3)
    return {name: _target(part, begins, train.stop, device) for name, part in parts.items()}


_Part = tuple[NDArray[np.float64] | NDArray[np.int64], BoolArray, int, int]


def _number_tasks(
    returns: FloatArray,
    volatility: FloatArray,
    is_return: BoolArray,
    is_volatility: BoolArray,
    config: AuxiliaryConfig,
) -> dict[str, _Part]:
    h = config.horizon_bars
    usual = np.where(volatility > 0.0, volatility, 1.0)
    follows, full = _ahead(is_return, 1), _ahead_sum(is_return.astype(np.float64), h) == h
    next_return = np.clip(_ahead(returns, 1) / usual, -config.return_bound, config.return_bound)
    ahead_volatility = np.sqrt(_ahead_sum(returns**2, h) / h)
    ratio = np.maximum(ahead_volatility, 1e-12) / usual
    change = np.clip(np.log(ratio), -config.volatility_bound, config.volatility_bound)
    trend = _ahead_sum(returns, h) / (usual * np.sqrt(h))
    direction = 1 + (trend > config.trend_bound).astype(np.int64) - (trend < -config.trend_bound)
    regime = 3 * (ratio > 1.0).astype(np.int64) + direction
    return {
        "next_return": (next_return, follows & is_volatility, 1, 0),
        "volatility": (change, full & is_volatility, h, 0),
        "regime": (regime, full & is_volatility, h, len(REGIMES)),
    }


def _log_returns(world: World) -> tuple[FloatArray, BoolArray]:
    """Return log returns (N, T) since the bar before, and where both bars are there."""
    present = world.present
    close = np.log(np.where(present, world.prices[..., _CLOSE], 1.0))
    defined = present.copy()
    defined[:, 0] = False
    defined[:, 1:] &= present[:, :-1]
    returns = np.zeros_like(close)
    returns[:, 1:] = close[:, 1:] - close[:, :-1]
    return np.where(defined, returns, 0.0), defined


def _past_volatility(
    returns: FloatArray, defined: BoolArray, n_bars: int
) -> tuple[FloatArray, BoolArray]:
    """Root mean square of the last returns (N, T), and where half of them are there."""
    count = _trailing_sum(defined.astype(np.float64), n_bars)
    volatility = np.sqrt(_trailing_sum(returns**2, n_bars) / np.maximum(count, 1.0))
    return volatility, (count >= n_bars / 2) & (volatility > 0.0)


def _volume_class(world: World, n_bars: int) -> tuple[NDArray[np.int64], BoolArray]:
    """Class (N, T) of the next volume by its rank among the last ones, and where there is one."""
    volume = np.where(world.present, world.prices[..., _VOLUME], np.nan)
    upcoming = _ahead(volume, 1)
    upcoming[:, -1] = np.nan
    rank = np.zeros_like(volume)
    count = _trailing_sum(world.present.astype(np.float64), n_bars)
    for symbol, row in enumerate(volume):  # one symbol at a time: (T, n_bars) is enough memory
        padded = np.concatenate([np.full(n_bars - 1, np.nan), row])
        past = np.lib.stride_tricks.sliding_window_view(padded, n_bars)
        following = upcoming[symbol][:, None]
        below = (past < following).sum(1) + 0.5 * (past == following).sum(1)
        rank[symbol] = below / np.maximum(count[symbol], 1.0)
    classes = (rank >= 1 / 3).astype(np.int64) + (rank >= 2 / 3)
    return classes, (count >= n_bars / 2) & np.isfinite(upcoming)


def _ahead(values: NDArray, n_bars: int) -> NDArray:  # type: ignore[type-arg]
    """Values of n bars later; zero beyond the end."""
    shifted = np.zeros_like(values)
    shifted[:, :-n_bars] = values[:, n_bars:]
    return shifted


def _trailing_sum(values: FloatArray, n_bars: int) -> FloatArray:
    """Sum of the last n bars, this one included. Bar by bar, so that no rounding error stays."""
    total = np.zeros_like(values)
    for back in range(min(n_bars, values.shape[1])):
        total[:, back:] += values[:, : values.shape[1] - back]
    return total


def _ahead_sum(values: FloatArray, n_bars: int) -> FloatArray:
    """Sum of bars t + 1 … t + n; fewer at the end."""
    return sum((_ahead(values, k) for k in range(1, n_bars + 1)), np.zeros_like(values))


def _checked_expert(world: World, expert: NDArray[np.int64]) -> NDArray[np.int64]:
    shape = (world.n_symbols, world.n_bars)
    if expert.shape != shape or not np.isin(expert, (0, 1, 2)).all():
        raise DataError(
            f"the expert's actions must be {shape} of 0 (sell), 1 (hold), 2 (buy)",
            was=f"{expert.shape}, {expert.min()} … {expert.max()}" if expert.size else "empty",
            where=world.label,
        )
    return expert.astype(np.int64)


def _target(
    part: _Part, begins: BoolArray, stop: int, device: torch.device | str
) -> AuxiliaryTarget:
    """Drop what looks beyond the training period, values included: nothing of it is handed on."""
    values, valid, horizon, n_classes = part
    valid = valid & begins
    valid[:, max(0, stop - horizon) :] = False
    kind = torch.int64 if n_classes else torch.float32
    kept = torch.from_numpy(np.where(valid, values, 0)).to(device=device, dtype=kind)
    return AuxiliaryTarget(kept, torch.from_numpy(valid).to(device), horizon, n_classes)
