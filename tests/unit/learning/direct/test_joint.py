"""Learners that make their updates as one tensor program make those that they make alone."""

from __future__ import annotations

import threading

import pytest
import torch

from fixtures.tiny_training import tiny_config
from tradingbot.learning.direct.joint import JointDirect, can_join
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.task import keep_lanes
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.setup import build_training_setup
from tradingbot.tuning.joint_trials import UpdateMeeting

UPDATES = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    return open_data(tiny_config(), tmp_path_factory.mktemp("data"))


def learner_of(data: TrainingData, place: int, pooling: str, **more: object) -> Direct:
    """Return a learner that differs from others in seed, rate, decay, penalty and gain."""
    changes: dict[str, object] = {
        "learner.direct.learning_rate.first": 0.002 * (place + 1),
        "learner.direct.weight_decay": 0.01 * place,
        "learner.direct.deviation_penalty": 0.05 * (place + 1),
        "learner.direct.squash_gain": 2.0 + place,
        "learner.direct.max_gradient_norm": 0.1 * (place + 1),
        "learner.direct.actor.pooling": pooling,
        **more,
    }
    config = override_config(tiny_config(), changes)
    learner = build_training_setup(config, data, seed=place).learner
    assert isinstance(learner, Direct)
    return learner


def meet(learners: list[Direct], updates: int) -> None:
    """Make updates as trials do; all arrive from one thread each."""
    meeting = UpdateMeeting(learners)

    def train(place: int) -> None:
        for _ in range(updates):
            learners[place].update()
        meeting.leave(place)

    threads = [threading.Thread(target=train, args=(place,)) for place in range(len(learners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_joint_updates_are_those_of_each_learner_alone(data: TrainingData, pooling: str) -> None:
    alone = [learner_of(data, place, pooling) for place in range(3)]
    together = [learner_of(data, place, pooling) for place in range(3)]
    for learner in alone:
        for _ in range(UPDATES):
            made = learner.update()
            assert made.experience.reward.shape[1:] == (2, learner.task.n_envs)

    meet(together, UPDATES)

    for mine, theirs in zip(together, alone, strict=True):
        assert (mine.updates, mine.steps) == (theirs.updates, theirs.steps)
        states = zip(mine.state().items(), theirs.state().items(), strict=True)
        for (name, own), (_, other) in states:
            if own.is_floating_point():
                torch.testing.assert_close(own, other, rtol=2e-4, atol=2e-5, msg=name)
            else:
                assert torch.equal(own, other), name


def test_learners_of_different_seeds_do_not_move_each_other(data: TrainingData) -> None:
    first, other = learner_of(data, 0, "partial"), learner_of(data, 1, "partial")
    beside = learner_of(data, 2, "partial")
    again, another = learner_of(data, 0, "partial"), learner_of(data, 1, "partial")

    meet([first, other], 2)
    meet([again, beside, another], 2)

    for mine, theirs in ((first, again), (other, another)):
        for own, same in zip(
            mine.networks()["actor"].parameters(),
            theirs.networks()["actor"].parameters(),
            strict=True,
        ):
            torch.testing.assert_close(own, same, rtol=1e-4, atol=1e-6)


def test_learner_that_leaves_lets_the_others_go_on(data: TrainingData) -> None:
    stays, leaves = learner_of(data, 0, "partial"), learner_of(data, 1, "partial")
    alone = learner_of(data, 0, "partial")
    for _ in range(4):
        alone.update()
    meeting = UpdateMeeting([stays, leaves])

    def train(learner: Direct, place: int, updates: int) -> None:
        for _ in range(updates):
            learner.update()
        meeting.leave(place)

    threads = [
        threading.Thread(target=train, args=each) for each in ((stays, 0, 4), (leaves, 1, 1))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (stays.updates, leaves.updates) == (4, 1)
    for own, same in zip(
        stays.networks()["actor"].parameters(), alone.networks()["actor"].parameters(), strict=True
    ):
        torch.testing.assert_close(own, same, rtol=1e-4, atol=1e-6)


def test_environments_of_joined_tasks_begin_as_their_own(data: TrainingData) -> None:
    first, other = learner_of(data, 0, "partial"), learner_of(data, 1, "partial")
    joined = JointDirect([first, other])._task

    state, _ = joined.begin()

    for place, learner in enumerate((first, other)):
        own, _ = learner.task.begin()
        count = learner.task.n_envs
        for part, mine in zip(own, state, strict=True):
            assert torch.equal(part, keep_lanes(mine, 2, place * count, count))


@pytest.mark.parametrize(
    "change",
    [
        {"learner.direct.chunk_bars": 2},
        {"learner.direct.actor.hidden": [8]},
        {"learner.direct.objective": "sharpe"},
        {"learner.direct.fold_bars": 50},
        {"budget.n_envs": 3},
    ],
)
def test_learners_of_other_shapes_are_not_joined(
    data: TrainingData, change: dict[str, object]
) -> None:
    first = learner_of(data, 0, "partial")

    assert can_join(first, learner_of(data, 1, "partial"))
    assert not can_join(first, learner_of(data, 1, "partial", **change))


def test_failure_of_an_update_reaches_every_learner(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    learners = [learner_of(data, place, "partial") for place in range(2)]
    meeting = UpdateMeeting(learners)

    def fail(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(learners[0], "loss_of", fail)
    failed: list[Exception] = []

    def train(place: int) -> None:
        try:
            learners[place].update()
        except Exception as e:
            failed.append(e)
        meeting.leave(place)

    threads = [threading.Thread(target=train, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [str(each) for each in failed] == ["no memory"] * 2
