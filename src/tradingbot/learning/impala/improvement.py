"""Learning from one batch of rollouts, in minibatches."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.action_policy import entropy_of
from tradingbot.learning.generators import make_generator
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.impala.loss import policy_gradient_loss
from tradingbot.learning.learner import Metrics
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.improvement import Parameters, prepare_gradients
from tradingbot.learning.ppo.loss import value_loss
from tradingbot.learning.ppo.samples import Minibatch, group_samples, take_minibatch
from tradingbot.learning.rollout import Rollout
from tradingbot.networks.view import View

_ROWS = 1 << 16
"""Samples of all agents per pass without gradients: what hidden layers may take in memory."""
_FIGURES = ("loss/policy", "loss/value", "policy/entropy", "grad/norm")


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
        rollout: Rollout,
        advantage: Tensor,
        target: Tensor,
        *,
        agent: Tensor,
        entropy: Tensor,
        rate: float,
    ) -> Metrics:
        """Make one pass over a batch.

        Args:
            rollout: (S, N, B).
            advantage: (S, N, B)
            target: (S, N, B) of values, in the critic's units.
            agent: (N,) weight of each agent's loss.
            entropy: (N,) weight of its entropy.
            rate: Learning rate.

        Returns:
            (N,) each: means over the minibatches.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        samples = group_samples(rollout, advantage, target, 1)
        n_samples = samples.row.shape[1]
        size = min(self.config.minibatch, n_samples)
        # Leftovers are not learned from: minibatches are all of one size.
        order = torch.randperm(n_samples, generator=self.shuffle)
        cuts = order[: size * (n_samples // size)].view(-1, size)
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
        behaviour, clip = minibatch.log_prob, self.config.ratio_clip
        chosen = policy_gradient_loss(log_prob, behaviour, minibatch.advantage, clip)
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
