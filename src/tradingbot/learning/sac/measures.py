"""What each gradient step says of itself, as one tensor: nothing leaves the device."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.sac.networks import Losses

MEASURED = (
    *("loss/value", "loss/policy", "loss/temperature"),
    *("value/mean", "value/target", "value/gap", "value/explained_variance"),
    *("policy/entropy", "loss/gradient_norm"),
)
"""Names, in the order of `measure`; an update reports means over its gradient steps."""

_NO_VARIANCE = 1e-30


@torch.no_grad()
def measure(losses: Losses, gradient_norm: Tensor) -> Tensor:
    """Return what `MEASURED` names, (K, N); the norm () is one of all agents together."""
    value, target = losses.value, losses.target
    unexplained = (target - value.mean(0)).var(-1) / target.var(-1).clamp_min(_NO_VARIANCE)
    return torch.stack(
        [
            losses.critic.detach(),
            losses.actor.detach(),
            losses.temperature.detach(),
            value.mean((0, 2)),
            target.mean(-1),
            (value[0] - value[1]).abs().mean(-1),
            1.0 - unexplained,
            -losses.log_prob.mean(-1),
            gradient_norm.expand(target.shape[0]),
        ]
    )
