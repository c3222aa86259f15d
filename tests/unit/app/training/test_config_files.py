"""Training configurations: presets, options, round trips, and mistakes in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.app.training.config_files import (
    changed,
    config_of_mapping,
    known_train_presets,
    load_train_config,
)
from tradingbot.domain.errors import ConfigError


@pytest.mark.parametrize("name", known_train_presets())
def test_preset_reads_back_from_what_a_run_keeps(name: str) -> None:
    config = load_train_config(name)

    again = config_of_mapping(config.as_mapping())

    assert again.as_mapping() == config.as_mapping()
    assert again.config_hash == config.config_hash


def test_presets_that_are_promised_exist() -> None:
    assert {"quick", "prototype10", "us143"} <= set(known_train_presets())


def test_option_of_a_nested_setting_leaves_its_neighbours() -> None:
    config = load_train_config("us143", {"learner.direct.learning_rate.over": 5})

    rate = config.learner.direct.learning_rate
    assert (rate.kind, rate.first, rate.over) == ("cosine", 3e-3, 5)


def test_tracking_moves_no_result_and_budget_does() -> None:
    config = load_train_config("quick")

    assert changed(config, {"tracking.mlflow": "auto"}).config_hash == config.config_hash
    assert changed(config, {"budget.n_envs": 2}).config_hash != config.config_hash


def test_settings_of_a_learner_that_does_not_train_move_no_result() -> None:
    config = load_train_config("quick")

    assert changed(config, {"learner.ppo.n_epochs": 1}).config_hash == config.config_hash


def test_file_extends_a_preset_and_names_the_line_of_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: quick\nbudget:\n  n_envs: 3\n")
    assert load_train_config(path).budget.n_envs == 3

    path.write_text("extends: quick\nlearner:\n  direct:\n    chunk_bars: 0\n")
    with pytest.raises(ConfigError, match=r"chunk_bars must be 1 or more, was 0 \(.*mine.yaml:3\)"):
        load_train_config(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("learner.direct.chunk_bars", 2.5, "chunk_bars must be a whole number"),
        ("learner.direct.chunk_bars", True, "chunk_bars must be a whole number"),
        ("learner.direct.actor.hidden", 3, "hidden must be a list"),
        ("learner.direct.objective", "money", "must be one of log_growth, sharpe, reward"),
        ("task.rules.limits.max_positon_frac", 1.0, "Did you mean 'max_position_frac'"),
        ("learner.direct", 3, "learner.direct must be a mapping"),
        ("guards.patience", 0, "patience must be 1 or more"),
    ],
)
def test_mistake_in_a_library_section_says_rule_value_and_remedy(
    key: str, value: object, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_train_config("quick", {key: value})

    assert words in str(caught.value)
