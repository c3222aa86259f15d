"""Curiosity, shaping and objectives by configuration: one line each, together, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.setup import TrainingSetup, build_training_setup

TINY: dict[str, Any] = {"market.start": "2025-06-10", "budget.n_envs": 2, "task.private": []}
LEARNERS: dict[str, dict[str, Any]] = {
    "ppo": {"rollout_steps": 8, "minibatch": 8, "n_epochs": 1},
    "sac": {"steps_per_update": 8, "warm_up": 8, "batch_size": 8, "buffer_size": 64},
}
TOOLS: dict[str, Any] = {
    "curiosity.mix": 0.1,
    "shaping.weight": 0.1,
    "objectives.enabled": True,
    "task.reward": "objectives",
}


def setup_of(learner: str, tmp_path: Path, options: dict[str, Any]) -> TrainingSetup:
    small = {f"learner.{learner}.{key}": value for key, value in LEARNERS[learner].items()}
    config = load_train_config("quick", TINY | small | {"learner.name": learner} | options)
    return build_training_setup(config, open_data(config, tmp_path), seed=1)


@pytest.mark.parametrize("learner", ["ppo", "sac"])
def test_all_tools_together_learn_in_a_run(learner: str, tmp_path: Path) -> None:
    setup = setup_of(learner, tmp_path, TOOLS)

    setup.learner.update()
    told = setup.learner.update().metrics

    assert {"curiosity/share", "shaping/weight", "objectives/weight/profit"} <= set(told)
    parts = {key.split("/")[1] for key in setup.learner.state() if key.startswith("reward_tr")}
    assert parts == {"curiosity", "shaping", "objectives"}


def test_none_is_there_unless_it_is_asked_for(tmp_path: Path) -> None:
    setup = setup_of("ppo", tmp_path, {})
    assert not [key for key in setup.learner.state() if key.startswith("reward_transform")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learner.name": "direct", "curiosity.mix": 0.1}, "learner.name must be ppo or sac"),
        ({"learner.name": "direct", "shaping.weight": 0.1}, "learner.name must be ppo or sac"),
        ({"learner.name": "ppo", "curiosity.warm_up": 5}, "curiosity.mix must be above 0"),
        ({"learner.name": "ppo", "shaping.warm_up": 5}, "shaping.weight must be above 0"),
        ({"learner.name": "ppo", "objectives.pull": 0.5}, "objectives.enabled must be true"),
        (
            {"learner.name": "ppo", "shaping.weight": 0.1, "task.private": ["size"]},
            "size and total_return",
        ),
    ],
)
def test_what_cannot_act_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_train_config("quick", TINY | options)


def test_one_objective_cannot_be_weighed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two objectives or more to weigh, was profit"):
        setup_of("ppo", tmp_path, {"objectives.enabled": True})
