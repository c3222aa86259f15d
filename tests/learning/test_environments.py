"""Agents learn in every kind of environment: better than they began, on bars they did not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.learning.task import task_metrics
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.preparation import prepare_training_setup

pytestmark = pytest.mark.slow


def test_curriculum_is_climbed_and_what_was_learned_there_earns_on_the_runs_own_bars(
    tmp_path: Path,
) -> None:
    config = load_train_config("curriculum", {"budget.steps_per_agent": 65_536})
    data = open_data(config, tmp_path)
    setup = prepare_training_setup(config, data, seed=1)
    learner = setup.learner
    before = scores_on(choosing_bars(data), setup, data)

    for _ in range(32):
        learner.update()

    after = scores_on(choosing_bars(data), setup, data)
    told = task_metrics(learner.task, learner._state)
    assert told["curriculum/stage"].min() >= 1.0
    assert after["sharpe"].mean() > before["sharpe"].mean() + 2.0
    assert after["return_bp"].mean() > 0.5


def test_agents_learn_to_meet_goals(tmp_path: Path) -> None:
    config = load_train_config("goal", {"budget.steps_per_agent": 16_384})
    setup = prepare_training_setup(config, open_data(config, tmp_path), seed=1)
    rewards, success = [], []
    for _ in range(32):
        rewards.append(float(setup.learner.update().metrics["rollout/reward"].mean()))
        told = task_metrics(setup.learner.task, setup.learner._state)
        success.append(float(told["goal/success"].mean()))

    # An episode is four updates long.
    assert sum(rewards[-8:]) / 8 > sum(rewards[:4]) / 4 + 0.1
    assert sum(success[-8:]) / 8 > success[4] + 0.1


def test_master_learns_where_capital_earns(tmp_path: Path) -> None:
    config = load_train_config("portfolio")
    data = open_data(config, tmp_path)
    setup = prepare_training_setup(config, data, seed=1)
    before = scores_on(choosing_bars(data), setup, data)
    for _ in range(64):
        setup.learner.update()

    after = scores_on(choosing_bars(data), setup, data)
    assert after["sharpe"].item() > before["sharpe"].item() + 1.0
    assert after["return_bp"].item() > before["return_bp"].item() + 0.5
