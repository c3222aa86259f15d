"""Actor and critic of N agents: what PPO's policy and values are made of."""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from tradingbot.learning.action_policy import (
    Policy,
    actor_head,
    n_numbers,
    n_policy_outputs,
    policy_of,
)
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.distributions import LOG_STD_BOUNDS, MaskedCategorical
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.set_head import SetHead


class HeadSettings(Protocol):
    """What a learner's settings say of actor and critic."""

    @property
    def actor(self) -> HeadConfig:
        """Head of the policy."""

    @property
    def critic(self) -> HeadConfig:
        """Head of the value."""

    @property
    def initial_std(self) -> float:
        """Deviation of numeric actions before squashing, at first."""


class ActorCritic(nn.Module):
    """Two heads over the same input (N, B, I) = embedding ⊕ private numbers."""

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        action: ActionSpec,
        config: HeadSettings,
        generator: torch.Generator,
        members: MemberInputs | None = None,
    ) -> None:
        """Draw weights from a CPU generator; with `members`, one agent weighs a set of them."""
        super().__init__()
        self.action = action
        self.min_std = 0.0  # of numeric actions before squashing; a learner may move it
        n_outputs = n_policy_outputs(action)
        self.actor = actor_head(n_agents, n_inputs, n_outputs, config.actor, generator, members)
        self.critic: StackedHead | SetHead
        if members is None:
            self.critic = StackedHead(n_agents, n_inputs, 1, config.critic, generator)
        else:
            self.critic = SetHead(members, n_inputs, 1, config.critic, generator, pooled=True)
        if not action.n_actions:
            n_means = n_numbers(action) if members is None else 1
            with torch.no_grad():
                self.actor.biases[-1][..., n_means:] = _raw_log_std(config.initial_std)

    def policy(self, inputs: Tensor, allowed: Tensor) -> Policy:
        """Return the policy for inputs (N, B, I); `allowed` (N, B, A) bool counts for codes."""
        policy = policy_of(self.action, self.actor(inputs).float(), allowed)
        if not self.min_std or isinstance(policy, MaskedCategorical):
            return policy
        # A sum of variances, not a maximum: the actor's own deviation always has a gradient.
        least = policy.log_std.new_tensor(2.0 * math.log(self.min_std))
        return policy._replace(log_std=0.5 * torch.logaddexp(2.0 * policy.log_std, least))

    def value(self, inputs: Tensor) -> Tensor:
        """Return values (N, B) of inputs (N, B, I), in the critic's units."""
        output: Tensor = self.critic(inputs)
        return output.squeeze(-1).float()

    def penalty(self) -> Tensor:
        """Return Σ z² of both heads of each agent, (N,)."""
        return self.actor.penalty() + self.critic.penalty()

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of parameters that belong to single agents."""
        heads = (("actor", self.actor), ("critic", self.critic))
        return tuple(f"{head}.{name}" for head, part in heads for name in part.own_names)


def _raw_log_std(std: float) -> float:
    """Invert the bounding of `SquashedGaussian.of`."""
    lowest, highest = LOG_STD_BOUNDS
    place = 2.0 * (math.log(std) - lowest) / (highest - lowest) - 1.0
    return math.atanh(min(max(place, -0.99), 0.99))
