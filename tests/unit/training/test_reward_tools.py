"""Curiosity, shaping and objectives by configuration: one line each, together, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tradingbot.configuration.part_names import (
    REWARD_OBJECTIVES,
    REWARD_PRESET_TERMS,
    objectives_of,
)
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import extension_values
from tradingbot.learning.objectives.transform import LearnedObjectives
from tradingbot.rewards.catalogue import registered_terms
from tradingbot.rewards.presets import REWARD_PRESETS
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.setup import TrainingSetup, build_training_setup

TINY: dict[str, Any] = {"market.start": "2025-06-10", "budget.n_envs": 2, "task.private": []}
LEARNERS: dict[str, dict[str, Any]] = {
    "ppo": {"rollout_steps": 8, "minibatch": 8, "n_epochs": 1},
    "impala": {"rollout_steps": 8, "minibatch": 8, "actors": 2, "in_processes": False},
    "sac": {"steps_per_update": 8, "warm_up": 8, "batch_size": 8, "buffer_size": 64},
    "hierarchical_sac": {"steps_per_update": 8, "warm_up": 8, "batch_size": 8, "buffer_size": 64},
}
SPACES = {"hierarchical_sac": {"task.rules.action.space": "continuous"}}
TOOLS: dict[str, Any] = {
    "curiosity.mix": 0.1,
    "shaping.weight": 0.1,
    "objectives.enabled": True,
    "task.reward": "objectives",
}


def setup_of(learner: str, tmp_path: Path, options: dict[str, Any]) -> TrainingSetup:
    small = {f"learner.{learner}.{key}": value for key, value in LEARNERS[learner].items()}
    asked = small | SPACES.get(learner, {}) | {"learner.name": learner}
    config = load_train_config("quick", TINY | asked | options)
    return build_training_setup(config, open_data(config, tmp_path), seed=1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_all_tools_together_learn_in_a_run(learner: str, tmp_path: Path) -> None:
    setup = setup_of(learner, tmp_path, TOOLS)

    setup.learner.update()
    told = setup.learner.update().metrics

    assert {"curiosity/share", "shaping/weight", "objectives/weight/profit"} <= set(told)
    parts = {key.split("/")[1] for key in setup.learner.state() if key.startswith("reward_tr")}
    assert parts == {"curiosity", "shaping", "objectives"}


def test_objectives_take_bars_of_high_volatility_for_volatile(tmp_path: Path) -> None:
    asked = {"objectives.enabled": True, "task.reward": "objectives", "objectives.volatility": 0.7}
    setup = setup_of("ppo", tmp_path, asked)
    world = setup.learner.task.world  # type: ignore[attr-defined]
    percentile = world.regimes[..., world.regime_names.index("volatility_regime")]

    (objectives,) = setup.learner._reward_transform._transforms.values()  # type: ignore[attr-defined]

    assert isinstance(objectives, LearnedObjectives)
    found = objectives.objectives.volatile.reshape(percentile.shape).numpy()
    assert 0.05 < found.mean() < 0.6
    assert (found == (percentile >= 0.7)).all()


def test_tools_read_the_position_and_the_growth_of_the_account(tmp_path: Path) -> None:
    setup = setup_of("ppo", tmp_path, TOOLS)
    names = setup.learner.task.private_names  # type: ignore[attr-defined]
    tools = setup.learner._reward_transform._transforms  # type: ignore[attr-defined]

    assert names[tools["objectives"].objectives.growth] == "total_return"
    assert names[tools["shaping"]._inputs.growth] == "total_return"
    assert names[tools["shaping"]._inputs.position] == "size"


def test_none_is_there_unless_it_is_asked_for(tmp_path: Path) -> None:
    setup = setup_of("ppo", tmp_path, {})
    assert not [key for key in setup.learner.state() if key.startswith("reward_transform")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"learner.name": "direct", "curiosity.mix": 0.1},
            "learner.name must be ppo, sac, impala or hierarchical_sac",
        ),
        (
            {"learner.name": "direct", "shaping.weight": 0.1},
            "learner.name must be ppo, sac, impala or hierarchical_sac",
        ),
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


def test_one_objective_cannot_be_weighed() -> None:
    with pytest.raises(ConfigError, match=r"two objectives or more to weigh .* has profit"):
        load_train_config("quick", TINY | {"learner.name": "ppo", "objectives.enabled": True})


EVOLVES = {"learner.name": "es", "budget.steps_per_agent": 600_000}
GOAL = {"environment.kind": "goal", "environment.goal.reward": "sparse"}


@pytest.mark.parametrize(
    ("preset", "options", "words"),
    [
        ("recovery_a", EVOLVES, "curiosity must act where it is on; learner.name"),
        ("recovery_b", {"curiosity.mix": 0.1}, "hierarchical_sac.hindsight.strategy must be off"),
        ("recovery_c", EVOLVES | {"learner.name": "hybrid"}, "generations are ranked by"),
        ("recovery_c", GOAL, "others pay one term"),
        ("recovery_c", {"task.reward": "log_growth"}, "log_growth has profit"),
        ("hindsight", {"curiosity.mix": 0.1}, "hindsight.strategy must be off: what it would have"),
    ],
)
def test_tool_of_a_preset_that_could_not_act_is_refused(
    preset: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_train_config(preset, options)
    assert caught.value.where is not None


def test_tool_of_a_preset_is_turned_off_for_a_learner_that_takes_none() -> None:
    config = load_train_config("recovery_a", EVOLVES | {"curiosity.mix": 0.0})
    assert config.curiosity.mix == 0.0


def test_objectives_are_told_without_torch_as_the_catalogue_has_them() -> None:
    terms = registered_terms()
    told = {name: objective for objective, names in REWARD_OBJECTIVES.items() for name in names}
    declared = extension_values("reward_term", tuple(told))  # by other tests of this process
    assert told == {name: own.objective for name, own in terms.items() if name not in declared}
    assert {
        preset: tuple(name for name, weight in weights.items() if weight)
        for preset, weights in REWARD_PRESETS.items()
    } == REWARD_PRESET_TERMS
    assert objectives_of("v31", {"pnl": 0.0, "cost": 0.0}) == ("risk", "activity", "exploration")
    assert objectives_of("roi", {"loss": 0.2}) == ("profit", "risk")
    assert objectives_of("a_plugins", {}) is None
