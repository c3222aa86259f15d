"""Agents that stop keep what was theirs at their best time; the others learn on."""

from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.early_stopping import EarlyStopping, own_parameters
from tradingbot.learning.generators import make_generator
from tradingbot.learning.train_plan import StoppingConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead


def make_head(pooling: str = "partial") -> StackedHead:
    config = HeadConfig(hidden=(4,), pooling=pooling, n_directions=2)
    return StackedHead(3, 5, 1, config, make_generator(0, "head"))


def stopping_of(head: StackedHead, patience: int = 2, **more: float) -> EarlyStopping:
    return EarlyStopping({"actor": head}, 3, StoppingConfig(patience, **more))


def disturb(head: StackedHead, number: float) -> None:
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.fill_(number)


def test_agent_without_gain_stops_and_keeps_its_best_own_parameters() -> None:
    head = make_head()
    stopping = stopping_of(head)
    disturb(head, 1.0)
    stopping.judge(torch.tensor([1.0, 1.0, 1.0]), updates=1)
    disturb(head, 2.0)
    stopping.judge(torch.tensor([0.5, 1.5, 1.0]), updates=2)
    disturb(head, 3.0)
    gone = stopping.judge(torch.tensor([0.9, 1.6, 1.1]), updates=3)
    disturb(head, 4.0)
    stopping.hold()

    assert gone.tolist() == [True, False, False]
    assert head.deviations[0].tolist() == [1.0, 1.0]  # as at its best, the first evaluation
    assert head.deviations[1:].unique().tolist() == [4.0]
    assert head.weights[0].unique().tolist() == [4.0]  # what all share learns on


def test_stopped_agent_stays_stopped_whatever_it_scores_later() -> None:
    stopping = stopping_of(make_head(), patience=1)
    stopping.judge(torch.tensor([1.0, 1.0, 1.0]), updates=1)
    stopping.judge(torch.tensor([0.0, 2.0, 2.0]), updates=2)
    gone = stopping.judge(torch.tensor([9.0, 3.0, 3.0]), updates=3)

    assert stopping.stopped.tolist() == [True, False, False]
    assert not gone.any()
    assert stopping.best[0] == 1.0


def test_nan_score_is_no_improvement() -> None:
    stopping = stopping_of(make_head(), patience=1)
    stopping.judge(torch.tensor([float("nan"), 1.0, 1.0]), updates=1)

    assert stopping.stopped.tolist() == [True, False, False]
    assert stopping.best[0] == -float("inf")


def test_patience_zero_never_stops_and_early_scores_do_not_count() -> None:
    endless, late = stopping_of(make_head(), 0), stopping_of(make_head(), 1, first_updates=5)
    for updates in range(1, 5):
        endless.judge(torch.zeros(3), updates=updates)
        late.judge(torch.zeros(3), updates=updates)

    assert not endless.stopped.any()
    assert not late.stopped.any()
    assert late.best.eq(-float("inf")).all()


def test_min_gain_is_what_counts_as_better() -> None:
    stopping = stopping_of(make_head(), 1, min_gain=0.5)
    stopping.judge(torch.tensor([1.0, 1.0, 1.0]), updates=1)
    stopping.judge(torch.tensor([1.4, 1.6, 1.0]), updates=2)

    assert stopping.stopped.tolist() == [True, False, True]


def test_state_restored_elsewhere_holds_the_same_parameters() -> None:
    first = make_head()
    stopping = stopping_of(first, patience=1)
    disturb(first, 1.0)
    stopping.judge(torch.tensor([1.0, 1.0, 1.0]), updates=1)
    stopping.judge(torch.tensor([0.0, 2.0, 2.0]), updates=2)

    second = make_head()
    resumed = stopping_of(second, patience=1)
    resumed.load_state(stopping.state())
    disturb(second, 7.0)
    resumed.hold()

    assert resumed.stopped.tolist() == [True, False, False]
    assert second.deviations[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("pooling", "count"), [("partial", 1), ("pooled", 0), ("independent", 4)])
def test_own_parameters_follow_the_pooling(pooling: str, count: int) -> None:
    own = own_parameters({"actor": make_head(pooling)})

    assert len(own) == count
    assert all(parameter.shape[0] == 3 for parameter in own.values())


def test_negative_patience_is_refused() -> None:
    with pytest.raises(ConfigError, match="patience must be 0 or more"):
        StoppingConfig(-1)
