"""Training configurations: presets, options, round trips, and mistakes in one line."""

from __future__ import annotations

import json
import math
from datetime import date
from functools import reduce
from pathlib import Path

import pytest

from tradingbot.app.demo.training import DEMO_PRESET
from tradingbot.configuration.files import preset_folder
from tradingbot.configuration.pipeline import SplitsConfig
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.schedules import constant
from tradingbot.networks.encoders.catalogue import encoder_preset
from tradingbot.training.budget import check_budget
from tradingbot.training.config_files import (
    config_of_mapping,
    load_train_config,
    override_config,
)

PRESETS = sorted(path.stem for path in preset_folder("training").glob("*.yaml"))


@pytest.mark.parametrize("name", PRESETS)
def test_preset_reads_back_from_what_a_run_keeps(name: str) -> None:
    config = load_train_config(name)

    again = config_of_mapping(config.as_mapping())

    assert again.as_mapping() == config.as_mapping()
    assert again.config_hash == config.config_hash


def test_what_runs_of_before_kept_reads_as_they_learned() -> None:
    """Without market and recency in their configuration they had neither, and their hash stays."""
    before = {"task.neutral_bars": False, "budget.recency": 0.0}
    kept = load_train_config("quick", before).as_mapping()

    again = config_of_mapping(kept)

    assert "neutral_bars" not in kept["task"]
    assert "recency" not in kept["budget"]
    assert (again.task.neutral_bars, again.budget.recency) == (False, 0.0)
    assert again.config_hash == override_config(again, {"seed": None}).config_hash
    usual = load_train_config("quick")
    assert (usual.task.neutral_bars, usual.budget.recency) == (True, 0.5)
    assert usual.config_hash != again.config_hash


def test_first_day_of_training_reads_back_from_what_a_run_keeps() -> None:
    config = load_train_config("prototype10", {"splits.train_from": "2020-03-01"})

    again = config_of_mapping(json.loads(json.dumps(config.as_mapping())))

    assert again.splits.train_from == date(2020, 3, 1)
    assert again.config_hash == config.config_hash != load_train_config("prototype10").config_hash


@pytest.mark.parametrize("preset", ["prototype10", "us143"])
def test_dataset_is_divided_by_ratio_whatever_dates_a_preset_has(preset: str) -> None:
    own = load_train_config(preset)

    config = load_train_config(preset, {"dataset": "mine", "splits.purge_bars": 9})

    assert own.splits.by == "date"
    assert config.splits == SplitsConfig(purge_bars=9)


@pytest.mark.parametrize(
    "options", [{"splits.by": "date"}, {"splits.test": "2025-11-03"}, {"market.name": "noise"}]
)
def test_dates_of_a_preset_stay_where_they_are_asked_for(options: dict[str, object]) -> None:
    dataset = {} if "market.name" in options else {"dataset": "mine"}

    splits = load_train_config("prototype10", {**dataset, **options}).splits

    assert (splits.by, splits.train) == ("date", date(2023, 12, 31))


