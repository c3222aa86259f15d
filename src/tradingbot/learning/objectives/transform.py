"""Learned weights of objectives as a reward transform.

**What weights learn from.** Not from the weighted reward: the objective that pays most for least
would win. Where the policy follows weighted advantages Σ_j w_j(s) A_j, its first step raises the
growth of the account by Σ_j w_j(s) A_j A_G summed over samples, as far as samples have gradients of
their own (a meta-gradient with the score functions taken as orthogonal). Weights ascend that: w_j
rises in states where what objective j praises is what lets the account grow. A_j and A_G have mean
0 and deviation 1 for each agent, so that neither the size nor the level of an objective counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.objectives.weights import ObjectiveWeights, limit_weights, scale_weights
from tradingbot.learning.reward_transform import CollectedSteps, InPlacePart
from tradingbot.learning.step_batches import by_agent, in_chunks
from tradingbot.learning.task import Task
from tradingbot.learning.value_targets import generalized_advantage
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

_LEAST = 1e-8


class Objectives(NamedTuple):
    """What is weighed, and what it is for."""

    names: tuple[str, ...]
    """J names."""
    of_term: tuple[int, ...]
    """Place of its objective, for each of the K reward terms."""
    first: tuple[float, ...]
    """J weights that the reward has as it is; they sum to 1."""
    growth: int
    """Place of the return since the episode began among private numbers."""
    volatile: Tensor
    """(rows,) bool, rows of the task's table in which volatility is high."""


