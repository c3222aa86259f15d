"""How sure a trained agent is of what it wants, in [0, 1]: read of the outputs of its head."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.distributions import LOG_STD_BOUNDS, MaskedCategorical


def read_confidence(output: Tensor, squash: Squash | None, allowed: Tensor | None) -> Tensor:
    """Return confidences (N, k), as bundles define them.

    Of codes the probability of the chosen one. Of numbers that are drawn, how often a draw lies in
    the half of the range that the action is in. Of numbers that are not, the share of the range or
    1 − that, the larger.

    Args:
        output: (N, k, O) of heads.
        squash: From outputs to numbers; None: outputs are preferences for codes.
        allowed: (N, k, A) codes that may be chosen; not read for numbers.
    """
    if squash is None:
        assert allowed is not None
        policy = MaskedCategorical.of(output, allowed)
        return policy.log_prob(policy.mode()).exp()
    if squash.kind == "tanh" and output.shape[-1] > 1:
        lowest, highest = LOG_STD_BOUNDS
        log_std = lowest + 0.5 * (highest - lowest) * (torch.tanh(output[..., 1]) + 1.0)
        apart = output[..., 0].abs() * torch.exp(-log_std)
        return 0.5 * (1.0 + torch.erf(apart / math.sqrt(2.0)))
    scaled = squash.gain * output[..., 0]
    share = torch.sigmoid(scaled) if squash.kind == "sigmoid" else 0.5 * (scaled.tanh() + 1.0)
    return torch.maximum(share, 1.0 - share)
