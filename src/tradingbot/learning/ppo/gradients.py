"""What happens to gradients between the backward pass and the optimiser.

The loss is the sum over agents. Weights of single agents thus have the gradient of that agent's
loss; shared ones are divided by N here to have that of the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

_EPSILON = 1e-6


class Parameters:
    """The parameters of a learner, sorted by whom they belong to."""

    def __init__(self, own: Mapping[str, nn.Parameter], shared: Mapping[str, nn.Parameter]) -> None:
        """Sort by name; weights are what is multiplied with inputs."""
        self.own, self.shared = list(own.values()), list(shared.values())
        self.decayed_own = [p for name, p in own.items() if ".weights." in name]
        self.decayed_shared = [p for p in shared.values() if p.dim() >= 2]


def prepare_gradients(
    parameters: Parameters, active: Tensor, *, limit: float, weight_decay: float
) -> Tensor:
    """Scale, decay and clip gradients in place; return norms before clipping, (N,).

    Args:
        parameters: With gradients of the summed loss.
        active: (N,) 1 where an agent learns, 0 where it has stopped.
        limit: Largest norm of each agent's own gradient, and of that of all shared weights.
        weight_decay: Weight of ½ Σ weights²; stopped agents do not decay.

    Returns:
        Norm over an agent's own and the shared weights.
    """
    square = torch.zeros_like(active)
    if parameters.shared:
        gradients = [_gradient(p) for p in parameters.shared]
        torch._foreach_div_(gradients, float(len(active)))
        _decay(parameters.decayed_shared, weight_decay, active.amax())
        norm = _clip(gradients, limit)
        square = square + norm.square()
    if parameters.own:
        _decay(parameters.decayed_own, weight_decay, active)
        square = square + _clip_own([_gradient(p) for p in parameters.own], limit)
    return square.sqrt()


def forget_momentum(optimiser: Optimizer, parameters: Parameters, active: Tensor) -> None:
    """Clear the momentum of agents that have stopped: without gradient, they then stand still."""
    for parameter in parameters.own:
        momentum = optimiser.state[parameter].get("exp_avg")
        if momentum is not None:
            momentum.mul_(_per_agent(active, momentum))
    moments = [optimiser.state[p]["exp_avg"] for p in parameters.shared if optimiser.state[p]]
    if moments:
        torch._foreach_mul_(moments, active.amax())


def _clip(gradients: list[Tensor], limit: float) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (limit / (norm + _EPSILON)).clamp_max(1.0))
    return norm


def _clip_own(gradients: Sequence[Tensor], limit: float) -> Tensor:
    """Clip each agent on its own; return squared norms (N,)."""
    squares = [torch.linalg.vector_norm(g.flatten(1), dim=1).square() for g in gradients]
    square = torch.stack(squares).sum(0)
    factor = (limit / (square.sqrt() + _EPSILON)).clamp_max(1.0)
    if factor.is_cuda or (factor < 1.0).any():
        for gradient in gradients:
            gradient.mul_(_per_agent(factor, gradient))
    return square


def _decay(parameters: Sequence[nn.Parameter], weight_decay: float, active: Tensor) -> None:
    if weight_decay > 0.0:
        for parameter in parameters:
            factor = _per_agent(active, parameter) if active.dim() else active
            _gradient(parameter).addcmul_(parameter.detach(), factor * weight_decay)


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _per_agent(values: Tensor, like: Tensor) -> Tensor:
    return values.view(-1, *[1] * (like.dim() - 1))
