"""A policy that looks one bar ahead is caught; one that does not is not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents.policy import Seen
from tradingbot.app.evaluation import subject as subject_module
from tradingbot.app.evaluation.leak_check_piece import compare_replays, with_other_future
from tradingbot.app.evaluation.piece import Given
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training.data import TrainingData
from tradingbot.envs.world import World


@dataclass(frozen=True, eq=False)
class Looking:
    """Wants a position where the first feature is above 0, so many bars from now."""

    world: World
    ahead: int

    def __call__(self, seen: Seen) -> Tensor:
        features = torch.from_numpy(np.array(self.world.features[..., 0])).reshape(-1)
        row = (seen.row + self.ahead).clamp(max=len(features) - 1)
        return (features[row] > 0.0).to(seen.private.dtype)


def looking(subject: Subject, ahead: int, monkeypatch: pytest.MonkeyPatch) -> Subject:
    def open_policy(_run: object, data: TrainingData, **_: object) -> Looking:
        return Looking(data.world, ahead)

    monkeypatch.setattr(subject_module, "open_policy", open_policy)
    return replace(subject, policy=Looking(subject.data.world, ahead))


def test_trained_policy_does_not_depend_on_the_future(subject: Subject) -> None:
    compared, changed = compare_replays(Given(subject), cuts=3)

    assert compared > 3 * len(subject.data.world.symbols)
    assert changed == 0


def test_encoder_and_policy_together_do_not_depend_on_the_future(ppo_subject: Subject) -> None:
    assert compare_replays(Given(ppo_subject), cuts=1)[1] == 0


@pytest.mark.parametrize(("ahead", "is_caught"), [(0, False), (1, True)])
def test_policy_is_caught_if_and_only_if_it_looks_ahead(
    subject: Subject, ahead: int, is_caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, changed = compare_replays(Given(looking(subject, ahead, monkeypatch)), cuts=6)

    assert bool(changed) == is_caught


def test_other_future_changes_everything_later_and_nothing_before(subject: Subject) -> None:
    world = subject.data.world
    cut = world.n_bars // 2

    other = with_other_future(world, cut)

    for name in ("prices", "features", "regimes", "probabilities", "present", "usable"):
        before, after = getattr(world, name), getattr(other, name)
        np.testing.assert_array_equal(before[:, : cut + 1], after[:, : cut + 1])
    assert (other.prices[:, cut + 1 :, 3] != world.prices[:, cut + 1 :, 3]).mean() > 0.99
    assert (other.features[:, cut + 1] != world.features[:, cut + 1]).mean() > 0.5
