"""What learners of a task have in common: counters, scales from outside, and their checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tradingbot.learning.device import CapturedStep
from tradingbot.learning.generators import begin_another
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Part, Resumable
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.task import Task, task_metrics
from tradingbot.networks.view import View


class TaskLearner(Resumable):
    """Base of a `Learner`, which adds `update`, `act`, `sample`, and what its `_STATE` is."""

    _acting: dict[str, nn.Module]
    """Networks that act on what the view shows, by name."""
    _exploration: torch.Generator
    """What `sample` draws from."""

    def __init__(self, task: Task, view: View, auxiliary: AuxiliaryLoss | None = None) -> None:
        """Open the task's environments; everything lives on its device.

        Args:
            task: What is learned.
            view: How rows of its table are seen.
            auxiliary: A loss beside the learner's own, of the encoder that the view learns.
        """
        self._auxiliary = auxiliary
        self.task, self.view, self.device = task, view, task.table.device
        self.steps, self.updates = 0, 0
        self._n_agents = len(task.agent_names)
        self._view_learns = any(weight.requires_grad for weight in view.parameters())
        self._entropy_scale = torch.ones(self._n_agents, device=self.device)
        self._agent_weight = torch.ones(self._n_agents, device=self.device)
        self._rate_scale = 1.0
        self._captured: CapturedStep[Any] | None = None
        self._state, self._observation = task.begin()

    def networks(self) -> Mapping[str, nn.Module]:
        """Return what acts, and the view where it has weights."""
        return self._acting | ({"view": self.view} if list(self.view.parameters()) else {})

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; see `Resumable`."""
        super().load_state(state)
        self._observation = self.task.observe(self._state)
        if self._captured is not None:
            self._captured.forget()  # the optimiser's tensors are others now
        self.view.refresh()

    def task_metrics(self) -> Metrics:
        """Return what the task tells of where its environments stand."""
        return task_metrics(self.task, self._state)

    def set_entropy_scale(self, scale: Tensor) -> None:
        """Multiply how much each agent explores, (N,)."""
        self._entropy_scale = scale.to(self.device, torch.float32, copy=True)

    def set_learning_rate_scale(self, scale: float) -> None:
        """Multiply the learning rate."""
        self._rate_scale = float(scale)

    def set_agent_weight(self, weight: Tensor) -> None:
        """Multiply each agent's losses, (N,)."""
        self._agent_weight.copy_(weight)

    def explore_anew(self, number: int) -> None:
        """Draw the policy's samples from another stream."""
        begin_another(self._exploration, number)

    def _parts(self) -> dict[str, Part]:
        parts = super()._parts()
        return parts if self._auxiliary is None else parts | {"auxiliary": self._auxiliary}

    def _see(self, row: Tensor, private: Tensor) -> Tensor:
        """Return what networks read of an observation: embedding ⊕ private numbers."""
        return torch.cat([self.view.look(row), private], dim=-1)

    def _capture(
        self,
        wanted: bool | None,
        step: Callable[[], Any],
        generators: Sequence[torch.Generator] = (),
        **options: int,
    ) -> CapturedStep[Any] | None:
        """Return a step as a CUDA graph; by default on CUDA, unless the view learns too."""
        able = self.device.type == "cuda" and not self._view_learns
        is_captured = able if wanted is None else wanted
        if self._auxiliary is not None:
            generators = (*generators, self._auxiliary.generator)
        return CapturedStep(step, generators, self.device, **options) if is_captured else None
