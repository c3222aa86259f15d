"""Two critics of N agents as one tensor program.

The observation's part of the first layer is a step of its own: it is computed once for all actions
that are judged at the same observation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.learning.sac.config import SACConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.initialisation import draw_weight

JUDGED_ACTIONS = 11
"""Actions that the value of a state is the best of."""
_N_COPIES = 2
_HIDDEN_GAIN = 2.0**0.5
_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh_,
    "relu": torch.relu_,
    "gelu": functional.gelu,
}
"""In place where that exists: what a layer adds up is not needed for gradients."""


class TwinCritic(nn.Module):
    """(N, M, I) and (N, M) or (N, M, K) → (2, N, M): what two critics think an action is worth.

    Sizes and pooling as `StackedHead`, with all weights (C, I, O): C is 2 where agents share them
    and 2 N where they do not. Partially pooled agents mix directions of their own in each copy.
    """

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        config: HeadConfig,
        generator: torch.Generator,
        *,
        n_components: int = 0,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards.

        Args:
            n_agents: N.
            n_inputs: I, of an observation.
            config: Size of each critic, and how agents share it.
            generator: Of the weights.
            n_components: K, numbers of an action that is a vector; 0: one number.
        """
        super().__init__()
        self.n_agents, self.n_components, self.config = n_agents, n_components, config
        self.n_stacked = _N_COPIES * (n_agents if config.pooling == "independent" else 1)
        widths = (n_inputs, *config.hidden)
        # The first layer is drawn with its columns for the action, then cut in two.
        n_numbers = max(n_components, 1)
        first = self._draw(n_inputs + n_numbers, widths[1], _HIDDEN_GAIN, generator)
        self.observation_weight = nn.Parameter(first[:, :-n_numbers].clone())
        self.action_weight = nn.Parameter(first[:, -n_numbers:].clone())
        self.weights = nn.ParameterList(
            self._draw(fan_in, fan_out, _HIDDEN_GAIN, generator)
            for fan_in, fan_out in pairwise(widths[1:])
        )
        self.biases = nn.ParameterList(
            torch.zeros(self.n_stacked, 1, width) for width in widths[1:]
        )
        self.output_weight = nn.Parameter(self._draw(widths[-1], 1, config.output_gain, generator))
        self.output_bias = nn.Parameter(torch.zeros(self.n_stacked, 1, 1))
        if config.pooling == "partial":
            directions = self._draw(widths[-1], config.n_directions, 1.0, generator)
            self.directions = nn.Parameter(directions)
            z = torch.empty(_N_COPIES, n_agents, config.n_directions)
            z.normal_(0.0, config.deviation_scale, generator=generator)
            self.deviations = nn.Parameter(z)

    def forward(self, x: Tensor, action: Tensor) -> Tensor:
        """Judge actions (N, M) or (N, M, K), scaled to [−1, 1], at observations (N, M, I)."""
        return self.judge(self.observe(x), action)

    def observe(self, x: Tensor) -> Tensor:
        """Return the observation's part of the first layer, (C, rows, H), of (N, M, I)."""
        return torch.baddbmm(self.biases[0], self._stack(x), self.observation_weight)

    def judge(self, observed: Tensor, action: Tensor, *, frozen: bool = False) -> Tensor:
        """Judge actions (N, M) or (N, M, K), scaled to [−1, 1], at what `observe` returned.

        Returns (2, N, M).

        Frozen, gradients flow to actions and observations but not to weights.
        """
        given: Callable[[Tensor], Tensor] = Tensor.detach if frozen else _itself
        activation = _ACTIVATIONS[self.config.activation]
        hidden = activation(self._with_action(observed, action, given(self.action_weight)))
        for weight, bias in zip(self.weights, [*self.biases][1:], strict=True):
            hidden = activation(torch.baddbmm(given(bias), hidden, given(weight)))
        weight, bias = given(self._output_weight()), given(self.output_bias)
        by_weight = hidden.view(len(weight), -1, hidden.shape[-1])
        # Not a matrix product: those with a single output are slow on processors.
        value = (by_weight * weight).sum(-1).view(self.n_stacked, -1, 1) + bias
        return value.view(_N_COPIES, self.n_agents, -1)

    def _with_action(self, observed: Tensor, action: Tensor, weight: Tensor) -> Tensor:
        """Add the action's part of the first layer to the observation's, (C, rows, H)."""
        numbers = self._stack(action if self.n_components else action[..., None])
        if self.n_components > 1:
            return torch.baddbmm(observed, numbers, weight)
        # One number is no matrix product: an outer product, added in one go.
        return torch.addcmul(observed, numbers, weight)

    def penalty(self) -> Tensor:
        """Return Σ z² of each agent over both copies, (N,); 0 unless partially pooled."""
        if self.config.pooling != "partial":
            return torch.zeros(self.n_agents, device=self.output_weight.device)
        return self.deviations.square().sum((0, 2))

    def _output_weight(self) -> Tensor:
        """Return the last layer, (C, 1, H), or (2 N, 1, H) where agents mix directions."""
        weight = self.output_weight.mT
        if self.config.pooling != "partial":
            return weight
        mixed = weight + self.deviations @ self.directions.mT
        return mixed.view(_N_COPIES * self.n_agents, 1, -1)

    def _stack(self, x: Tensor) -> Tensor:
        """Return (C, rows, I) of (N, M, I): all agents in the rows, or one after the other."""
        if self.config.pooling == "independent":
            return x.expand(_N_COPIES, *x.shape).reshape(self.n_stacked, *x.shape[1:])
        return x.reshape(1, -1, x.shape[-1]).expand(_N_COPIES, -1, -1)

    def _draw(self, fan_in: int, fan_out: int, gain: float, generator: torch.Generator) -> Tensor:
        kind = self.config.initialisation
        return torch.stack(
            [draw_weight(kind, fan_in, fan_out, generator, gain) for _ in range(self.n_stacked)]
        )


def open_critic(
    config: SACConfig, tensors: Mapping[str, Tensor], n_agents: int
) -> Callable[[Tensor], Tensor]:
    """Return stored critics as a value: inputs (N, K, I) → max over actions of the smaller Q.

    Actions are `JUDGED_ACTIONS` numbers evenly over [−1, 1].
    """
    n_inputs = tensors["observation_weight"].shape[-2]
    critic = TwinCritic(n_agents, n_inputs, config.critic, torch.Generator())
    critic.load_state_dict(dict(tensors))
    critic.requires_grad_(False)

    def value(inputs: Tensor) -> Tensor:
        observed = critic.observe(inputs)
        worth = [
            critic.judge(observed, inputs.new_full(inputs.shape[:2], action)).amin(0)
            for action in torch.linspace(-1.0, 1.0, JUDGED_ACTIONS).tolist()
        ]
        return torch.stack(worth).amax(0)

    return value


def _itself(weight: Tensor) -> Tensor:
    return weight
