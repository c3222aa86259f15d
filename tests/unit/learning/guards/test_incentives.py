"""Sabotaged incentives are told, with a remedy. Learner, curiosity and weights are real."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.curiosity.transform import Curiosity
from tradingbot.learning.guards import AlarmLevel, Diagnosis, FlightRecorder, GuardConfig
from tradingbot.learning.guards.execution import measure_execution
from tradingbot.learning.learner import Experience
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.objectives.transform import LearnedObjectives, Objectives
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.reward_transform import RewardTransform
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
CONFIG = PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=1, minibatch=16)
GUARDS = GuardConfig(warm_up_steps=0, warm_up_updates=0, probe_every=0)


def told(
    task: SignalTask, transform: RewardTransform, code: str, updates: int = 11
) -> list[Diagnosis]:
    learner = PPO(task, TableView(task.table), CONFIG, seed=1, reward_transform=transform)
    recorder = FlightRecorder(task, GUARDS)
    report = [recorder.watch(learner, learner.update()) for _ in range(updates)][-1]
    return [each for each in report.verdicts if each.code == code]


@pytest.mark.parametrize(("share", "is_told"), [(0.1, False), (0.9, True)])
def test_bonus_that_dominates_is_told(share: float, is_told: bool) -> None:
    task = SignalTask(2, 4)
    config = CuriosityConfig(mix=0.8, max_share=share, hidden=(8,), n_features=8, warm_up=0)

    found = told(task, Curiosity(task, config, seed=1), "INTRINSIC_DOMINATES")

    assert bool(found) is is_told
    if is_told:
        assert min(each.severity for each in found) >= AlarmLevel.WARNING
        assert "bonus for surprise" in found[0].words
        assert "Lower curiosity.mix" in found[0].remedy


@pytest.mark.parametrize("is_told", [False, True])
def test_objective_that_takes_all_it_may_is_told(is_told: bool) -> None:
    task = SignalTask(2, 4)
    volatile = torch.zeros(task.table[..., 0].numel(), dtype=torch.bool)
    objectives = Objectives(("profit", "risk"), (0, 1), (0.5, 0.5), growth=0, volatile=volatile)
    config = replace(ObjectivesConfig(enabled=True, hidden=(8,)), learning_rate=1e-6)
    weighed = LearnedObjectives(task, objectives, config, discount=0.9, seed=1)
    if is_told:  # sabotage: one weight is all there is
        with torch.no_grad():
            weighed.weights.head.biases[-1][..., 0] += 9.0

    found = told(task, weighed, "ONE_OBJECTIVE")

    assert bool(found) is is_told
    if is_told:
        assert "one objective weighs 60 %" in found[0].words
        assert "objectives.pull" in found[0].remedy


def test_actions_are_counted_and_compared_with_what_was_executed() -> None:
    selected = torch.zeros(200, 2, 1, dtype=torch.int64)
    selected[:100, 0] = 3  # 80 steps before the last 120 begin, so 20 of them are within
    selected[-1, 1] = 2
    selected[:50, 1] = 1  # too long ago to count
    executed = selected.clone()
    executed[-20:, 0] = 1
    flat = torch.zeros(200, 2, 1)
    experience = Experience(selected, executed, flat.bool(), flat, torch.zeros(1, 2, 1))

    found = measure_execution(experience, ActionSpec("discrete", 4))
    short = measure_execution(
        experience._replace(selected=selected[:119], executed=executed[:119]),
        ActionSpec("discrete", 4),
    )

    assert found["rollout/distinct_actions"].tolist() == [2.0, 2.0]
    assert found["rollout/violations"].tolist() == pytest.approx([0.1, 0.0])
    assert found["rollout/executed_gap"].tolist() == pytest.approx([0.1, 0.0])
    assert short["rollout/distinct_actions"].isnan().all()
    numbers = measure_execution(experience, ActionSpec())
    assert numbers["rollout/violations"].isnan().all()