class LearnedObjectives:
    """Weighs objectives of a reward by state; see docs/algorithms/objectives.md."""

    needs_terms = True

    def __init__(
        self,
        task: Task,
        objectives: Objectives,
        config: ObjectivesConfig,
        *,
        discount: float,
        seed: int,
    ) -> None:
        """Draw weights; everything lives on the task's device.

        Args:
            task: What is learned; its reward terms are weighed.
            objectives: Which terms belong together, and what weights learn from.
            config: Settings.
            discount: γ of the learner.
            seed: Root of the streams `weights` and `batches`.
        """
        self.config, self.objectives, self._discount = config, objectives, discount
        self._table, device = task.table.detach().flatten(0, 1), task.table.device
        n_agents, n_objectives = len(task.agent_names), len(objectives.names)
        n_inputs = self._table.shape[1] + task.n_private
        draws = make_generator(seed, "objectives", "weights")
        self.weights = ObjectiveWeights(n_agents, n_inputs, objectives.first, config, draws)
        head = HeadConfig(hidden=config.hidden, pooling=config.pooling)
        n_values = n_objectives + 1 if config.critics else 0
        self._critics = torch.nn.ModuleList(
            [StackedHead(n_agents, n_inputs, n_values, head, draws)] if n_values else []
        )
        for part in (self.weights, self._critics):
            part.to(device)
        learned = [*self.weights.parameters(), *self._critics.parameters()]
        self._optimiser = torch.optim.Adam(learned, lr=config.learning_rate, fused=True)
        self._batches = make_generator(seed, "objectives", "batches", device=device)
        member = torch.zeros(n_objectives, len(objectives.of_term), device=device)
        member[list(objectives.of_term), range(len(objectives.of_term))] = 1.0
        self._member = member
        factors = {"risk": config.risk_factor, "profit": config.profit_factor}
        self._wild = torch.tensor([factors.get(name, 1.0) for name in objectives.names]).to(device)

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return Σ_j (weight_j ÷ first weight_j) · objective_j, (S, N, B): the reward at first."""
        weight = self.weigh(steps)
        relative = weight / self.weights.log_first.exp()
        return (relative * self._values(steps).movedim(1, -1)).sum(-1)

    def weigh(self, steps: CollectedSteps) -> Tensor:
        """Return the weights that rewards are made of, (S, N, B, J); none above the limit."""
        weight = in_chunks(self._softmax, steps)
        wild = self.objectives.volatile[steps.row][..., None]
        weight = torch.where(wild, scale_weights(weight, self._wild), weight)
        return limit_weights(weight, self.config.max_weight)

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Move weights by what objectives are worth to growth; return figures."""
        with torch.no_grad():
            used = self.weigh(steps)
            streams = torch.cat([self._values(steps), self._growth(steps)[:, None]], dim=1)
            advantage, target = self._advantages(steps, streams)
            credit = advantage[..., :-1] * advantage[..., -1:]
            inputs = by_agent(self._see(steps))
        self._fit(inputs, by_agent(credit), by_agent(target))
        with torch.no_grad():
            moved = (self.weigh(steps) - used).abs().mean((0, 2, 3))
        mean, earned = used.mean((0, 2)), credit.mean((0, 2))
        told: Metrics = {
            "objectives/largest_weight": mean.amax(-1),
            "objectives/change": moved,
        }
        for place, name in enumerate(self.objectives.names):
            told[f"objectives/weight/{name}"] = mean[:, place]
            told[f"objectives/credit/{name}"] = earned[:, place]
        return told

    def parts(self) -> Mapping[str, InPlacePart]:
        """Return weights, critics, optimiser and draws."""
        return {
            "weights": self.weights,
            "critics": self._critics,
            "optimiser": self._optimiser,
            "batches": self._batches,
        }

    def _fit(self, inputs: Tensor, credit: Tensor, target: Tensor) -> None:
        """Ascend the credit (N, M, J) of weights at inputs (N, M, I); fit critics to targets."""
        for _ in range(self.config.batches):
            place = torch.randint(
                inputs.shape[1],
                (self.config.batch_size,),
                generator=self._batches,
                device=inputs.device,
            )
            seen = inputs[:, place]
            log_weight = self.weights.log_weights(seen)
            weight = log_weight.exp()
            gain = (weight * credit[:, place]).sum(-1)
            away = (weight * (log_weight - self.weights.log_first)).sum(-1)
            loss = (self.config.pull * away - gain).mean(1)
            for critic in self._critics:
                loss = loss + (critic(seen) - target[:, place]).square().mean((1, 2))
            self._optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss.sum())
            self._optimiser.step()

    def _advantages(self, steps: CollectedSteps, streams: Tensor) -> tuple[Tensor, Tensor]:
        """Return normalised advantages and value targets, (S, N, B, J + 1), of (S, J + 1, N, B).

        Targets are in units of each stream's deviation, as critics count.
        """
        unit = streams.transpose(0, 1).flatten(3).std((1, 3), correction=0)  # (J + 1, N)
        paid = streams / unit.clamp_min(_LEAST)[..., None]
        before = after = torch.zeros_like(paid)
        for critic in self._critics:
            before = self._judge(critic, steps.row, steps.private)
            after = self._judge(critic, steps.final_row, steps.final_private)
        ends = (part[:, None].expand_as(paid) for part in (steps.terminated, steps.truncated))
        discount = self._discount if steps.discount is None else steps.discount[:, None]
        if isinstance(discount, Tensor):
            discount = discount.expand_as(paid)
        gain = generalized_advantage(
            paid, before, after, *ends, discount=discount, decay=self.config.decay
        )
        centred = gain - gain.mean((0, 3), keepdim=True)
        deviation = centred.square().mean((0, 3), keepdim=True).sqrt()
        # What does not vary has nothing to say.
        normal = torch.where(deviation > 1e-4, centred / deviation.clamp_min(_LEAST), 0.0)
        return normal.movedim(1, -1), (gain + before).movedim(1, -1)

    def _judge(self, critic: torch.nn.Module, row: Tensor, private: Tensor) -> Tensor:
        n_steps, n_agents, n_envs = row.shape
        seen = by_agent(torch.cat([self._table[row], private], dim=-1))
        value: Tensor = critic(seen)
        return value.view(n_agents, n_steps, n_envs, -1).permute(1, 3, 0, 2)

    def _values(self, steps: CollectedSteps) -> Tensor:
        """Return what each objective paid, (S, J, N, B)."""
        assert steps.terms is not None
        return torch.einsum("jk,sknb->sjnb", self._member, steps.terms.to(self._member.dtype))

    def _growth(self, steps: CollectedSteps) -> Tensor:
        """Return the logarithmic growth of each step, (S, N, B)."""
        place = self.objectives.growth
        before, after = (
            (1.0 + part[..., place]).clamp_min(1e-6)
            for part in (steps.private, steps.final_private)
        )
        return (after / before).log()

    def _see(self, steps: CollectedSteps) -> Tensor:
        return torch.cat([self._table[steps.row], steps.private], dim=-1)

    def _softmax(self, steps: CollectedSteps) -> Tensor:
        n_steps, n_agents, n_envs = steps.reward.shape
        weight = self.weights.log_weights(by_agent(self._see(steps))).exp()
        return weight.view(n_agents, n_steps, n_envs, -1).transpose(0, 1)
