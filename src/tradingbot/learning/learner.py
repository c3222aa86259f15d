"""What a learner is to the trainer, the recorder and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from tradingbot.learning.task import Observation, Task, TaskStep

Metrics = dict[str, Tensor]
"""Name (`loss/policy`, `policy/entropy` …) → (N,) or () on the learner's device; each name is
explained on the learner's page in `docs/algorithms`."""


class Experience(NamedTuple):
    """What the flight recorder reads of one update's experience; S steps of B environments."""

    selected: Tensor
    """(S, N, B) actions the policy chose, with its exploration; codes or numbers; or (S, N, B, K)
    vectors."""
    executed: Tensor
    """(S, N, B) int64 codes that were carried out."""
    traded: Tensor
    """(S, N, B) bool"""
    reward: Tensor
    """(S, N, B)"""
    terms: Tensor
    """(K, N, B) reward terms, summed over the steps."""
    turnover: Tensor = torch.empty(0)
    """(S, N, B) value that changed hands, of what environments were worth; −1 where an episode
    ended. Empty where the task does not tell."""

    def copy(self) -> Experience:
        """Return tensors that nothing else writes."""
        return Experience(*(part.clone() for part in self))


def mean_terms(names: Sequence[str], experience: Experience) -> Metrics:
    """Return what each reward term paid per step, weighted, with exploration: `reward/<term>`.

    Their sum is the mean reward.

    Args:
        names: K names, `Task.term_names`.
        experience: Of one update.
    """
    means = experience.terms.mean(-1) / len(experience.reward)
    return {f"reward/{name}": mean for name, mean in zip(names, means, strict=True)}


def experience_of(made: Sequence[tuple[Tensor, TaskStep]]) -> Experience:
    """Lay out actions and what they led to, step by step, without gradients."""
    columns = [
        (action.detach(), step.executed, step.traded, step.reward.detach(), step.terms.detach())
        for action, step in made
    ]
    selected, executed, traded, reward, terms = (
        torch.stack(column) for column in zip(*columns, strict=True)
    )
    told = [step.turnover for _, step in made if step.turnover is not None]
    turnover = (torch.stack(told).detach(),) if told else ()
    return Experience(selected, executed, traded, reward, terms.sum(0), *turnover)


class Update(NamedTuple):
    """What one update reports."""

    metrics: Metrics
    experience: Experience


class Learner(Protocol):
    """Learns a task; the same seed and task give the same bits on a CPU."""

    name: str
    """As `learning.catalogue` knows it."""
    task: Task
    steps: int
    """Environment steps per agent so far."""
    updates: int
    """Calls of `update` so far."""

    def update(self) -> Update:
        """Collect experience and learn from it once."""

    def act(self, observation: Observation) -> Tensor:
        """Return deterministic actions, (N, B) or (N, B, K)."""

    def sample(self, observation: Observation) -> Tensor:
        """Return actions, (N, B) or (N, B, K), drawn with the learner's own generator."""

    def networks(self) -> Mapping[str, nn.Module]:
        """What acting needs, by name; the weights that checkpoints call the agent."""

    def state(self) -> dict[str, Tensor]:
        """Everything that resuming bit for bit needs, as named tensors.

        Weights, optimiser, generators, replay, the task's state, counters, schedules.
        """

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned.

        Raises:
            ConfigError: If a tensor is missing, superfluous, or of another shape or format.
        """

    def set_entropy_scale(self, scale: Tensor) -> None:
        """Multiply the entropy bonus of each agent, (N,), until told otherwise; part of `state`."""

    def set_learning_rate_scale(self, scale: float) -> None:
        """Multiply the learning rate until told otherwise; part of `state`."""

    def set_agent_weight(self, weight: Tensor) -> None:
        """Multiply each agent's part (N,) of what is learned until told otherwise; 1 at first.

        An agent of weight 0 moves nothing that agents share. No part of `state`: the caller
        sets it again after `load_state`.
        """

    def explore_anew(self, number: int) -> None:
        """Draw exploration from another stream, the one of this number, from now on."""
