"""How well tasks are answered on bars that were not learned from, with intervals.

Bars near each other and series at the same bar are not independent, so intervals come from leaving
out one stretch of time after the other (block jackknife; Künsch 1989) across all series.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.learning.pretraining.loss import ConstantForecast, point_losses

_QUANTILE = 1.96  # of a normal distribution, for 95 %
_TINY = 1e-12


def score_task(
    answer: Tensor, values: Tensor, counts: Tensor, constant: ConstantForecast, n_blocks: int
) -> dict[str, Tensor]:
    """Score one task.

    Args:
        answer: (M, T) numbers, or (M, T, C) logits.
        values: (M, T) what is true.
        counts: (M, T) bool, bars that are judged.
        constant: Best constant answer, of the bars that were learned from.
        n_blocks: Stretches of equal length that T is cut into.

    Returns:
        () each, with `_low` and `_high` of its 95 % interval: `skill`, 1 − loss ÷ loss of the
        constant (for numbers the share of the variance explained, R²); for numbers `correlation`
        with the truth; for classes `accuracy`, and without interval `base_accuracy`, that of the
        most frequent class in training.
    """
    is_class = answer.dim() == 3
    n_classes = answer.shape[-1] if is_class else 0
    weight = counts.double()
    losses = point_losses(answer, values, n_classes=n_classes).double()
    columns = [weight, weight * losses]
    if is_class:
        columns.append(weight * (answer.argmax(-1) == values))
        columns.append(weight * (constant.answer.argmax() == values))
    else:
        x, y = answer.double(), values.double()
        columns += [weight * part for part in (x, y, x * x, y * y, x * y)]
    sums = _block_sums(torch.stack(columns), n_blocks)
    loss = constant.loss.double()
    scores = _with_interval("skill", sums, lambda s: 1.0 - s[1] / s[0].clamp_min(1.0) / loss)
    if is_class:
        scores |= _with_interval("accuracy", sums, lambda s: s[2] / s[0].clamp_min(1.0))
        scores["base_accuracy"] = sums[3].sum() / sums[0].sum().clamp_min(1.0)
    else:
        scores |= _with_interval("correlation", sums, _correlation)
    return {name: score.float() for name, score in scores.items()}


def _correlation(sums: Tensor) -> Tensor:
    n, _, x, y, xx, yy, xy = sums
    n = n.clamp_min(1.0)
    spread = (xx / n - (x / n) ** 2).clamp_min(0.0) * (yy / n - (y / n) ** 2).clamp_min(0.0)
    found: Tensor = (xy / n - x * y / n**2) / spread.clamp_min(_TINY).sqrt()
    return found


def _block_sums(columns: Tensor, n_blocks: int) -> Tensor:
    """Sum columns (K, M, T) over series and within blocks of time, (K, n_blocks)."""
    n_bars = columns.shape[-1]
    block = torch.arange(n_bars, device=columns.device) * n_blocks // n_bars
    members = torch.nn.functional.one_hot(block, n_blocks).to(columns.dtype)
    return columns.sum(1) @ members


def _with_interval(
    name: str, sums: Tensor, statistic: Callable[[Tensor], Tensor]
) -> dict[str, Tensor]:
    """Return a statistic of sums (K, blocks) and its interval by leaving one block out."""
    total = sums.sum(1, keepdim=True)
    found = statistic(total).squeeze()
    without = statistic(total - sums)
    n = sums.shape[1]
    error = ((n - 1) / n * (without - without.mean()).square().sum()).sqrt()
    low, high = found - _QUANTILE * error, found + _QUANTILE * error
    return {name: found, f"{name}_low": low, f"{name}_high": high}
