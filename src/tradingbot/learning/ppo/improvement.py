"""Learning from one rollout: epochs of minibatches, KL stop and optimiser steps.

Nothing waits for the host: agents that pass the KL limit are masked on the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tradingbot.learning.action_policy import entropy_of
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.loss import divergence, normalise, policy_loss, value_loss
from tradingbot.learning.ppo.samples import Minibatch, Samples, take_minibatch
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.networks.heads import per_agent
from tradingbot.networks.view import View

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

    The loss is the sum over agents. Weights of single agents thus have the gradient of that agent's
    loss; shared ones are divided by N here to have that of the mean.

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
            momentum.mul_(per_agent(active, momentum))
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
            gradient.mul_(per_agent(factor, gradient))
    return square


def _decay(parameters: Sequence[nn.Parameter], weight_decay: float, active: Tensor) -> None:
    if weight_decay > 0.0:
        for parameter in parameters:
            factor = per_agent(active, parameter) if active.dim() else active
            _gradient(parameter).addcmul_(parameter.detach(), factor * weight_decay)


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


_FIGURES = (
    *("loss/policy", "loss/value", "policy/entropy", "policy/kl", "policy/clip_share"),
    "grad/norm",
)
_KL = _FIGURES.index("policy/kl")


class LossWeights(NamedTuple):
    """What the parts of the loss are multiplied by, and where ratios are clipped."""

    agent: Tensor
    """(N,) of an agent's whole loss; 0 where it is not to learn."""
    entropy: Tensor
    """(N,)"""
    clip: float
    """ε of the ratio."""


