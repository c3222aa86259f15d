"""Learning from one batch of rollouts, in minibatches."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.action_policy import entropy_of
from tradingbot.learning.generators import make_generator
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.impala.loss import policy_gradient_loss
from tradingbot.learning.learner import Metrics
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.improvement import Parameters, prepare_gradients
from tradingbot.learning.ppo.loss import policy_loss, value_loss
from tradingbot.learning.ppo.samples import Minibatch, Samples, group_samples, take_minibatch
from tradingbot.learning.rollout import Rollout
from tradingbot.networks.view import View

_ROWS = 1 << 16
"""Samples of all agents per pass without gradients: what hidden layers may take in memory."""
_FIGURES = ("loss/policy", "loss/value", "policy/entropy", "grad/norm")


class Corrected(NamedTuple):
    """Rollouts (S, N, B) of policies of before, and what V-trace makes of them."""

    rollout: Rollout
    advantage: Tensor
    """(S, N, B) of mean 0 and deviation 1 for each agent."""
    target: Tensor
    """(S, N, B) of values, in the critic's units."""
    log_prob: Tensor
    """(S, N, B) of what was drawn, by the policy before the update."""


class VTraceImprover:
    """Improves actor and critic by advantages and targets that V-trace made."""

    def __init__(
        self, network: ActorCritic, view: View, config: IMPALAConfig, *, seed: int
    ) -> None:
        """Take what is to be improved; the network is on its device already."""
        self.network, self.view, self.config = network, view, config
        device = network.actor.weights[0].device
        self.shuffle = make_generator(seed, "impala", "shuffle")
        self.entropy_noise = make_generator(seed, "impala", "entropy", device=device)
        named = dict(network.named_parameters())
        own = {name: named.pop(name) for name in network.own_names}
        self._parameters = Parameters(own, named)
        weights = [*own.values(), *named.values()]
        self.optimiser = torch.optim.Adam(weights, lr=0.0, eps=1e-5, fused=True)

    def log_prob(self, rollout: Rollout) -> Tensor:
        """Return log probabilities (S, N, B) of what was drawn, by the policy as it is now."""
        found = []
        kept = (rollout.row, rollout.private, rollout.allowed, rollout.drawn)
        for row, private, allowed, drawn in zip(*map(_chunks, kept), strict=True):
            policy = self.network.policy(self._inputs(row, private), _by_agent(allowed))
            found.append(_by_step(policy.log_prob(_by_agent(drawn)), row))
        return torch.cat(found)

    def value(self, row: Tensor, private: Tensor) -> Tensor:
        """Return values (S, N, B) in the critic's units."""
        parts = zip(_chunks(row), _chunks(private), strict=True)
        found = [_by_step(self.network.value(self._inputs(*part)), part[0]) for part in parts]
        return torch.cat(found)

    def improve(
        self,
        corrected: Corrected,
        *,
        agent: Tensor,
        entropy: Tensor,
        rate: float,
    ) -> Metrics:
        """Make all passes over a batch.

        Args:
            corrected: What is learned from.
            agent: (N,) weight of each agent's loss.
            entropy: (N,) weight of its entropy.
            rate: Learning rate.

        Returns:
            (N,) each: means over the minibatches.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        samples = self._samples(corrected)
        n_samples = samples.row.shape[1]
        size = min(self.config.minibatch, n_samples)
        # Leftovers of a pass are not learned from: minibatches are all of one size.
        used = size * (n_samples // size)
        passes = range(self.config.n_epochs)
        orders = [torch.randperm(n_samples, generator=self.shuffle)[:used] for _ in passes]
        cuts = torch.cat(orders).view(-1, size)
        sums = torch.zeros(len(_FIGURES), len(agent), device=agent.device)
        for on_host in cuts:
            index = on_host.to(agent.device)
            minibatch = take_minibatch(samples, index, self.view, index_on_host=on_host)
            sums += self._step(minibatch, agent, entropy)
        return dict(zip(_FIGURES, sums / len(cuts), strict=True))

    def _step(self, minibatch: Minibatch, agent: Tensor, entropy_weight: Tensor) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        policy = self.network.policy(minibatch.inputs, minibatch.allowed)
        log_prob = policy.log_prob(minibatch.drawn)
        chosen = self._policy_loss(log_prob, minibatch)
        error = value_loss(self.network.value(minibatch.inputs), minibatch.target)
        entropy = entropy_of(policy, self.entropy_noise).mean(-1)
        loss = chosen + self.config.value_weight * error - entropy_weight * entropy
        loss = loss + self.config.deviation_penalty * self.network.penalty()
        torch.autograd.backward(torch.sum(loss * agent))
        norm = prepare_gradients(
            self._parameters,
            agent,
            limit=self.config.gradient_clip,
            weight_decay=self.config.weight_decay,
        )
        self.optimiser.step()
        return torch.stack([chosen, error, entropy, norm]).detach()

    def _samples(self, corrected: Corrected) -> Samples:
        """Return samples with the log probabilities that ratios are taken to.

        Where ratios are clipped that is the policy before the update, and how far it has come from
        the one that acted is counted once, in the advantages; else it is the one that acted.
        """
        rollout, advantage, now = corrected.rollout, corrected.advantage, corrected.log_prob
        if self.config.clip:
            ratio = (now - rollout.log_prob).exp().clamp_max(self.config.ratio_clip)
            rollout, advantage = rollout._replace(log_prob=now), ratio * advantage
        return group_samples(rollout, advantage, corrected.target, 1)

    def _policy_loss(self, log_prob: Tensor, minibatch: Minibatch) -> Tensor:
        """Return the loss of each agent's policy, (N,)."""
        old, advantage, config = minibatch.log_prob, minibatch.advantage, self.config
        if config.clip:
            return policy_loss(log_prob, old, advantage, config.clip).loss
        return policy_gradient_loss(log_prob, old, advantage, config.ratio_clip)

    def _inputs(self, row: Tensor, private: Tensor) -> Tensor:
        """Return what heads read, (N, S · B, I)."""
        return _by_agent(torch.cat([self.view.look(row), private], dim=-1))


def _chunks(part: Tensor) -> tuple[Tensor, ...]:
    """Cut (S, N, B, …) into a few steps at a time."""
    return torch.split(part, max(1, _ROWS // (part.shape[1] * part.shape[2])))


def _by_agent(part: Tensor) -> Tensor:
    """See (S, N, B, …) as (N, S · B, …)."""
    return part.transpose(0, 1).flatten(1, 2)


def _by_step(found: Tensor, row: Tensor) -> Tensor:
    """See (N, S · B) as (S, N, B), shaped like `row`."""
    return found.view(row.shape[1], row.shape[0], row.shape[2]).transpose(0, 1)