def test_dates_of_a_file_of_ones_own_hold_for_its_dataset(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: prototype10\ndataset: mine\n")
    assert load_train_config(path).splits == SplitsConfig()

    path.write_text("extends: prototype10\ndataset: mine\nsplits: {train: 2023-06-30}\n")
    assert load_train_config(path).splits.train == date(2023, 6, 30)
    path.write_text("extends: prototype10\nsplits: {by: date}\n")
    assert load_train_config(path, {"dataset": "mine"}).splits.train == date(2023, 12, 31)


def test_presets_that_are_promised_exist() -> None:
    assert {"quick", "prototype10", "us143", "spec_discrete", "spec_sac"} <= set(PRESETS)


def test_option_of_a_nested_setting_leaves_its_neighbours() -> None:
    options = {"learner.name": "direct", "learner.direct.learning_rate.over": 122_880}
    config = load_train_config("us143", options)

    rate = config.learner.direct.learning_rate
    assert (rate.kind, rate.first, rate.over) == ("cosine", 3e-3, 122_880)


def test_tracking_moves_no_result_and_budget_does() -> None:
    config = load_train_config("quick")

    assert override_config(config, {"tracking.mlflow": "auto"}).config_hash == config.config_hash
    assert override_config(config, {"budget.n_envs": 2}).config_hash != config.config_hash


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("learner.direct.learning_rate", -0.001, "first must be 0 or more, was -0.001"),
        ("learner.direct.learning_rate.last", -1.0, "last must be 0 or more, was -1.0"),
        ("learner.direct.learning_rate", 0, "a learning rate must be above 0, was 0"),
        ("learner.ppo.entropy.coefficient", -0.1, "first must be 0 or more"),
        ("cloning.learning_rate", math.inf, "learning_rate must be above 0, was inf"),
        ("guards.reward_scale", -1.0, "reward_scale must be above 0, was -1.0"),
        ("guards.gradient_floor", -1.0, "gradient_floor must be 0 or more"),
    ],
)
def test_rate_that_learns_backwards_is_refused(key: str, value: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_train_config("quick", {key: value})


def test_settings_of_a_learner_that_does_not_train_move_no_result() -> None:
    config = load_train_config("quick")

    assert override_config(config, {"learner.ppo.n_epochs": 1}).config_hash == config.config_hash


def test_file_extends_a_preset_and_names_the_line_of_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: quick\nbudget:\n  n_envs: 3\n")
    assert load_train_config(path).budget.n_envs == 3

    path.write_text("extends: quick\nlearner:\n  direct:\n    chunk_bars: 0\n")
    with pytest.raises(
        ConfigError, match=r"learner.direct.chunk_bars must be 1 or more, was 0 \(.*mine.yaml:4\)"
    ):
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


def test_preset_of_the_demonstration_pretrains_an_encoder_that_learns_nothing_more() -> None:
    config = load_train_config(DEMO_PRESET)

    assert encoder_preset(config.encoder.preset).kind != "row"
    assert config.encoder.pretrain
    assert not config.encoder.trainable
    assert config.encoder.transfer_from is None


@pytest.mark.parametrize("learner", ["ppo", "sac", "direct"])
@pytest.mark.parametrize("preset", ["quick", "prototype10", "us143"])
def test_learning_rate_that_moves_ends_with_the_budget(preset: str, learner: str) -> None:
    settings = {"learner.name": learner, "budget.steps_per_agent": 64_000}

    config = load_train_config(preset, settings)

    rate = getattr(config.learner, learner).learning_rate
    assert rate.kind == "constant" or rate.hold + rate.over == 64_000
    selected = config.as_mapping()["learner"][learner]["learning_rate"]
    assert selected["over"] == rate.over


def test_schedule_that_holds_at_first_ends_with_the_budget() -> None:
    key = "learner.ppo.entropy.coefficient"
    settings = {f"{key}.kind": "linear", f"{key}.hold": 1_000, f"{key}.over": "budget"}

    coefficient = load_train_config("us143", settings).learner.ppo.entropy.coefficient

    assert (coefficient.hold, coefficient.over) == (1_000, 122_880 - 1_000)


def test_rate_of_zero_before_the_end_of_the_budget_is_refused_with_the_way_out() -> None:
    key = "learner.direct.learning_rate"
    with pytest.raises(
        ConfigError, match=r"0 from step 640 of 1280 \(setting .*over; conflicts"
    ) as caught:
        load_train_config("quick", {f"{key}.over": 640})
    assert f"Set {key}.over=budget" in str(caught.value)

    ends_above_0 = load_train_config("quick", {f"{key}.over": 640, f"{key}.last": 1e-5})
    assert ends_above_0.learner.direct.learning_rate.over == 640


def test_longer_budget_of_a_run_needs_a_longer_schedule() -> None:
    config = load_train_config("quick")
    longer: dict[str, object] = {"budget.steps_per_agent": 12_800}

    with pytest.raises(ConfigError, match="0 from step 1280 of 12800"):
        check_budget(override_config(config, longer))
    follows = override_config(config, {**longer, "learner.direct.learning_rate.over": "budget"})
    check_budget(follows)
    assert follows.learner.direct.learning_rate.over == 12_800


def test_run_that_was_made_with_a_short_schedule_can_be_read() -> None:
    selected = load_train_config("quick").as_mapping()
    selected["learner"]["direct"]["learning_rate"]["over"] = 64

    assert config_of_mapping(selected).learner.direct.learning_rate.over == 64


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"learner.name": "sac", "learner.sac.warm_up": 1_280},
            "learner.sac.warm_up must be below budget.steps_per_agent",
        ),
        ({"learner.name": "ppo", "learner.ppo.rollout_steps": 320}, "an update takes 1280"),
        ({"budget.steps_per_agent": 64}, "an update takes 64"),
    ],
)
def test_budget_in_which_nothing_is_learned_is_refused(
    settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_train_config("quick", settings)

    assert words in str(caught.value)
    assert caught.value.remedy


def test_smallest_budgets_that_learn_are_taken() -> None:
    assert load_train_config("quick", {"budget.steps_per_agent": 65}).plan.steps_per_agent == 65
    warm = {"learner.name": "sac", "learner.sac.warm_up": 1_279}
    assert load_train_config("quick", warm).learner.sac.warm_up == 1_279


def test_plain_number_is_a_schedule_that_never_changes() -> None:
    config = load_train_config("quick", {"learner.direct.learning_rate": 0.001})

    assert config.learner.direct.learning_rate == constant(0.001)
    with pytest.raises(ConfigError, match="learning_rate must be a mapping"):
        load_train_config("quick", {"learner.direct.learning_rate": True})


def test_keys_of_older_versions_are_read_from_files_options_and_runs(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(
        "extends: us143\nlearner: {name: ppo, ppo: {entropy: {guard_spread: 0.1}}}\n"
        "guards: {spread: 0.2, spread_critical: 0.05}\n"
    )

    config = load_train_config(old, {"guards.spread_fall": 0.4})
    other = {"learner.name": "sac", "learner.sac.target_spread": 0.3}

    assert config.learner.ppo.entropy.guard_entropy == 0.1
    assert (config.guards.low_entropy, config.guards.low_entropy_critical) == (0.2, 0.05)
    assert config.guards.entropy_fall == 0.4
    assert load_train_config(old, other).learner.sac.target_normalised_entropy == 0.3
    stored = config.as_mapping()
    stored["guards"]["spread_fall_updates"] = stored["guards"].pop("entropy_fall_updates") + 1
    assert config_of_mapping(stored).guards.entropy_fall_updates == 6


def test_new_key_of_an_option_goes_before_the_old_key_of_a_file(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("extends: quick\nlearner: {name: ppo}\nguards: {spread: 0.2}\n")

    assert load_train_config(old, {"guards.low_entropy": 0.25}).guards.low_entropy == 0.25


MOVES = {"kind": "linear", "first": 0.3, "last": 0.1}


@pytest.mark.parametrize(
    ("key", "length"), [("clip", 122_880), ("min_std", 122_880), ("entropy.coefficient", 40_000)]
)
def test_schedule_that_is_made_to_move_lasts_as_long_as_the_budget(key: str, length: int) -> None:
    """One that moves anyway, the coefficient, keeps the length that is meant for it."""
    options: dict[str, object] = {
        f"learner.ppo.{key}.{part}": value for part, value in MOVES.items()
    }
    steps = {"learner.name": "ppo", "budget.steps_per_agent": 122_880}
    space = {"task.rules.action.space": "continuous"}

    ppo = load_train_config("quick", options | steps | space).learner.ppo

    found = reduce(getattr, key.split("."), ppo)
    assert (found.kind, found.first, found.last, found.over) == (*MOVES.values(), length)
    held = load_train_config("quick", options | steps | space | {f"learner.ppo.{key}.hold": 880})
    after = reduce(getattr, key.split("."), held.learner.ppo)
    assert after.over == (length - 880 if length == 122_880 else length)


def test_step_of_a_schedule_that_is_asked_for_is_one() -> None:
    options = {f"learner.ppo.clip.{part}": value for part, value in (MOVES | {"over": 1}).items()}
    assert load_train_config("quick", {"learner.name": "ppo"} | options).learner.ppo.clip.over == 1


SAC = {"learner.name": "sac", "learner.sac.warm_up": 100, "learner.sac.batch_size": 64}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SAC | {"learner.sac.buffer_size": 99}, "99, where learner.sac.warm_up is 100"),
        (
            SAC
            | {"learner.sac.buffer_size": 99, "learner.sac.warm_up": 0, "budget.n_envs": 128}
            | {"budget.steps_per_agent": 100_000},
            "99, where budget.n_envs is 128",
        ),
        (
            {"learner.name": "hybrid", "learner.hybrid.learner": "sac", "learner.sac.warm_up": 0}
            | {"learner.hybrid.gradient_steps": 64, "learner.sac.buffer_size": 99},
            "99, where learner.sac.batch_size is 256",
        ),
        (
            {"learner.hierarchical_sac.buffer_size": 99},
            "99, where learner.hierarchical_sac.warm_up is 1000",
        ),
    ],
)
def test_replay_that_forgets_before_it_is_learned_from_is_refused(
    options: dict[str, object], words: str
) -> None:
    preset = "options" if "learner.name" not in options else "quick"
    with pytest.raises(ConfigError, match=r"buffer_size must hold a batch") as caught:
        load_train_config(preset, options)
    assert words in str(caught.value)
    assert "or lower learner." in str(caught.value) or "or lower budget." in str(caught.value)


