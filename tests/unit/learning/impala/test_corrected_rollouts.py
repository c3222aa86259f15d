"""What IMPALA makes of a rollout before it learns: limits of V-trace, units, memory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.impala_learners import LOCAL, build
from tradingbot.executors.executor import InlineExecutor, OpenWork, WorkItem
from tradingbot.executors.workers import workers_by
from tradingbot.learning.impala.improvement import Corrected
from tradingbot.learning.impala.learner import IMPALA
from tradingbot.learning.rollout import Rollout
from tradingbot.learning.value_targets import vtrace


def rollout_of(learner: IMPALA) -> Rollout:
    """A rollout whose probabilities are up to e times those of today, and down to 1 ÷ e."""
    actors = learner._open_actors()
    actors.ask(learner._orders.order(0, learner._state))
    made = actors.next().rollout
    log_prob = made.log_prob
    behind = torch.linspace(-1.0, 1.0, log_prob.numel()).view_as(log_prob)
    return made._replace(log_prob=log_prob + behind)


def test_each_limit_of_ratios_is_where_it_is_set() -> None:
    learner = build(replace(LOCAL, actors=1, ratio_clip=1.6, trace_clip=0.4))
    made = rollout_of(learner)

    with torch.no_grad():
        found, now, _ = learner._correct(made)
        values = [
            learner._improver.value(row, private)
            for row, private in ((made.row, made.private), (made.final_row, made.final_private))
        ]
        given = (now - made.log_prob, made.reward, *values, made.terminated, made.truncated)
        expected, swapped = (
            vtrace(*given, discount=0.99, decay=1.0, ratio_clip=ratio, trace_clip=trace)
            for ratio, trace in ((1.6, 0.4), (0.4, 1.6))
        )

    torch.testing.assert_close(found.target, expected.target)
    assert not torch.allclose(expected.target, swapped.target)


def test_critics_learn_targets_in_the_units_that_these_targets_have_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = build(replace(LOCAL, actors=1))
    kept: list[Tensor] = []
    improve = learner._improver.improve

    def noted(corrected: Corrected, **options: Any) -> Any:
        kept.append(corrected.target)
        return improve(corrected, **options)

    monkeypatch.setattr(learner._improver, "improve", noted)
    learner.update()

    # Of the first batch: mean 0 and deviation 1 for each agent, whatever rewards are measured in.
    target = kept[0].transpose(0, 1).flatten(1)
    torch.testing.assert_close(target.mean(1), torch.zeros(2), rtol=0.0, atol=1e-3)
    torch.testing.assert_close(target.std(1, correction=0), torch.ones(2), rtol=1e-2, atol=0.0)


class NewestFirst(InlineExecutor):
    """Carries out in this process what was asked for last."""

    def submit(self, item: WorkItem) -> None:
        super().submit(item)
        self._waiting.rotate(1)


@contextmanager
def newest_first(open_work: OpenWork, count: int) -> Iterator[NewestFirst]:
    yield NewestFirst(open_work())


def test_rollouts_of_one_actor_that_was_there_twice_are_both_learned_from() -> None:
    with workers_by(newest_first):
        learner = build(replace(LOCAL, in_processes=True, asynchronous=True))
        told = learner.update().experience

    first, second = told.reward.chunk(2, dim=2)
    assert not torch.equal(first, second)
    assert not torch.equal(told.selected[..., :2], told.selected[..., 2:])
