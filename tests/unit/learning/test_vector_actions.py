"""Vectors of K numbers: the best is found, K = 1 is a number to the last bit, all of it resumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import AllocationTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.guards import FlightRecorder, GuardConfig
from tradingbot.learning.learner import Learner
from tradingbot.learning.playing import play, score
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.replay import Replay, Transitions
from tradingbot.learning.rollout import allocate_rollout
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.learning.shrinkage import staying_out
from tradingbot.learning.task import ActionSpec, idle_action
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

BOX, SIMPLEX = ActionSpec("box", 0, -1.0, 1.0, 3), ActionSpec.simplex(3)
BEST = {
    "box": torch.tensor([[0.5, -0.4, 0.1], [-0.6, 0.2, 0.7]]),
    "simplex": torch.tensor([[0.6, 0.3, 0.1], [0.15, 0.25, 0.6]]),
}
HEAD, DEEP = HeadConfig(hidden=(16,)), HeadConfig(hidden=(32, 32), activation="relu")
CONFIGS: dict[str, Any] = {
    "ppo": PPOConfig(
        actor=HEAD,
        critic=HEAD,
        rollout_steps=16,
        n_epochs=4,
        minibatch=128,
        discount=0.0,
        learning_rate=Schedule("cosine", 0.02, 0.0, over=25 * 256),
        kl_stop=0.0,
        initial_std=0.4,
        entropy=EntropyConfig(coefficient=constant(0.0), target=0.0, floor=0.0, guard_entropy=0.0),
    ),
    "sac": SACConfig(
        actor=DEEP,
        critic=replace(DEEP, output_gain=1.0),
        learning_rate=constant(0.01),
        temperature=0.02,
        tune_temperature=False,
        batch_size=64,
        warm_up=64,
        discount=0.0,
        steps_per_update=16,
        scale_rewards=False,
    ),
    "direct": DirectConfig(
        actor=HEAD,
        objective="reward",
        chunk_bars=4,
        act_levels=0,
        weight_decay=0.0,
        learning_rate=Schedule("constant", 0.03),
    ),
}
UPDATES = {"ppo": 25, "sac": 25, "direct": 30}


def make(name: str, action: ActionSpec, best: Tensor, seed: int = 1, **options: Any) -> Learner:
    task = AllocationTask(action, best, **options)
    return learner_spec(name).build(task, TableView(task.table), CONFIGS[name], seed=seed)


def worst_error(learner: Learner) -> float:
    """Return the largest distance of a component from the best one, over both contexts."""
    task = learner.task
    assert isinstance(task, AllocationTask)
    _, seen = task.begin()
    return float((learner.act(seen) - task.best[seen.row % 2]).abs().max())


@pytest.mark.parametrize(
    ("name", "action"),
    [("ppo", BOX), ("sac", BOX), ("direct", BOX), ("ppo", SIMPLEX), ("direct", SIMPLEX)],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_learner_finds_the_best_vector_of_each_context(name: str, action: ActionSpec) -> None:
    learner = make(name, action, BEST[action.kind])
    before = worst_error(learner)

    for _ in range(UPDATES[name]):
        update = learner.update()

    assert worst_error(learner) < 0.08 < 0.2 < before
    _, seen = learner.task.begin()
    for chosen in (learner.act(seen), learner.sample(seen)):
        assert chosen.shape == (1, 16, 3)
        assert float(chosen.min()) >= action.low
        assert float(chosen.max()) <= action.high
        if action.kind == "simplex":
            torch.testing.assert_close(chosen.sum(-1), torch.ones(1, 16))
    assert update.experience.selected.shape[1:] == (1, 16, 3)
    assert {tuple(metric.shape) for metric in update.metrics.values()} <= {(), (1,)}
    assert (
        0.0 < float(update.metrics.get("policy/normalised_entropy", torch.tensor(0.5)).max()) < 1.0
    )


@pytest.mark.parametrize("name", ["ppo", "sac", "direct"])
def test_vector_of_one_number_is_that_number_to_the_last_bit(name: str) -> None:
    best = torch.tensor([[0.5], [-0.4]])
    states = []
    for n_components in (0, 1):
        action = ActionSpec("box", 0, -1.0, 1.0, n_components)
        learner = make(name, action, best, n_agents=2, n_envs=4)
        for _ in range(6):
            learner.update()
        _, seen = learner.task.begin()
        states.append(learner.state() | {"act": learner.act(seen).view(2, 4)})

    assert states[0].keys() == states[1].keys()
    for key, tensor in states[0].items():
        assert torch.equal(tensor.reshape(-1), states[1][key].reshape(-1)), key


@pytest.mark.parametrize(
    ("name", "action"),
    [("ppo", BOX), ("sac", BOX), ("direct", BOX), ("ppo", SIMPLEX), ("direct", SIMPLEX)],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_vector_learner_resumes_to_the_same_bits(name: str, action: ActionSpec) -> None:
    whole, resumed = (make(name, action, BEST[action.kind], seed, n_envs=8) for seed in (1, 9))
    for _ in range(5):
        whole.update()
    resumed.load_state(whole.state())
    for learner in (whole, resumed):
        for _ in range(2):
            learner.update()

    assert all(torch.equal(tensor, resumed.state()[key]) for key, tensor in whole.state().items())


def test_sac_refuses_weights_on_a_simplex() -> None:
    task = AllocationTask(SIMPLEX, BEST["simplex"])
    with pytest.raises(ConfigError, match=r"actions must be numbers for SAC, was simplex"):
        SAC(task, TableView(task.table), SACConfig(), seed=1)


def test_rounded_weights_still_sum_to_one() -> None:
    task = AllocationTask(SIMPLEX, BEST["simplex"])
    config = DirectConfig(actor=HEAD, objective="reward", chunk_bars=4)  # two levels: all in one
    learner = learner_spec("direct").build(task, TableView(task.table), config, seed=1)
    _, seen = task.begin()

    chosen = learner.act(seen)

    assert sorted(chosen.unique().tolist()) == [0.0, 1.0]
    torch.testing.assert_close(chosen.sum(-1), torch.ones(1, 16))


@pytest.mark.parametrize("action", [BOX, SIMPLEX], ids=["box", "simplex"])
def test_rollouts_and_replay_carry_the_axis(action: ActionSpec) -> None:
    task = AllocationTask(action, BEST[action.kind], n_agents=2, n_envs=3)
    rollout = allocate_rollout(task, 5)
    assert rollout.action.shape == (5, 2, 3, 3)
    assert rollout.drawn.shape == (5, 2, 3, 2 if action.kind == "simplex" else 3)

    replay = Replay(2, 3, 1, capacity=12, n_components=3)
    step = Transitions(
        row=torch.zeros(2, 3, dtype=torch.int64),
        private=torch.zeros(2, 3, 1),
        action=torch.rand(2, 3, 3),
        reward=torch.rand(2, 3),
        continues=torch.ones(2, 3),
        final_row=torch.ones(2, 3, dtype=torch.int64),
        final_private=torch.zeros(2, 3, 1),
    )
    replay.insert(step)
    drawn = replay.sample(64, torch.Generator().manual_seed(1))
    assert drawn.action.shape == (2, 64, 3)
    for agent in range(2):
        known = {
            tuple(row)
            for row in torch.cat([step.action, step.reward[..., None]], -1)[agent].tolist()
        }
        found = torch.cat([drawn.action, drawn.reward[..., None]], -1)[agent].tolist()
        assert {tuple(row) for row in found} == known


def test_plays_the_recorder_and_staying_out_take_vectors() -> None:
    learner = make("ppo", SIMPLEX, BEST["simplex"], n_agents=2, n_envs=4)
    task = learner.task
    played = play(task, learner.act, 6)
    figures = score(played, task.action, bars_per_year=252.0)
    assert figures["histogram"].shape == (2, 7)
    torch.testing.assert_close(figures["histogram"].sum(1), torch.ones(2, dtype=torch.float64))
    assert bool((figures["highest"] <= 1.0).all())

    recorder = FlightRecorder(task, GuardConfig())
    for _ in range(2):
        report = recorder.watch(learner, learner.update(), sound=True)
    assert report.healthy

    _, seen = task.begin()
    act = staying_out(learner.act, torch.tensor([True, False]), task.action)
    assert torch.equal(act(seen)[0], learner.act(seen)[0])
    assert act(seen)[1].tolist() == [[0.0, 0.0, 1.0]] * 4  # all in the last weight, e.g. cash


def test_idle_action_is_next_to_nothing_in_every_kind() -> None:
    row = torch.zeros(2, 3, dtype=torch.int64)
    assert idle_action(ActionSpec("discrete", 4), row, torch.float32).dtype == torch.int64
    assert idle_action(ActionSpec("box", 0, 0.5, 2.0), row, torch.float32).unique().tolist() == [
        0.5
    ]
    assert idle_action(BOX, row, torch.float32).shape == (2, 3, 3)
    assert idle_action(SIMPLEX, row, torch.float64).sum(-1).unique().tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("simplex", 0, 0.0, 1.0, 1), "2 components or more"),
        (("simplex", 0, -1.0, 1.0, 3), "in \\[0, 1\\]"),
        (("discrete", 4, -1.0, 1.0, 3), "n_components must be 0 for discrete"),
        (("box", 0, -1.0, 1.0, -1), "n_components must be 0 or more"),
        (("cube",), "kind must be discrete, box or simplex"),
    ],
)
def test_space_that_cannot_be_is_refused(arguments: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        ActionSpec(*arguments)
