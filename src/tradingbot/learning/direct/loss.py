"""What direct-gradient learning maximises: pure functions of what a chunk of bars brought."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.direct.config import Objective

_BASIS_POINTS = 1.0e4
_HUNDREDTHS = 100.0
_LEAST_VARIANCE = 1.0e-12
_LEAST_WEALTH = 1.0e-6


def log_growth(before: Tensor, after: Tensor, truncated: Tensor) -> Tensor:
    """Return log(after ÷ before) of wealth (N, B); 0 where time was up (N, B).

    That bar is left out, whatever was done. A bar of ruin is what was done, and counts: `after` is
    then what was left, not the wealth of the next episode.
    """
    ratio = after.clamp_min(_LEAST_WEALTH) / before.clamp_min(_LEAST_WEALTH)
    return torch.where(truncated, 1.0, ratio).log()


def objective_of(kind: Objective, growth: Tensor, reward: Tensor) -> Tensor:
    """Return what each agent's chunk was worth, (N,), to be maximised.

    Args:
        kind: `log_growth` in basis points per bar; `sharpe` per bar in hundredths; `reward` per
            bar.
        growth: (S, N, B) log growth of each bar.
        reward: (S, N, B)
    """
    if kind == "reward":
        return reward.mean((0, 2))
    mean = growth.mean((0, 2))
    if kind == "log_growth":
        return _BASIS_POINTS * mean
    variance = (growth - mean[:, None]).square().mean((0, 2))
    return _HUNDREDTHS * mean / (variance + _LEAST_VARIANCE).sqrt()
