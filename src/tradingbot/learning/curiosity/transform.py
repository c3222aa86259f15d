"""Curiosity as a reward transform: pays for surprise, in units of the reward, and in bounds."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.curiosity.model import CuriosityModel
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.reward_transform import CollectedSteps, InPlacePart
from tradingbot.learning.running_moments import RunningMoments
from tradingbot.learning.step_batches import by_agent, draw_samples, in_chunks
from tradingbot.learning.task import Task

_LEAST_DEVIATION = 1e-4
"""Of errors times η; below it bonuses fade instead of being blown up."""
_LEAST = 1e-12


class Curiosity:
    """Mixes an intrinsic bonus into rewards; see docs/algorithms/curiosity.md."""

    needs_terms = False

    def __init__(self, task: Task, config: CuriosityConfig, *, seed: int) -> None:
        """Draw weights; everything lives on the task's device.

        Args:
            task: Whose table and private numbers are predicted: models see rows as they are, not
                through the policy's view, so that neither can move the other.
            config: Settings.
            seed: Root of the streams `weights` and `batches`.
        """
        self.config, self._table = config, task.table.detach().flatten(0, 1)
        n_agents, device = len(task.agent_names), task.table.device
        n_inputs = self._table.shape[1] + task.n_private
        weights = make_generator(seed, "curiosity", "weights")
        self.model = CuriosityModel(n_agents, n_inputs, task.action, config, weights).to(device)
        self._optimiser = torch.optim.AdamW(
            self.model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self._batches = make_generator(seed, "curiosity", "batches", device=device)
        self._errors = RunningMoments(n_agents, config.normalisation_rate, device)
        self._paid = _Paid(n_agents, device)
        self._last: Metrics = {}

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return (1 − mix) · reward + mix · bonus, (S, N, B)."""
        config = self.config
        error = config.error_scale * in_chunks(self._error, steps)
        self._errors.insert(error)
        mean, deviation = (part[:, None] for part in self._errors.moments())
        bonus = (error - mean) / deviation.clamp_min(_LEAST_DEVIATION)
        bonus = bonus.clamp(-config.bonus_clip, config.bonus_clip)
        kept = (1.0 - config.mix) * steps.reward
        self._paid.insert(kept)
        is_warm = (self._paid.steps > config.warm_up).to(bonus.dtype)
        added = config.mix * is_warm * self._paid.deviation()[:, None] * bonus
        limit = config.max_share / (1.0 - config.max_share) * self._paid.size()
        size = added.abs().mean((0, 2))
        factor = (limit / size.clamp_min(_LEAST)).clamp_max(1.0)
        added = factor[:, None] * added
        self._note(error, added, kept)
        return kept + added

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Fit encoder and models to transitions drawn from the steps; return figures."""
        config, sums = self.config, []
        # A learner that updates after few steps would only see the same ones again and again.
        collected = steps.reward.shape[0] * steps.reward.shape[2]
        size = min(config.batch_size, collected)
        for _ in range(config.batches):
            drawn = draw_samples(steps, size, self._batches)
            losses = self.model.losses(*self._inputs(drawn))
            weight = config.forward_weight
            loss = weight * losses.forward + (1.0 - weight) * losses.inverse
            self._optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss.sum())
            self._optimiser.step()
            sums.append(torch.stack(losses).detach())
        forward, inverse = torch.stack(sums).mean(0)
        told, self._last = self._figures(), {}
        return told | {"curiosity/forward_loss": forward, "curiosity/inverse_loss": inverse}

    def parts(self) -> Mapping[str, InPlacePart]:
        """Return weights, optimiser, draws and running sums."""
        return {
            "model": self.model,
            "optimiser": self._optimiser,
            "batches": self._batches,
            "errors": self._errors,
            "paid": self._paid,
        }

    def _inputs(self, steps: CollectedSteps) -> tuple[Tensor, Tensor, Tensor]:
        before = torch.cat([self._table[steps.row], steps.private], dim=-1)
        after = torch.cat([self._table[steps.final_row], steps.final_private], dim=-1)
        return by_agent(before), by_agent(steps.action), by_agent(after)

    def _error(self, steps: CollectedSteps) -> Tensor:
        error = self.model.error(*self._inputs(steps))
        n_steps, n_agents, n_envs = steps.reward.shape
        return error.view(n_agents, n_steps, n_envs).transpose(0, 1)

    def _note(self, error: Tensor, added: Tensor, kept: Tensor) -> None:
        """Add up what metrics are made of until `learn` is called."""
        count = torch.full_like(error[0, :, 0], error.shape[0] * error.shape[2])
        noted = {
            "count": count,
            "error": error.sum((0, 2)),
            "square": error.square().sum((0, 2)),
            "added": added.abs().sum((0, 2)),
            "kept": kept.abs().sum((0, 2)),
        }
        self._last = {k: v + self._last[k] for k, v in noted.items()} if self._last else noted

    def _figures(self) -> Metrics:
        count, error, square, added, kept = self._last.values()
        mean = error / count
        deviation = (square / count - mean.square()).clamp_min(0.0).sqrt()
        return {
            "curiosity/error": mean,
            "curiosity/variation": deviation / mean.clamp_min(_LEAST),
            "curiosity/bonus": added / count,
            "curiosity/share": added / (added + kept).clamp_min(_LEAST),
        }


class _Paid(nn.Module):
    """What tasks paid since training began: steps, sizes and deviation of rewards."""

    sums: Tensor
    """(3, N) float64: sum of rewards, of their sizes, of their squares."""
    steps: Tensor
    """() int64, steps of each agent over all its environments."""

    def __init__(self, n_agents: int, device: torch.device) -> None:
        super().__init__()
        self.register_buffer("sums", torch.zeros(3, n_agents, dtype=torch.float64, device=device))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64, device=device))

    def insert(self, reward: Tensor) -> None:
        """Count rewards (S, N, B)."""
        double = reward.double()
        parts = (double, double.abs(), double.square())
        self.sums.add_(torch.stack([part.sum((0, 2)) for part in parts]))
        self.steps.add_(reward.shape[0] * reward.shape[2])

    def size(self) -> Tensor:
        """Return the mean size (N,)."""
        return (self.sums[1] / self.steps).float()

    def deviation(self) -> Tensor:
        """Return the standard deviation (N,); 0 where nothing has varied yet."""
        mean, _, square = (self.sums / self.steps).unbind(0)
        return (square - mean.square()).clamp_min(0.0).sqrt().float()
