"""Shaping as a reward transform: γ Φ(s′) − Φ(s), Φ being what states are worth as far as it knows.

Whatever Φ is, the best policy stays the best: what is paid adds up to −Φ of the first state, since
nothing follows a failure (Φ is 0 there) and values of truncated episodes are bootstrapped from the
same state that Φ is asked about. Φ, its units and its weight change between updates only, as a
potential that moves with time (Devlin & Kudenko 2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.playing import action_histogram, histogram_entropy
from tradingbot.learning.reward_transform import CollectedSteps, InPlacePart
from tradingbot.learning.running_moments import RunningMoments
from tradingbot.learning.shaping.config import ShapingConfig
from tradingbot.learning.step_batches import by_agent, in_chunks
from tradingbot.learning.task import Task
from tradingbot.learning.value_targets import generalized_advantage
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

_RATE = 0.01
"""What a step counts for in the running size of rewards."""


class PotentialInputs(NamedTuple):
    """What a potential reads."""

    levels: Tensor
    """(rows, 3) support, resistance and trend of every row of the task's table."""
    position: int
    """Place of the position, in [−1, 1] or so, among private numbers; its product with the trend is
    how far they agree."""
    growth: int
    """Place of the return since the episode began, of which the Sharpe ratio is made."""


class _ShapingState(nn.Module):
    """What adapts: weights, units and steps."""

    weight: Tensor
    """(N,) of the next update."""
    unit: Tensor
    """(N,) deviation of rewards that Φ is counted in, of the next update."""
    steps: Tensor
    """() int64, of each agent."""

    def __init__(self, n_agents: int, weight: float, device: torch.device) -> None:
        super().__init__()
        self.register_buffer("weight", torch.full((n_agents,), weight, device=device))
        self.register_buffer("unit", torch.zeros(n_agents, device=device))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64, device=device))


class LearnedShaping:
    """Adds the change of a learned potential to rewards; see docs/algorithms/shaping.md."""

    needs_terms = False

    def __init__(
        self,
        task: Task,
        inputs: PotentialInputs,
        config: ShapingConfig,
        *,
        discount: float,
        seed: int,
    ) -> None:
        """Draw weights; everything lives on the task's device.

        Args:
            task: What is learned.
            inputs: What the potential reads.
            config: Settings.
            discount: γ of the learner: another one would move the best policy.
            seed: Root of the streams `weights` and `batches`.
        """
        self.config, self._inputs, self._discount = config, inputs, discount
        self._action, device = task.action, task.table.device
        n_agents = len(task.agent_names)
        head = HeadConfig(hidden=config.hidden, pooling=config.pooling)
        weights = make_generator(seed, "shaping", "weights")
        self.potential = StackedHead(n_agents, 4, 1, head, weights).to(device)
        self._optimiser = torch.optim.Adam(
            self.potential.parameters(), lr=config.learning_rate, fused=True
        )
        self._batches = make_generator(seed, "shaping", "batches", device=device)
        self._rewards = RunningMoments(n_agents, _RATE, device)
        self.adapted = _ShapingState(n_agents, config.weight, device)

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return rewards with the change of the potential, (S, N, B)."""
        before, after = self._potentials(steps)
        change = self._discount_of(steps) * after - before
        is_warm = (self.adapted.steps >= self.config.warm_up).to(change.dtype)
        factor = is_warm * self.adapted.weight * self.adapted.unit
        return steps.reward + factor[:, None] * change

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Fit the potential to what followed, adapt weights and units; return figures."""
        self._rewards.insert(steps.reward)
        _, deviation = self._rewards.moments()
        unit = torch.where(deviation > 0.0, deviation, 1.0)
        loss, size = self._fit(steps, steps.reward / unit[:, None])
        entropy = histogram_entropy(action_histogram(steps.action, self._action)).float()
        sharpe = self._sharpe(steps)
        self.adapted.steps.add_(steps.reward.shape[0] * steps.reward.shape[2])
        is_warm = (self.adapted.steps >= self.config.warm_up).float()
        sign = (entropy < self.config.low_entropy).float()
        sign = sign - (sharpe > self.config.high_sharpe).float()
        told = {
            "shaping/weight": self.adapted.weight.clone(),
            "shaping/loss": loss,
            "shaping/potential": size,
            "shaping/entropy": entropy,
            "shaping/sharpe": sharpe,
        }
        moved = self.adapted.weight + is_warm * self.config.weight_step * sign
        self.adapted.weight.copy_(moved.clamp(0.0, self.config.max_weight))
        self.adapted.unit.copy_(unit)
        return told

    def parts(self) -> Mapping[str, InPlacePart]:
        """Return weights, optimiser, draws and what adapts."""
        return {
            "potential": self.potential,
            "optimiser": self._optimiser,
            "batches": self._batches,
            "rewards": self._rewards,
            "adapted": self.adapted,
        }

    def _fit(self, steps: CollectedSteps, reward: Tensor) -> tuple[Tensor, Tensor]:
        """Learn values of rewards (S, N, B); return the mean loss and mean size of Φ, (N,) each."""
        with torch.no_grad():
            before, after = self._potentials(steps)
            ends = (steps.terminated, steps.truncated)
            discount = self._discount_of(steps)
            gain = generalized_advantage(
                reward, before, after, *ends, discount=discount, decay=self.config.decay
            )
        inputs, target = by_agent(self._read(steps.row, steps.private)), by_agent(gain + before)
        losses = []
        for _ in range(self.config.batches):
            place = torch.randint(
                inputs.shape[1],
                (self.config.batch_size,),
                generator=self._batches,
                device=inputs.device,
            )
            error = self.potential(inputs[:, place]).squeeze(-1) - target[:, place]
            loss = error.square().mean(1)
            self._optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss.sum())
            self._optimiser.step()
            losses.append(loss.detach())
        return torch.stack(losses).mean(0), before.abs().mean((0, 2))

    def _potentials(self, steps: CollectedSteps) -> tuple[Tensor, Tensor]:
        """Return Φ before and after each step, (S, N, B); 0 after a failure."""
        before = in_chunks(lambda some: self._value(some.row, some.private), steps)
        after = in_chunks(lambda some: self._value(some.final_row, some.final_private), steps)
        return before, torch.where(steps.terminated, 0.0, after)

    def _value(self, row: Tensor, private: Tensor) -> Tensor:
        n_steps, n_agents, n_envs = row.shape
        value: Tensor = self.potential(by_agent(self._read(row, private)))
        return value.view(n_agents, n_steps, n_envs).transpose(0, 1)

    def _read(self, row: Tensor, private: Tensor) -> Tensor:
        """Return support, resistance, trend · position and position, (S, N, B, 4)."""
        levels, position = self._inputs.levels[row], private[..., self._inputs.position, None]
        aligned = levels[..., 2:] * position
        return torch.cat([levels[..., :2], aligned, position], dim=-1)

    def _discount_of(self, steps: CollectedSteps) -> float | Tensor:
        return self._discount if steps.discount is None else steps.discount

    def _sharpe(self, steps: CollectedSteps) -> Tensor:
        """Return the annualised Sharpe ratio of the steps' returns, (N,); 0 where none varies."""
        place = self._inputs.growth
        before, after = 1.0 + steps.private[..., place], 1.0 + steps.final_private[..., place]
        growth = by_agent(torch.where(before > 0.0, after / before.clamp_min(1e-6) - 1.0, 0.0))
        mean, deviation = growth.mean(1), growth.std(1, correction=0)
        ratio = mean / deviation.clamp_min(1e-12) * self.config.bars_per_year**0.5
        return torch.where(deviation > 0.0, ratio, 0.0)