def test_replay_of_just_enough_is_accepted() -> None:
    load_train_config("quick", SAC | {"learner.sac.buffer_size": 100})


@pytest.mark.parametrize(
    ("preset", "known"),
    [("quick", "4ac413372ce5b2bf"), ("prototype10", "4f880ef3f582683e")],
)
def test_configurations_without_later_settings_keep_their_hash(preset: str, known: str) -> None:
    before = {"seed": 3, "task.neutral_bars": False, "budget.recency": 0.0}

    assert load_train_config(preset, before).config_hash.startswith(known)


@pytest.mark.parametrize("steps", [51_200, 614_400])
def test_schedule_may_end_at_a_share_of_the_budget(steps: int) -> None:
    options = {"learner.name": "ppo", "budget.steps_per_agent": steps}
    schedule = load_train_config("master", options).learner.settings.min_std

    assert schedule.over == round(0.6 * steps)
    assert schedule.at(0.6 * steps) == pytest.approx(0.05)
    held = {"learner.ppo.min_std.hold": 10_000, "learner.ppo.min_std.over": "50% of budget"}
    later = load_train_config("master", options | held).learner.settings.min_std
    assert later.hold + later.over == steps // 2


@pytest.mark.parametrize("over", ["0 % of budget", "101 % of budget", "half of budget"])
def test_share_of_the_budget_that_cannot_be_is_refused(over: str) -> None:
    with pytest.raises(ConfigError, match=r"min_std\.over"):
        load_train_config("master", {"learner.name": "ppo", "learner.ppo.min_std.over": over})
