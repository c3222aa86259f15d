"""How weights begin: orthogonal, Xavier and He, drawn from a generator that is passed in."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tradingbot.networks.head_config import Initialisation


def draw_weight(
    kind: Initialisation,
    n_inputs: int,
    n_outputs: int,
    generator: torch.Generator,
    gain: float = 1.0,
) -> Tensor:
    """Draw a weight (I, O) for `x @ weight`.

    Args:
        kind: `orthogonal` (Saxe et al. 2014: singular values all equal to the gain), `xavier`
            (Glorot & Bengio 2010, uniform, variance 2 gain² ÷ (I + O)) or `he` (He et al. 2015,
            normal, variance 2 gain² ÷ I).
        n_inputs: I.
        n_outputs: O.
        generator: On the CPU, so that weights do not depend on the device.
        gain: Factor on the scale.
    """
    weight = torch.empty(n_inputs, n_outputs)
    if kind == "orthogonal":
        return nn.init.orthogonal_(weight, gain=gain, generator=generator)
    if kind == "xavier":
        return nn.init.xavier_uniform_(weight, gain=gain, generator=generator)
    return weight.normal_(0.0, gain * math.sqrt(2.0 / n_inputs), generator=generator)


def drawn_linear(
    n_inputs: int,
    n_outputs: int,
    generator: torch.Generator,
    *,
    kind: Initialisation = "xavier",
    blocks: int = 1,
) -> nn.Linear:
    """Make a linear layer with drawn weights and zero biases; the global generator stays put.

    Args:
        n_inputs: I.
        n_outputs: O, a multiple of `blocks`.
        generator: On the CPU.
        kind: See `draw_weight`.
        blocks: Matrices side by side that are drawn each for itself (gates, keys and values).
    """
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_inputs, n_outputs)  # type: ignore[no-untyped-call]
    drawn = [draw_weight(kind, n_inputs, n_outputs // blocks, generator) for _ in range(blocks)]
    with torch.no_grad():
        layer.weight.copy_(torch.cat(drawn, dim=1).t())
        layer.bias.zero_()
    return layer
