"""Heads of N agents as one tensor program, with three ways to share strength between agents.

`pooled`: one head for all. `independent`: weights of its own for each agent. `partial`: one head
for all, which also offers K directions in which agents may differ; agent i adds its own mixture,

    output_i(x) = shared(h) + Σ_k z_ik · direction_k(h),   h = hidden layers of x, common to all.

All agents together learn in which ways agents differ; one agent has only K numbers to learn. The z
are shrunk to zero (`penalty`), so an agent departs from the others only where its data pay for it.
This is a random-effects model (Laird & Ware 1982) on learned features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.initialisation import draw_weight

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": functional.relu,
    "gelu": functional.gelu,
}
"""Nonlinearities of hidden layers by name."""
_HIDDEN_GAIN = 2.0**0.5


class StackedHead(nn.Module):
    """(N, B, I) → (N, B, O) for N agents at once.

    Weights are (I, O) where agents share them, (N, I, O) where they do not: `x @ weight` is right
    for both. Parameters of single agents, and only those, have N as their first axis; their names
    are in `own_names`.
    """

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        n_outputs: int,
        config: HeadConfig,
        generator: torch.Generator,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.n_agents, self.n_outputs, self.config = n_agents, n_outputs, config
        widths = (n_inputs, *config.hidden, n_outputs)
        gains = (*[_HIDDEN_GAIN] * len(config.hidden), config.output_gain)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out, gain in zip(widths[:-1], widths[1:], gains, strict=True):
            self.weights.append(self._draw(fan_in, fan_out, gain, generator))
            self.biases.append(self._zeros(fan_out))
        if config.pooling == "partial":
            count = config.n_directions * n_outputs
            self.directions = nn.Parameter(
                draw_weight(config.initialisation, widths[-2], count, generator)
            )
            z = torch.empty(n_agents, config.n_directions)
            self.deviations = nn.Parameter(
                z.normal_(0.0, config.deviation_scale, generator=generator)
            )

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of parameters (N, …) that belong to single agents."""
        if self.config.pooling == "independent":
            return tuple(name for name, _ in self.named_parameters())
        return ("deviations",) if self.config.pooling == "partial" else ()

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (N, B, I) to outputs (N, B, O)."""
        weight = self.weights[-1]
        if self.config.pooling == "partial":
            # One small matrix per agent: the hidden layer is read once, forward and back.
            weight = weight + self._mixture()
        return _affine(self.features(x), weight, self.biases[-1])

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (N, B, H)."""
        activation = ACTIVATIONS[self.config.activation]
        # Lists: a slice of a `ParameterList` is a module, and making one costs more than a layer.
        for weight, bias in zip([*self.weights][:-1], [*self.biases][:-1], strict=True):
            x = activation(_affine(x, weight, bias))
        return x

    def shared(self, hidden: Tensor) -> Tensor:
        """Return outputs (N, B, O) without deviations, of the last hidden layer (N, B, H)."""
        return _affine(hidden, self.weights[-1], self.biases[-1])

    def deviation(self, x: Tensor) -> Tensor:
        """Return what agents add to the shared output, (N, B, O); 0 unless partially pooled."""
        if self.config.pooling != "partial":
            return x.new_zeros(*x.shape[:-1], self.n_outputs)
        return self.features(x) @ self._mixture()

    def penalty(self) -> Tensor:
        """Return Σ_k z² of each agent, (N,); 0 unless partially pooled."""
        if self.config.pooling != "partial":
            return torch.zeros(self.n_agents, device=self.weights[0].device)
        return torch.sum(self.deviations.square(), dim=-1)

    def _mixture(self) -> Tensor:
        """Mix the directions of each agent, (N, H, O)."""
        directions = self.directions.view(-1, self.config.n_directions, self.n_outputs)
        return torch.einsum("nk,hko->nho", self.deviations, directions)

    def _draw(
        self, fan_in: int, fan_out: int, gain: float, generator: torch.Generator
    ) -> nn.Parameter:
        kind = self.config.initialisation
        if self.config.pooling != "independent":
            return nn.Parameter(draw_weight(kind, fan_in, fan_out, generator, gain))
        drawn = [draw_weight(kind, fan_in, fan_out, generator, gain) for _ in range(self.n_agents)]
        return nn.Parameter(torch.stack(drawn))

    def _zeros(self, width: int) -> nn.Parameter:
        own = self.config.pooling == "independent"
        return nn.Parameter(torch.zeros(self.n_agents, 1, width) if own else torch.zeros(width))


def per_agent(values: Tensor, like: Tensor) -> Tensor:
    """Lay values of agents (N,) along the first axis of a tensor (N, …), to be broadcast."""
    return values.to(like.device).view(-1, *[1] * (like.dim() - 1))


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    if weight.dim() == 3:
        return torch.baddbmm(bias, x, weight)
    return functional.linear(x, weight.t(), bias)
