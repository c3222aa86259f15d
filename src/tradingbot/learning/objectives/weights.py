"""Weights of objectives: a softmax by state, moved in wild markets, and none above a limit."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

_UNDECIDED = 1e-3
"""Scale of the last layer at first: weights begin as they are configured."""


class ObjectiveWeights(nn.Module):
    """(N, M, I) → (N, M, J) weights that are positive and sum to 1, for N agents at once."""

    log_first: Tensor
    """(J,) logarithm of the first weights."""

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        first: tuple[float, ...],
        config: ObjectivesConfig,
        generator: torch.Generator,
    ) -> None:
        """Draw weights from a CPU generator; `first` are positive and sum to 1."""
        super().__init__()
        head = HeadConfig(hidden=config.hidden, pooling=config.pooling, output_gain=_UNDECIDED)
        self.head = StackedHead(n_agents, n_inputs, len(first), head, generator)
        self.register_buffer("log_first", torch.tensor(first).log())

    def log_weights(self, inputs: Tensor) -> Tensor:
        """Return logarithms of the softmax, (N, M, J), of inputs (N, M, I), with gradients."""
        output: Tensor = self.head(inputs)
        return torch.log_softmax(output + self.log_first, dim=-1)


def scale_weights(weight: Tensor, factor: Tensor) -> Tensor:
    """Multiply weights (…, J) and let them sum to 1 again."""
    scaled = weight * factor
    return scaled / scaled.sum(-1, keepdim=True)


def limit_weights(weight: Tensor, most: float) -> Tensor:
    """Cut weights (…, J) that sum to 1 to `most`, 0.5 or more; the others grow in proportion.

    At most one is above a half, so that none is cut twice.

    Example:
        >>> limit_weights(torch.tensor([0.8, 0.15, 0.05]), 0.6).mul(100).round().tolist()
        [60.0, 30.0, 10.0]
    """
    largest = weight.amax(-1, keepdim=True)
    others = torch.where(weight < largest, weight, 0.0)
    grown = others * ((1.0 - most) / others.sum(-1, keepdim=True).clamp_min(1e-30))
    cut = torch.where(weight < largest, grown, most)
    return torch.where(largest <= most, weight, cut)