class PolicyImprover:
    """Improves actor and critic, and a view's encoder where it learns."""

    def __init__(
        self,
        network: ActorCritic,
        view: View,
        config: PPOConfig,
        auxiliary: AuxiliaryLoss | None = None,
        *,
        seed: int,
    ) -> None:
        """Take what is to be improved; the network is on its device already."""
        self._auxiliary = auxiliary
        self.network, self.view, self.config = network, view, config
        self.device = network.actor.weights[0].device
        # On the host a question costs nothing, and the answer may save work.
        self._on_host = self.device.type == "cpu"
        self.shuffle = make_generator(seed, "ppo", "shuffle")
        self.entropy_noise = make_generator(seed, "ppo", "entropy", device=self.device)
        self.parameters, self.optimiser = self._make_optimiser()

    def improve(self, samples: Samples, weights: LossWeights, *, rate: float) -> Metrics:
        """Make all epochs over the samples.

        Args:
            samples: G groups of L steps of each agent.
            weights: Of the loss.
            rate: Learning rate.

        Returns:
            (N,) each: means over the minibatches in which an agent was still learning, and
            `policy/update_share`, the share of optimiser steps that it took.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["rate"]
        n_groups, length = samples.row.shape[1:]
        n_minibatches = max(1, n_groups * length // self.config.minibatch)
        size = n_groups // n_minibatches
        orders = torch.stack([self._permute(n_groups) for _ in range(self.config.n_epochs)])
        # Leftovers of an epoch wait for the next one: minibatches are all of one size.
        on_host = orders[:, : size * n_minibatches].reshape(-1, size)
        active, made = torch.ones_like(weights.agent), torch.zeros_like(weights.agent)
        steps = torch.zeros_like(made)
        sums = torch.zeros(len(_FIGURES), len(active), device=self.device)
        for index, index_on_host in zip(on_host.to(self.device), on_host, strict=True):
            begun = active
            if self._on_host and not active.any():
                break  # what follows would change nothing
            active, figures = self._step(samples, (index, index_on_host), active, weights)
            sums.addcmul_(figures, begun)
            made.add_(begun)
            steps.add_(active)
        means = dict(zip(_FIGURES, sums / made, strict=True))
        return means | {"policy/update_share": steps / len(on_host)}

    def loss(
        self, minibatch: Minibatch, entropy_weight: Tensor, clip: float
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each agent, (N,), and its parts (5, N) without gradients.

        Advantages are taken as they are.
        """
        config = self.config
        with self._format():
            policy = self.network.policy(minibatch.inputs, minibatch.allowed)
            value = self.network.value(minibatch.inputs)
        log_prob = policy.log_prob(minibatch.drawn)
        made = policy_loss(log_prob, minibatch.log_prob, minibatch.advantage, clip)
        error = value_loss(value, minibatch.target)
        entropy = entropy_of(policy, self.entropy_noise).mean(-1)
        loss = made.loss + config.value_weight * error - entropy_weight * entropy
        if config.deviation_penalty:
            loss = loss + config.deviation_penalty * self.network.penalty()
        figures = torch.stack([made.loss, error, entropy, made.kl, made.clip_share])
        return loss, figures.detach()

    def _step(
        self, samples: Samples, index: tuple[Tensor, Tensor], active: Tensor, weights: LossWeights
    ) -> tuple[Tensor, Tensor]:
        """Make one optimiser step; return which agents go on, (N,), and figures (6, N)."""
        config = self.config
        self.optimiser.zero_grad(set_to_none=True)
        figures = torch.zeros(len(_FIGURES) - 1, len(active), device=self.device)
        parts = self._parts(index)
        if config.kl_stop and len(parts) > 1:
            # Before the first part: stopping at a later one would leave half a gradient.
            active = active * (self._divergence(samples, parts) <= config.kl_stop)
        advantages = self._advantages(samples, index[0], parts)
        for (here, on_host, share), advantage in zip(parts, advantages, strict=True):
            minibatch = self._take(samples, here, on_host)._replace(advantage=advantage)
            loss, part_figures = self.loss(minibatch, weights.entropy, weights.clip)
            if config.kl_stop and len(parts) == 1:
                active = active * (part_figures[_KL] <= config.kl_stop)
            torch.autograd.backward(torch.sum(loss * (active * weights.agent)) * share)
            figures.add_(part_figures, alpha=share)
        if self._auxiliary is not None:
            # Gradients of shared weights are divided by N; where no agent learns, none is left.
            count = len(active) * (active * weights.agent).amax()
            torch.autograd.backward(count * self._auxiliary.draw())
        norm = prepare_gradients(
            self.parameters,
            active * weights.agent,
            limit=config.gradient_clip,
            weight_decay=config.weight_decay,
        )
        if config.kl_stop and not (self._on_host and active.all()):
            forget_momentum(self.optimiser, self.parameters, active)
        self.optimiser.step()
        return active, torch.cat([figures, norm[None]])

    def _parts(self, index: tuple[Tensor, Tensor]) -> list[tuple[Tensor, Tensor, float]]:
        """Cut a minibatch; return groups, the same on the host, and their share of the whole."""
        count = min(self.config.accumulation, len(index[0]))
        cut = zip(index[0].chunk(count), index[1].chunk(count), strict=True)
        return [(here, on_host, len(here) / len(index[0])) for here, on_host in cut]

    def _advantages(
        self, samples: Samples, index: Tensor, parts: list[tuple[Tensor, Tensor, float]]
    ) -> tuple[Tensor, ...]:
        """Return the advantages (N, M) of each part, normalised over the whole minibatch."""
        advantage = samples.advantage.index_select(1, index).flatten(1, 2)
        if self.config.normalise_advantages == "minibatch":
            advantage = normalise(advantage)
        length = samples.advantage.shape[2]
        return torch.split(advantage, [len(here) * length for here, _, _ in parts], dim=1)

    def _take(self, samples: Samples, index: Tensor, index_on_host: Tensor) -> Minibatch:
        with self._format():
            return take_minibatch(samples, index, self.view, index_on_host=index_on_host)

    @torch.no_grad()
    def _divergence(self, samples: Samples, parts: list[tuple[Tensor, Tensor, float]]) -> Tensor:
        """Return the KL divergence of each agent, (N,), over all parts of a minibatch."""
        found = []
        for here, on_host, share in parts:
            minibatch = self._take(samples, here, on_host)
            with self._format():
                policy = self.network.policy(minibatch.inputs, minibatch.allowed)
            log_prob = policy.log_prob(minibatch.drawn)
            found.append(share * divergence(log_prob - minibatch.log_prob))
        return torch.stack(found).sum(0)

    def _make_optimiser(self) -> tuple[Parameters, torch.optim.Optimizer]:
        named = dict(self.network.named_parameters())
        own = {name: named.pop(name) for name in self.network.own_names}
        view = {f"view.{n}": p for n, p in self.view.named_parameters() if p.requires_grad}
        if self._auxiliary is not None:
            named |= {f"auxiliary.{n}": p for n, p in enumerate(self._auxiliary.parameters())}
        groups = [{"params": [*own.values(), *named.values()], "rate": 1.0}]
        if view:
            groups.append({"params": list(view.values()), "rate": self.config.encoder_rate})
        optimiser = torch.optim.Adam(groups, eps=self.config.adam_epsilon, fused=True)
        return Parameters(own, named | view), optimiser

    def _permute(self, count: int) -> Tensor:
        return torch.randperm(count, generator=self.shuffle)

    def _format(self) -> AbstractContextManager[None]:
        reduced = self.config.precision == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=reduced)
