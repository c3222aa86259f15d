"""Gradients and evolution by turns: one actor, improved by two learners of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.action_policy import n_numbers
from tradingbot.learning.es.learner import ES
from tradingbot.learning.hybrid.config import HybridSettings
from tradingbot.learning.hybrid.loss import better_share
from tradingbot.learning.learner import Learner, Metrics, Update
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.task import Observation, Task
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

_ENTROPY = "policy/normalised_entropy"


class Hybrid(Resumable):
    """Lets gradients and evolution strategies take turns; see docs/algorithms/hybrid.md.

    An update is one of either. Each has environments of its own, so that a replay holds whole
    episodes; both count the steps of both, by which their schedules go.
    """

    name = "hybrid"
    _STATE = name_parts(
        *("_gradient", "_evolution", "_before", "_phase_steps", "_phase_generations"),
        *("_better_share", "_phases_judged", "_phases_kept", "updates"),
    )

    def __init__(self, task: Task, view: View, config: HybridSettings, *, seed: int) -> None:
        """Build both learners on one actor.

        Args:
            task: That both can learn; its environments can be repeated.
            view: How rows of the task's table are seen; it does not learn.
            config: Settings of both, and of their turns.
            seed: Root of all random streams.

        Raises:
            ConfigError: If the task's environments cannot be repeated, or the actor's deviations
                are folded.
        """
        self.task, self.view, self.config, self._turns = task, view, config, config.turns
        self._gradient = config.wrapped.build(task, view, config.gradient, seed=seed)
        _refuse_folds(self._gradient)
        layout = config.wrapped.actor_layout(config.gradient, task.action, ())
        self._actor = _actor_of(self._gradient, layout)
        evolved = (self._actor, layout)
        self._evolution = ES(task, view, config.evolution, seed=seed, evolved=evolved)
        self._agent_weight = torch.ones(len(task.agent_names), device=task.table.device)
        self._before = self._copied_weights()
        self._phase_steps, self._phase_generations = 0, 0
        self._better_share, self._phases_judged, self._phases_kept = 0.0, 0, 0
        self.updates = 0

    @property
    def steps(self) -> int:
        """Steps per agent so far, of both."""
        return self._gradient.steps

    def update(self) -> Update:
        """Learn once by gradients, or by one generation, whose turn it is."""
        evolves = self._phase_steps >= self._turns.gradient_steps
        made = self._evolve() if evolves else self._follow_gradient()
        self.updates += 1
        told = {
            "hybrid/evolves": float(evolves),
            "hybrid/better_share": self._better_share,
            "hybrid/kept_share": self._phases_kept / max(self._phases_judged, 1),
        }
        metrics: Metrics = {name: torch.tensor(value) for name, value in told.items()}
        if isinstance(self._gradient, TaskLearner):  # what the task tells, of its environments
            metrics |= self._gradient.task_metrics()
        return Update(made.metrics | metrics, made.experience)

    def act(self, observation: Observation) -> Tensor:
        """Return deterministic actions, (N, B) or (N, B, K)."""
        return self._gradient.act(observation)

    def sample(self, observation: Observation) -> Tensor:
        """Return actions, (N, B) or (N, B, K), as the learner by gradients draws them."""
        return self._gradient.sample(observation)

    def networks(self) -> Mapping[str, nn.Module]:
        """Return what acts: the networks of the learner by gradients."""
        return self._gradient.networks()

    def set_entropy_scale(self, scale: Tensor) -> None:
        """Multiply how much each agent explores, (N,), in both."""
        self._gradient.set_entropy_scale(scale)
        self._evolution.set_entropy_scale(scale)

    def set_learning_rate_scale(self, scale: float) -> None:
        """Multiply both learning rates."""
        self._gradient.set_learning_rate_scale(scale)
        self._evolution.set_learning_rate_scale(scale)

    def set_agent_weight(self, weight: Tensor) -> None:
        """Multiply each agent's part, (N,), in both and in judging between them."""
        self._agent_weight.copy_(weight)
        self._gradient.set_agent_weight(weight)
        self._evolution.set_agent_weight(weight)

    def explore_anew(self, number: int) -> None:
        """Draw samples and perturbations from other streams."""
        self._gradient.explore_anew(number)
        self._evolution.explore_anew(number)

    def _follow_gradient(self) -> Update:
        first = self.steps
        made = self._gradient.update()
        self._phase_steps += self.steps - first
        self._evolution.steps = self.steps
        if self._phase_steps >= self._turns.gradient_steps:
            self._before = self._copied_weights()
        return made

    def _evolve(self) -> Update:
        kept = self._copied_weights()
        made = self._evolution.update()
        # Of what acts alone; that of lots, which the other learner tells, is another matter.
        told = {name: x for name, x in made.metrics.items() if name != _ENTROPY}
        made = made._replace(metrics=told)
        self._keep_unread(kept)
        self._phase_generations += 1
        if self._phase_generations >= self._turns.generations:
            self._judge()
            self._phase_steps, self._phase_generations = 0, 0
        self._gradient.steps = self._evolution.steps
        return made

    def _judge(self) -> None:
        """Keep what evolved where enough accounts earn more with it; else go back."""
        earned = self._evolution.earnings_beside(self._before)
        self._evolution.steps += 2 * self._evolution.config.bars * self.task.n_envs
        self._better_share = float(better_share(earned[0], earned[1], self._agent_weight))
        is_kept = self._better_share >= self._turns.switch_threshold
        self._phases_judged += 1
        self._phases_kept += int(is_kept)
        if not is_kept:
            self._actor.load_state_dict(self._before)

    @torch.no_grad()
    def _keep_unread(self, kept: Mapping[str, Tensor]) -> None:
        """Put back weights of the outputs that members do not act by: they followed noise."""
        action, head = self.task.action, self._actor
        if action.n_actions:
            return
        last, first = len(head.weights) - 1, n_numbers(action)
        names = (f"weights.{last}", f"biases.{last}", "directions")
        for name, weight in head.named_parameters():
            if name in names:
                now, before = (each.view(-1, head.n_outputs) for each in (weight, kept[name]))
                now[:, first:] = before[:, first:]

    def _copied_weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for name, weight in self._actor.named_parameters()}


def _refuse_folds(learner: Learner) -> None:
    if getattr(learner, "shrinks_deviations", False):
        rule = "learner.direct.fold_bars must be 0 for learner hybrid: each fold has deviations"
        raise ConfigError(f"{rule} of its own, which would not evolve")


def _actor_of(learner: Learner, layout: ActorLayout) -> StackedHead:
    network, _, path = layout.prefix.removesuffix(".").partition(".")
    actor = learner.networks()[network].get_submodule(path)
    assert isinstance(actor, StackedHead)
    return actor
