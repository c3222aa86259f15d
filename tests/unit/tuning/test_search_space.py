"""Search spaces are data: what they may hold, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.configuration.files import known_presets
from tradingbot.domain.errors import ConfigError
from tradingbot.training.config_files import load_train_config, override_config
from tradingbot.tuning.search_space import load_space
from tradingbot.tuning.space_check import require_tunable

FITTING = {"ppo": "ppo", "sac": "sac", "direct": "direct", "rewards": "ppo", "encoder": "direct"}
PRESET_OF = {"ppo": "spec_discrete", "sac": "spec_sac", "direct": "prototype10"}


def write(folder: Path, text: str) -> str:
    path = folder / "space.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", known_presets("tuning"))
def test_packaged_space_fits_a_preset_of_its_learner(name: str) -> None:
    config = load_train_config(PRESET_OF[FITTING[name]])

    require_tunable(config, load_space([name]))


def test_ranges_of_ppo_are_those_of_the_plan() -> None:
    found = {each.key.removeprefix("learner.ppo."): each for each in load_space(["ppo"]).parameters}

    rate, entropy = found["learning_rate.first"], found["entropy.coefficient"]
    assert (rate.low, rate.high, rate.scale) == (1e-4, 1e-3, "log")
    assert (entropy.low, entropy.high, entropy.scale) == (1e-3, 5e-2, "log")
    assert (found["decay"].low, found["decay"].high) == (0.90, 0.98)
    assert (found["clip"].low, found["clip"].high) == (0.1, 0.3)
    assert (found["n_epochs"].low, found["n_epochs"].high, found["n_epochs"].step) == (5, 15, 1)
    assert found["minibatch"].choices == (32, 64, 128)


def test_later_space_replaces_settings_of_an_earlier_one(tmp_path: Path) -> None:
    own = write(tmp_path, "parameters: {learner.ppo.decay: {low: 0.5, high: 0.6}}")

    both = load_space(["ppo", own])

    assert len(both.parameters) == len(load_space(["ppo"]).parameters)
    assert next(p.low for p in both.parameters if p.key == "learner.ppo.decay") == 0.5
    assert both.sha256 != load_space(["ppo"]).sha256


def test_list_of_widths_is_a_choice_that_the_configuration_reads(tmp_path: Path) -> None:
    own = write(tmp_path, "parameters: {learner.direct.actor.hidden: {choices: [[16], [64, 32]]}}")
    space = load_space([own])

    assert space.parameters[0].choices == ("[16]", "[64, 32]")
    require_tunable(load_train_config("prototype10"), space)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("parameters: {task.costs: {choices: [free, alpaca]}}", "must not change what trials are"),
        ("parameters: {splits.train: {low: 0.5, high: 0.6}}", "must not change what trials are"),
        ("parameters: {learner.ppo.decay: {low: 0.9}}", "must have low and high, or choices"),
        ("parameters: {learner.ppo.clip: {high: 0.01}}", "must have low and high, or choices"),
        ("parameters: {learner.ppo.decay: {low: 0.9, high: 0.9}}", "must have low below high"),
        ("parameters: {learner.ppo.decay: {low: 0.9, high: .inf}}", "must be a finite number"),
        ("parameters: {learner.ppo.minibatch: {choices: [32, .nan]}}", "must be a finite number"),
        ("parameters: {learner.ppo.minibatch: {choices: [32, 64], scale: log}}", "nothing beside"),
        ("parameters: {learner.ppo.minibatch: {choices: [32, 64], step: 1}}", "nothing beside"),
        ("parameters: {learner.ppo.minibatch: {choices: [32, 64, 32]}}", "each once"),
        ("parameters: {learner.ppo.n_epochs: {low: 4.9, high: 8.9, step: 1}}", "whole numbers as"),
        ("parameters: {learner.ppo.n_epochs: {low: 4, high: 8, step: 9}}", "whole number of steps"),
        ("parameters: {learner.ppo.n_epochs: {low: 4, high: 8, step: 3}}", "whole number of steps"),
        ("parameters: {learner.ppo.n_epochs: {low: 4, high: 8, step: 2, scale: log}}", "must be 1"),
        ("parameters: {learner.ppo.decay: {choices: [0.9]}}", "two choices or more"),
        ("parameters: {learner.ppo.decay: {low: 0, high: 1, scale: log}}", "must be above 0"),
        ("parameters: {learner.ppo.decay: {low: a, high: 1}}", "must be a number"),
        ("parameters: {learner.ppo.decay: {lov: 0, high: 1}}", "must be known"),
        ("parameters: {learner.ppo.n_epochs: {low: 1, high: 9, step: 0.5}}", "whole number"),
        ("parameters: []", "a mapping under the key parameters"),
    ],
)
def test_impossible_space_is_refused_with_its_place(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule) as refused:
        load_space([write(tmp_path, text)])

    assert "space.yaml" in str(refused.value.where)


@pytest.mark.parametrize(
    ("setting", "named", "remedy"),
    [
        ("learner.ppo.decay: {low: 0.9, high: 1.5}", "decay must lie in [0, 1], was 1.5", "Give"),
        ("learner.ppo.minibatch: {choices: [16, 0]}", "minibatch must be 1 or more, was 0", "Give"),
        ("learner.ppo.n_epochs: {low: 5, high: 15}", "n_epochs must be a whole number", "step: 1"),
        ("task.reward: {choices: [sharpe, shrap]}", "reward", "Did you mean 'sharpe'?"),
        ("encoder.preset: {choices: [skip, tyny]}", "encoder.preset", "Did you mean 'tiny'?"),
        ("budget.n_envs: {choices: [4, 4096]}", "enough for 2 updates", "Give more than"),
    ],
)
def test_value_that_no_training_takes_is_refused_before_a_trial_draws_it(
    setting: str, named: str, remedy: str, tmp_path: Path
) -> None:
    own = write(tmp_path, f"parameters: {{{setting}}}")

    with pytest.raises(ConfigError) as refused:
        require_tunable(load_train_config("spec_discrete"), load_space([own]))

    assert named in str(refused.value)
    assert "space.yaml" in str(refused.value.where)
    assert setting.partition(":")[0] in str(refused.value)
    assert remedy in str(refused.value.remedy)


def test_what_is_wrong_without_the_space_is_not_put_down_to_it() -> None:
    config = override_config(load_train_config("prototype10"), {"task.costs": "fre"})

    with pytest.raises(ConfigError, match="Did you mean 'free'") as refused:
        require_tunable(config, load_space(["direct"]))

    assert "search space" not in str(refused.value)


def test_widths_that_no_network_has_are_refused(tmp_path: Path) -> None:
    own = write(tmp_path, "parameters: {learner.direct.actor.hidden: {choices: [[16], [-4]]}}")

    with pytest.raises(ConfigError, match="hidden must be widths of 1 or more") as refused:
        require_tunable(load_train_config("prototype10"), load_space([own]))

    assert "space.yaml" in str(refused.value.where)


def test_space_of_another_learner_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"learner\.sac"):
        require_tunable(load_train_config("prototype10"), load_space(["sac"]))
