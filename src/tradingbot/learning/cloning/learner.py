"""Behaviour cloning: watch an expert act in the task, then learn to do the same.

The actor is that of another learner, so that reinforcement goes on from where imitation ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.cloning.config import CloningConfig
from tradingbot.learning.cloning.loss import (
    agreement,
    chosen_action,
    cloning_losses,
    sample_weights,
)
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.task import ActionSpec, Observation, Task
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

Expert = Callable[[Observation], Tensor]
"""Observation → what the expert does, (N, B): codes or numbers of the task's actions."""


class _Demonstrations(NamedTuple):
    """What was seen and what the expert did, samples second: M = steps · B."""

    row: Tensor
    """(N, M) int64"""
    private: Tensor
    """(N, M, P)"""
    allowed: Tensor
    """(N, M, A) bool"""
    expert: Tensor
    """(N, M)"""


class Cloner(Resumable):
    """Imitates an expert, for all agents at once; the same seed gives the same bits on a CPU."""

    _STATE = name_parts(
        *("actor", "_view", "_optimiser", "_shuffle", "_acting", "steps", "updates"), task="_state"
    )

    def __init__(
        self,
        task: Task,
        view: View,
        actor: StackedHead,
        expert: Expert,
        config: CloningConfig,
        *,
        seed: int,
    ) -> None:
        """Open the task's environments.

        Args:
            task: Where the expert is watched.
            view: How rows of the task's table are seen.
            actor: (N, B, D + P) → logits of codes, or one or two numbers; see `chosen_action`.
                Trained in place.
            expert: What is imitated.
            config: Settings.
            seed: Root of the streams `shuffle` and `acting`.

        Raises:
            ConfigError: If the actor's outputs do not fit the task's actions.
        """
        _check_outputs(actor, task.action, config)
        self.task, self.config, self.actor = task, config, actor.to(task.table.device)
        self.steps, self.updates = 0, 0
        self._view, self._expert = view, expert
        device = task.table.device
        self._shuffle = make_generator(seed, "cloning", "shuffle", device=device)
        self._acting = make_generator(seed, "cloning", "acting", device=device)
        learns = [p for p in view.parameters() if p.requires_grad] if config.train_view else []
        self._optimiser = torch.optim.AdamW(
            [*actor.parameters(), *learns], lr=0.0, weight_decay=config.weight_decay
        )
        self._state, self._observation = task.begin()

    @property
    def finished(self) -> bool:
        """Whether all updates were made."""
        return self.updates >= self.config.updates

    def complete(
        self,
        report: Callable[[int, Metrics], None] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Update until it is finished; return whether it is.

        Args:
            report: Told (updates so far, metrics) after every update.
            interrupted: Asked before every update; true ends it where it is.
        """
        while not self.finished and not interrupted():
            metrics = self.update()
            if report is not None:
                report(self.updates, metrics)
        return self.finished

    def update(self) -> Metrics:
        """Watch the expert, then learn from it; agreement is of before the learning."""
        progress = min(1.0, self.updates / self.config.updates)
        rate = self.config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        watched = self._watch()
        metrics = self._compare(watched)
        metrics |= self._learn(watched)
        metrics["clone/learning_rate"] = torch.tensor(rate)
        if self.config.train_view:
            self._view.refresh()
        self.updates += 1
        self.steps += self.config.steps * self.task.n_envs
        return metrics

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return the actor's deterministic actions (N, B)."""
        x = torch.cat([self._view.look(observation.row), observation.private], dim=-1)
        return self._choose(self.actor(x), observation.allowed)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; see `Resumable`."""
        super().load_state(state)
        self._observation = self.task.observe(self._state)
        self._view.refresh()

    @torch.no_grad()
    def _watch(self) -> _Demonstrations:
        seen, done = [], []
        for _ in range(self.config.steps):
            observation = self._observation
            expert = self._expert(observation)
            made = self.task.step(self._state, self._mixed(observation, expert))
            seen.append(observation)
            done.append(expert)
            self._state, self._observation = made.state, made.observation
        row, private, allowed = (torch.stack(part, dim=1) for part in zip(*seen, strict=True))
        expert = torch.stack(done, dim=1)
        return _Demonstrations(*(part.flatten(1, 2) for part in (row, private, allowed, expert)))

    def _mixed(self, observation: Observation, expert: Tensor) -> Tensor:
        """Let the actor act in some of the steps, the expert in all others."""
        if not self.config.student_frac:
            return expert
        drawn = torch.rand(expert.shape, generator=self._acting, device=expert.device)
        return torch.where(drawn < self.config.student_frac, self.act(observation), expert)

    @torch.no_grad()
    def _compare(self, watched: _Demonstrations) -> Metrics:
        x = torch.cat([self._view.look(watched.row), watched.private], dim=-1)
        chosen = self._choose(self.actor(x), watched.allowed)
        tolerance = self.config.tolerance_frac
        return agreement(chosen, watched.expert, watched.allowed, self.task.action, tolerance)

    def _learn(self, watched: _Demonstrations) -> Metrics:
        weight = sample_weights(
            watched.allowed, watched.expert, self.task.action, self.config.balance
        )
        n_samples, device = weight.shape[1], weight.device
        losses, norms = [], []
        for _ in range(self.config.epochs):
            order = torch.randperm(n_samples, generator=self._shuffle, device=device)
            for chosen in order.chunk(self.config.minibatches):
                mini = _Demonstrations(*(part.index_select(1, chosen) for part in watched))
                loss, norm = self._step(mini, weight[:, chosen])
                losses.append(loss)
                norms.append(norm)
        return {
            "clone/loss": torch.stack(losses).mean(0),
            "clone/gradient_norm": torch.stack(norms).mean(),
            "clone/deviation": self.actor.penalty().detach(),
        }

    def _step(self, mini: _Demonstrations, weight: Tensor) -> tuple[Tensor, Tensor]:
        seen = self._view(mini.row) if self.config.train_view else self._view.look(mini.row)
        output = self.actor(torch.cat([seen, mini.private], dim=-1))
        action = self.task.action
        points = cloning_losses(output, mini.allowed, mini.expert, action, self.config)
        losses = (weight * points).mean(1)
        total = losses.mean() + self.config.deviation_penalty * self.actor.penalty().mean()
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        parameters = [p for group in self._optimiser.param_groups for p in group["params"]]
        norm = nn.utils.clip_grad_norm_(parameters, self.config.max_gradient_norm)
        self._optimiser.step()
        return losses.detach(), norm.detach()

    def _choose(self, output: Tensor, allowed: Tensor) -> Tensor:
        return chosen_action(output, allowed, self.task.action, self.config.squash_gain)


def _check_outputs(actor: StackedHead, action: ActionSpec, config: CloningConfig) -> None:
    if action.n_components:
        rule = "actions must be codes or single numbers to be imitated"
        raise ConfigError(rule, was=f"{action.kind} of {action.n_components} components")
    possible = (action.n_actions,) if action.n_actions else (1, 2)
    if not action.n_actions and config.number_loss == "log_prob":
        possible = (2,)
    if actor.n_outputs not in possible:
        rule = f"the actor must have {' or '.join(map(str, possible))} outputs for these actions"
        where = f"{action.kind} actions, number_loss {config.number_loss}"
        raise ConfigError(rule, was=actor.n_outputs, where=where)
