"""Heads and losses of the auxiliary tasks. The heads are linear and thrown away afterwards.

Linear, so that what a task needs is laid open in the embedding itself and not in its head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.domain.errors import DataError
from tradingbot.learning.pretraining.targets import AuxiliaryTarget, Targets
from tradingbot.networks.initialisation import draw_weight

_SMALLEST = 1e-8


class ConstantForecast(NamedTuple):
    """The best constant answer, and its loss."""

    answer: Tensor
    """() mean of the numbers, or (C,) log frequencies of the classes."""
    loss: Tensor
    """() variance, or entropy in nats."""


class TaskHeads(nn.Module):
    """Embeddings (…, D) → one answer per task: a number (…,), or logits (…, C)."""

    def __init__(self, width: int, targets: Targets, generator: torch.Generator) -> None:
        """Draw small weights from a CPU generator, so that answers begin near the constant."""
        super().__init__()
        self.sizes = {name: target.n_classes or 1 for name, target in targets.items()}
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(draw_weight("xavier", width, size, generator, 0.1))
                for name, size in self.sizes.items()
            }
        )

    def forward(
        self, embedding: Tensor, constants: Mapping[str, ConstantForecast]
    ) -> dict[str, Tensor]:
        """Return answers (…,) and logits (…, C); what is learned is the way from the constant."""
        answers = {}
        for name, size in self.sizes.items():
            found = embedding @ self.weights[name]
            if size == 1:
                scale = constants[name].loss.sqrt()
                answers[name] = constants[name].answer + scale * found.squeeze(-1)
            else:
                answers[name] = constants[name].answer + found
        return answers


def constant_of(target: AuxiliaryTarget, counts: Tensor) -> ConstantForecast:
    """Find the best constant answer on the bars that count, (M, T) bool.

    Raises:
        DataError: If nothing varies there: there is nothing to learn.
    """
    values = target.values[counts]
    count = max(1, values.numel())
    if target.n_classes:
        shares = torch.bincount(values, minlength=target.n_classes).float() / count
        found = ConstantForecast(shares.clamp_min(1e-4).log(), -torch.xlogy(shares, shares).sum())
    else:
        mean = values.float().sum() / count
        found = ConstantForecast(mean, (values.float() - mean).square().sum() / count)
    if not bool(found.loss > _SMALLEST):
        raise DataError(
            "an auxiliary task must have answers that vary within the training period",
            was=f"{values.numel()} answers, all alike" if values.numel() else "no answer at all",
            remedy="Use more training bars, or set the weight of the task to 0",
        )
    return found


def point_losses(answer: Tensor, values: Tensor, *, n_classes: int) -> Tensor:
    """Return the loss of each bar, (…,): squared error, or cross-entropy in nats.

    Args:
        answer: (…,) numbers or (…, C) logits.
        values: (…,) what is true.
        n_classes: C; 0 for numbers.
    """
    if not n_classes:
        return (answer - values).square()
    flat = functional.cross_entropy(
        answer.reshape(-1, n_classes), values.reshape(-1), reduction="none"
    )
    return flat.view(values.shape)


def relative_loss(
    losses: Tensor, counts: Tensor, constant: ConstantForecast, of: Tensor | None = None
) -> Tensor:
    """Return the mean loss () over bars that count, ÷ that of the constant answer; 0 if none.

    Args:
        losses: (…,) of each bar.
        counts: (…,) which count.
        constant: The best constant answer.
        of: () bars that the sum is divided by, where these are a part of them; those that count
            by default.
    """
    total = torch.where(counts, losses, 0.0).sum()
    count = counts.sum() if of is None else of
    return total / count.clamp_min(1) / constant.loss
