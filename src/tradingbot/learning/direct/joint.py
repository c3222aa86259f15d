"""Several direct learners as one tensor program: seeds and settings beside each other.

The market does not react, so learners of one task can be played in one: lanes of learner m come
after those of learner m − 1. Heads are stacked on an axis of learners and gradients flow back to
each learner's own weights; clipping, decay, rates and Adam stay each learner's own. What a learner
makes of an update is what it would have made alone, up to the order in which products are summed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tradingbot.learning.direct.learner import Direct, play_chunk
from tradingbot.learning.es.members import member_outputs
from tradingbot.learning.joined_tasks import join_tasks, keep_step
from tradingbot.learning.learner import Update
from tradingbot.learning.task import Observation, TaskStep, join_lanes
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView

_Steps = list[tuple[Tensor, TaskStep]]
"""Actions of a chunk, and what they led to."""


def can_join(first: Direct, other: Direct) -> bool:
    """Tell whether two learners can be one program: shapes agree, and heads alone learn.

    Rates, decay, penalties, clipping, gain and seeds may differ.
    """
    heads = [each.networks()["actor"] for each in (first, other)]
    if not all(isinstance(head, StackedHead) for head in heads):
        return False
    mine, theirs = first.config, other.config
    return (
        mine.actor == theirs.actor
        and (mine.chunk_bars, mine.objective) == (theirs.chunk_bars, theirs.objective)
        and not (mine.fold_bars or theirs.fold_bars)
        and _see_the_same(first, other)
        and first.device.type == "cpu"  # on CUDA an update of one is a graph already
    )


def _see_the_same(first: Direct, other: Direct) -> bool:
    mine, theirs = first.view, other.view
    tasks = (first.task, other.task)
    return (
        isinstance(mine, TableView)
        and isinstance(theirs, TableView)
        and tasks[0].n_envs == tasks[1].n_envs
        and tasks[0].agent_names == tasks[1].agent_names
        and tasks[0].action == tasks[1].action
        and not tasks[0].action.n_components
        and hasattr(tasks[0], "joined")
        and torch.equal(torch.as_tensor(mine.table), torch.as_tensor(theirs.table))
    )


class JointDirect:
    """Makes one update of several learners at once."""

    def __init__(self, learners: Sequence[Direct]) -> None:
        """Join the tasks of learners that `can_join`."""
        self.learners = tuple(learners)
        self._n_envs = learners[0].task.n_envs
        self._task = join_tasks([each.task for each in learners])
        heads = [each.networks()["actor"] for each in learners]
        self._heads = [head for head in heads if isinstance(head, StackedHead)]
        gains = torch.tensor([each.config.squash_gain for each in learners])
        self._gain = gains.repeat_interleave(self._n_envs)

    def update(self) -> tuple[Update, ...]:
        """Play a chunk of all learners, follow each one's gradient; counters are not touched."""
        n_agents = len(self._task.agent_names)
        states = zip(*(each.state_now for each in self.learners), strict=True)
        state = tuple(join_lanes(parts, n_agents) for parts in states)
        members = _stack_weights(self._heads)
        view, space = self.learners[0].view, self._task.action

        def act(seen: Observation) -> Tensor:
            x = torch.cat([view(seen.row), seen.private], dim=-1)
            output = self._gain * member_outputs(self._heads[0], members, x).squeeze(-1)
            return space.low + (space.high - space.low) * torch.sigmoid(output)

        made, growth = play_chunk(self._task, state, act, self.learners[0].config.chunk_bars)
        own = []
        for place in range(len(self.learners)):
            first, count = place * self._n_envs, self._n_envs
            steps = [
                (action.narrow(1, first, count), keep_step(step, n_agents, first, count))
                for action, step in made
            ]
            own.append((steps, growth.narrow(2, first, count)))
        return self._follow(own)

    def _follow(self, own: Sequence[tuple[_Steps, Tensor]]) -> tuple[Update, ...]:
        found = [
            learner.loss_of(steps, growth)
            for learner, (steps, growth) in zip(self.learners, own, strict=True)
        ]
        for learner in self.learners:
            learner.clear_gradients()
        # Each loss has a gradient toward its own learner's weights alone.
        torch.stack([loss for _, loss in found]).sum().backward()  # type: ignore[no-untyped-call]
        return tuple(
            learner.follow(steps, growth, worth)
            for learner, (steps, growth), (worth, _) in zip(self.learners, own, found, strict=True)
        )


def _stack_weights(heads: Sequence[StackedHead]) -> dict[str, Tensor]:
    """Stack parameters of equal heads, (M, …) each; gradients flow back to every head's own."""
    named = [dict(head.named_parameters()) for head in heads]
    return {name: torch.stack([own[name] for own in named]) for name in named[0]}
