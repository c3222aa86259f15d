"""Refusals of keys that do not go together: both are named, the user's own first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.configuration.conflicts import KeyConflict, place_conflict
from tradingbot.configuration.yaml_reader import Place
from tradingbot.domain.errors import ConfigError
from tradingbot.training.config_files import load_train_config

_KIND = "environment.kind"


@pytest.mark.parametrize(
    ("preset", "options", "first", "other"),
    [
        ("portfolio", {"learner.name": "sac"}, "learner.name", f"{_KIND} of preset portfolio"),
        ("portfolio", {"encoder.preset": "skip"}, "encoder.preset", f"{_KIND} of preset portfolio"),
        ("spec_sac", {_KIND: "portfolio"}, _KIND, "learner.name of preset spec_sac"),
        ("goal", {"cloning.enabled": True}, "cloning.enabled", f"{_KIND} of preset goal"),
        (
            "goal",
            {"learner.name": "direct", "environment.goal.reward": "sparse"},
            "environment.goal.reward",
            "learner.name by OPTION learner.name",
        ),
        (
            "quick",
            {"task.rules.action.space": "discrete"},
            "task.rules.action.space",
            "learner.name of preset quick",
        ),
        ("quick", {"splits.train": 0.9}, "splits.train", "splits.validation of preset quick"),
        ("quick", {"market.end": "2001-01-01"}, "market.end", "market.start of preset quick"),
        ("quick", {"budget.n_envs": 60_000}, "budget.n_envs", "budget.steps_per_agent of preset q"),
    ],
)
def test_conflict_names_what_was_asked_for_then_what_it_conflicts_with(
    preset: str, options: dict[str, object], first: str, other: str
) -> None:
    spelled = {key: f"OPTION {key}" for key in options}
    with pytest.raises(ConfigError) as caught:
        load_train_config(preset, options, spelled)
    where = str(caught.value.where)
    assert where.startswith(f"OPTION {first}; conflicts with ")
    assert other in where


def test_own_file_goes_before_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: portfolio\nencoder:\n  preset: skip\n")
    with pytest.raises(ConfigError) as caught:
        load_train_config(file)
    assert caught.value.where == f"{file}:3; conflicts with {_KIND} of preset portfolio"


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("learner.ppo.entropy.decay", 7.0, "learner.ppo.entropy.decay must lie in (0, 1]"),
        ("task.rules.limits.max_order_frac", -1.0, "task.rules.limits.max_order_frac must be abo"),
        (
            "guards.low_entropy_critical",
            0.9,
            "guards.low_entropy must not lie below low_entropy_critical",
        ),
    ],
)
def test_rule_of_the_library_names_its_key_in_full_and_its_option(
    key: str, value: float, rule: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_train_config("quick", {key: value}, {key: f"--set {key}"})
    assert caught.value.rule.startswith(rule)
    assert caught.value.where == f"--set {key}"


def test_keys_of_one_file_are_one_place_and_defaults_none() -> None:
    file = Path("mine.yaml")
    places = {("a",): Place(file, 1), ("b",): Place(file, 2)}
    assert place_conflict(places, [("b",), ("a",)]) == "mine.yaml:2"
    assert place_conflict(places, [("c",)]) is None


def test_rule_is_written_with_keys_in_full() -> None:
    conflict = KeyConflict("end must be after start, was 2 … 1", "end", "start")
    assert str(conflict) == "end must be after start, was 2 … 1"
    assert conflict.rule_in(("market",)) == "market.end must be after market.start, was 2 … 1"
