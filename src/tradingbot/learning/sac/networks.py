"""The networks of SAC, and all losses of one gradient step from one pass over each of them.

Actions are in [−1, 1] here, whatever the task's range is, and entropies are in nats on that range:
then neither temperature nor values depend on the units of an action.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.learning.device import rate_holder, set_rate
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.critic import TwinCritic
from tradingbot.learning.sac.loss import actor_loss, critic_loss, critic_target, temperature_loss
from tradingbot.networks.distributions import SquashedGaussian
from tradingbot.networks.embedding import autocast
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

_LOG_2 = math.log(2.0)
HIGHEST_NORMALISED_ENTROPY = 0.95
"""Largest target entropy as a share of the range; 1 would be uniform, which no Gaussian reaches."""


class ReplayBatch(NamedTuple):
    """Samples of N agents, ready for networks."""

    x: Tensor
    """(N, M, I) what was seen; with gradients where an encoder learns."""
    action: Tensor
    """(N, M) or (N, M, K) in [−1, 1]."""
    reward: Tensor
    """(N, M) in the units that critics count in."""
    continues: Tensor
    """(N, M) 0 where a failure ended the episode, else 1."""
    final_x: Tensor
    """(N, M, I) what followed, before any reset."""
    noise: Tensor
    """(2, N, M) or (2, N, M, K) standard normal: of actions at `x` and at `final_x`."""
    discount: Tensor | None = None
    """(N, M) what `final_x` counts for, where transitions have their own; None: γ."""


class Aim(NamedTuple):
    """What the temperatures of N agents are to reach, (N,) each."""

    target_entropy: Tensor
    """Nats on [−1, 1]."""
    temperature_scale: Tensor
    """Factor on the temperature."""


class Losses(NamedTuple):
    """Of one gradient step, (N,) each, and what was seen on the way."""

    critic: Tensor
    actor: Tensor
    temperature: Tensor
    value: Tensor
    """(2, N, M) critics of stored actions."""
    target: Tensor
    """(N, M)"""
    log_prob: Tensor
    """(N, M) log densities of new actions."""


class SoftNetworks(nn.Module):
    """Actor, two critics, their slow copies, and a temperature for each agent."""

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        config: SACConfig,
        generator: torch.Generator,
        *,
        n_components: int = 0,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards.

        Args:
            n_agents: N.
            n_inputs: I, of an observation.
            config: Settings.
            generator: Of the weights.
            n_components: K, numbers of an action that is a vector; 0: one number.
        """
        super().__init__()
        self.discount, self.precision = config.discount, config.precision
        self.n_components = n_components
        n_outputs = 2 * max(n_components, 1)
        self.actor = StackedHead(n_agents, n_inputs, n_outputs, config.actor, generator)
        self.critic = TwinCritic(
            n_agents, n_inputs, config.critic, generator, n_components=n_components
        )
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(False)
        first = math.log(config.temperature)
        self.log_temperature = nn.Parameter(
            torch.full((n_agents,), first), requires_grad=config.tune_temperature
        )

    def policy(self, x: Tensor) -> SquashedGaussian:
        """Return the distributions (N, M) or (N, M, K) of numbers at observations (N, M, I)."""
        output = self.actor(x).float()
        mean, log_std = output.chunk(2, dim=-1) if self.n_components else output.unbind(-1)
        return SquashedGaussian.of(mean, log_std, -1.0, 1.0)

    def losses(self, batch: ReplayBatch, aim: Aim) -> Losses:
        """Return every loss at the present weights; what critics see of `x` is computed once.

        Each has gradients in its own weights and no others, so that one pass back is enough.
        """
        temperature = self.log_temperature.detach().exp() * aim.temperature_scale
        with autocast(batch.x.device, self.precision):
            target = self._target(batch, temperature)
            observed = self.critic.observe(batch.x)
            value = self.critic.judge(observed, batch.action).float()
            number, log_prob = self._draw(batch.x.detach(), batch.noise[0])
            wished = self.critic.judge(observed.detach(), number, frozen=True).float()
        return Losses(
            critic_loss(value, target),
            actor_loss(wished, log_prob, temperature=temperature),
            temperature_loss(self.log_temperature, log_prob, aim.target_entropy),
            value.detach(),
            target,
            log_prob.detach(),
        )

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Move the slow copies of the critics towards them: w ← w + rate · (critic − w)."""
        slow: list[Tensor] = list(self.target_critic.parameters())
        fast: list[Tensor] = list(self.critic.parameters())
        torch._foreach_lerp_(slow, fast, rate)

    @torch.no_grad()
    def _target(self, batch: ReplayBatch, temperature: Tensor) -> Tensor:
        number, log_prob = self._draw(batch.final_x, batch.noise[1])
        value = self.target_critic(batch.final_x, number).float()
        discount = self.discount if batch.discount is None else batch.discount
        seen = (batch.reward, batch.continues, value, log_prob)
        return critic_target(*seen, temperature=temperature, discount=discount)

    def _draw(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Draw actions at observations (N, M, I).

        Returns:
            Actions in [−1, 1], (N, M) or (N, M, K), differentiable, and log densities (N, M).
        """
        policy = self.policy(x)
        unsquashed = torch.addcmul(policy.mean, policy.log_std.exp(), noise)
        # As `SquashedGaussian.log_prob`, but the deviation is known here: it is the noise.
        slope = _LOG_2 - unsquashed - functional.softplus(-2.0 * unsquashed)
        drawn = -0.5 * noise.square() - 0.5 * math.log(2.0 * math.pi)
        log_prob = drawn - policy.log_std - 2.0 * slope
        return torch.tanh(unsquashed), log_prob.sum(-1) if self.n_components else log_prob


