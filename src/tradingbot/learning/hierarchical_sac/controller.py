"""The controller's networks and losses: which option is chosen, and what options are worth."""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.loss import (
    controller_loss,
    controller_temperature_loss,
    option_critic_loss,
    option_target,
)
from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.heads import StackedHead

_N_COPIES = 2


class OptionBatch(NamedTuple):
    """Options of N agents that ended, ready for networks."""

    x: Tensor
    """(N, M, I) what was seen where they began."""
    available: Tensor
    """(N, M, O) bool, there."""
    option: Tensor
    """(N, M) int64"""
    reward: Tensor
    """(N, M) discounted to the beginning, in the units that critics count in."""
    continues: Tensor
    """(N, M)"""
    discount: Tensor
    """(N, M) γ to the power of the duration."""
    final_x: Tensor
    """(N, M, I) what was seen where they ended."""
    final_available: Tensor
    """(N, M, O) bool, there."""
    weight: Tensor
    """(N,) 0 where an agent has none."""


class ControllerLosses(NamedTuple):
    """Of one gradient step, (N,) each."""

    critic: Tensor
    actor: Tensor
    temperature: Tensor
    entropy: Tensor
    """Of choices, as a share of the logarithm of the number available; without gradients."""
    value: Tensor
    """Mean of the target; without gradients."""


class Controller(nn.Module):
    """What chooses, two critics of options, their slow copies and a temperature per agent."""

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        n_options: int,
        config: HierarchicalSACConfig,
        generator: torch.Generator,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        sizes = (n_agents, n_inputs, n_options, config.controller)
        self.actor = StackedHead(*sizes, generator)
        self.critics = nn.ModuleList(StackedHead(*sizes, generator) for _ in range(_N_COPIES))
        self.target_critics = copy.deepcopy(self.critics).requires_grad_(False)
        first = math.log(config.temperature)
        self.log_temperature = nn.Parameter(torch.full((n_agents,), first))

    def losses(self, batch: OptionBatch, target_share: Tensor) -> ControllerLosses:
        """Return every loss at the present weights; targets of entropy are shares (N,)."""
        temperature = self.log_temperature.detach().exp()
        with torch.no_grad():
            final = MaskedCategorical.of(self.actor(batch.final_x).float(), batch.final_available)
            target = option_target(
                batch.reward,
                batch.continues,
                self._values(self.target_critics, batch.final_x),
                final.log_probs,
                temperature=temperature,
                discount=batch.discount,
            )
        value = self._values(self.critics, batch.x)
        policy = MaskedCategorical.of(self.actor(batch.x.detach()).float(), batch.available)
        most = batch.available.sum(-1).clamp_min(1).double().log().to(value.dtype)
        entropy = -torch.where(batch.available, policy.log_probs.exp() * policy.log_probs, 0.0).sum(
            -1
        )
        weight = batch.weight
        return ControllerLosses(
            option_critic_loss(value, batch.option, target, weight),
            controller_loss(
                policy.log_probs, value.detach(), temperature=temperature, weight=weight
            ),
            controller_temperature_loss(
                self.log_temperature, entropy, target_share[:, None] * most, weight
            ),
            (entropy.detach().sum(-1) / most.sum(-1).clamp_min(1e-9)) * weight,
            target.mean(-1) * weight,
        )

    def penalty(self) -> Tensor:
        """Return Σ z² of each agent over all heads, (N,)."""
        heads = [self.actor, *self.critics]
        return torch.stack([head.penalty() for head in heads]).sum(0)

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Move the slow copies of the critics towards them."""
        slow: list[Tensor] = list(self.target_critics.parameters())
        fast: list[Tensor] = list(self.critics.parameters())
        torch._foreach_lerp_(slow, fast, rate)

    @staticmethod
    def _values(critics: nn.ModuleList, x: Tensor) -> Tensor:
        """Return (C, N, M, O)."""
        return torch.stack([critic(x).float() for critic in critics])