MEASURED = (
    *("loss/value", "loss/policy", "loss/temperature"),
    *("value/mean", "value/target", "value/gap", "value/explained_variance"),
    *("policy/entropy", "loss/gradient_norm"),
)
"""Names, in the order of `measure`; an update reports means over its gradient steps."""

_NO_VARIANCE = 1e-30


@torch.no_grad()
def measure(losses: Losses, gradient_norm: Tensor) -> Tensor:
    """Return what `MEASURED` names, (K, N); the norm () is one of all agents together.

    One tensor of what a gradient step says of itself: nothing leaves the device.
    """
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


def make_optimiser(
    networks: SoftNetworks,
    view: View,
    weight_decay: float,
    auxiliary: Iterable[nn.Parameter] = (),
) -> torch.optim.Adam:
    """Return the optimiser of critics, actor, a learning view and tuned temperatures; rates are 0.

    Heads of auxiliary tasks beside the critics are a group too.

    One Adam for all weights, in named groups with rates of their own. On a GPU rates are tensors,
    so that a captured step follows them.
    """
    weights = {
        "critic": [*networks.critic.parameters()],
        "actor": [*networks.actor.parameters()],
        "view": learning(view.parameters()),
        "temperature": learning([networks.log_temperature]),
        "auxiliary": [*auxiliary],
    }
    device = networks.log_temperature.device
    groups = [
        {
            "name": name,
            "params": part,
            "weight_decay": 0.0 if name == "temperature" else weight_decay,
            "lr": rate_holder(device),
        }
        for name, part in weights.items()
        if part
    ]
    return torch.optim.Adam(groups, fused=True, capturable=device.type == "cuda")


def set_rates(optimiser: torch.optim.Adam, rates: Mapping[str, float], other: float) -> None:
    """Set the learning rate of each group by name; `other` where a group has none of its own."""
    for group in optimiser.param_groups:
        set_rate(group, rates.get(group["name"], other))


def weights_of(optimiser: torch.optim.Adam, *names: str) -> list[Tensor]:
    """Return the weights of named groups; none of a group that is not there."""
    return [
        weight
        for group in optimiser.param_groups
        if group["name"] in names
        for weight in group["params"]
    ]


def learning(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """Return the parameters that learn."""
    return [parameter for parameter in parameters if parameter.requires_grad]
