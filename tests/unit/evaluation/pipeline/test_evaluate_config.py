"""Presets and options of an evaluation: what is unknown or has no meaning is refused by name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.configuration.files import preset_folder
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.ablation import (
    ablation_specs,
    automatic_variants,
    chosen_variants,
)
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import AblationSettings
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL
from tradingbot.evaluation.pipeline.config import EvaluateConfig, load_evaluate_config
from tradingbot.runs.counted_trials import counted_sharpes
from tradingbot.runs.ledger import Kind, Trial
from tradingbot.training.config_files import load_train_config


def test_full_is_as_the_specification_says() -> None:
    config = load_evaluate_config()

    walk = config.walk_forward
    assert (walk.window_days, walk.step_days, walk.retrain_every) == (60, 20, 3)
    assert config.seeds.count >= 5
    assert config.ablation.seeds >= 3
    assert config.analyses == OPTIONAL
    assert config.seeds.steps_share_frac == 1.0


@pytest.mark.parametrize(
    "preset", [path.stem for path in sorted(preset_folder("evaluation").glob("*.yaml"))]
)
def test_every_preset_can_be_read(preset: str) -> None:
    assert isinstance(load_evaluate_config(preset), EvaluateConfig)


def test_quick_has_every_analysis_and_shares_trainings_between_seeds_and_ablation() -> None:
    quick = load_evaluate_config("quick")

    assert quick.analyses == OPTIONAL
    assert quick.seeds.steps_share_frac == quick.ablation.steps_share_frac < 1.0


def test_options_go_before_what_files_say(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: quick\nseeds: {count: 7}\n")

    config = load_evaluate_config(file, {"seeds.count": 9, "analyses": "[seeds]"})

    assert config.seeds.count == 9
    assert config.analyses == ("seeds",)
    assert config.walk_forward == load_evaluate_config("quick").walk_forward


def test_hash_follows_from_every_setting() -> None:
    assert load_evaluate_config("full").config_hash == EvaluateConfig().config_hash or (
        load_evaluate_config("full") != EvaluateConfig()
    )
    other = load_evaluate_config("full", {"placebos.draws": 21})
    assert other.config_hash != load_evaluate_config("full").config_hash


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("seed.count", 3, "Did you mean 'seeds'?"),
        ("seeds.cout", 3, "Did you mean 'count'?"),
        ("seeds.count", 1, "Give 2 or more to tell luck of the seed, e.g. seeds.count=5"),
        ("seeds.count", "many", "a whole number"),
        ("analyses", ["walkforward"], "Did you mean 'walk_forward'?"),
        ("ablation.variants", ["pooling"], "KEY=VALUE"),
        ("statistics.overfitting_blocks", 5, "must be even"),
        ("leak_check.cuts", 0, "cuts must be 1 or more"),
    ],
)
def test_mistakes_are_named(key: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_evaluate_config("quick", {key: value})

    assert words in str(caught.value)


def test_automatic_variants_fit_the_run() -> None:
    row, encoded = tiny_config(), tiny_config(encoder__preset="tiny")

    assert automatic_variants(row)[0] == "learner.direct.actor.pooling=independent"
    assert "encoder.preset=row" not in automatic_variants(row)
    assert "encoder.preset=row" in automatic_variants(encoded)
    beside = tiny_config(encoder__preset="mlp", encoder__trainable=True, auxiliary__weight=1.0)
    assert "auxiliary.weight=0" in automatic_variants(beside)
    assert "auxiliary.weight=0" not in automatic_variants(encoded)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("task.reward=sharpe", "task.reward must act; learner.direct.objective must be reward"),
        ("learner.ppo.rollout_steps=8", "learner.ppo.rollout_steps must act; learner.name"),
        ("budget.n_envs={own}", "must change what is trained"),
        ("tracking.mlflow=auto", "must change what is trained"),
    ],
)
def test_variant_that_trains_the_same_is_refused_by_name(
    subject: EvaluatedRun, variant: str, words: str
) -> None:
    own = variant.format(own=subject.config.budget.n_envs)

    with pytest.raises(ConfigError, match=words) as refused:
        ablation_specs(subject, AblationSettings(variants=(own,)))

    assert own.split("=")[0] in str(refused.value)


def test_setting_that_acts_in_the_run_may_be_turned_off(subject: EvaluatedRun) -> None:
    cloned = tiny_config(learner__name="ppo", learner__ppo__rollout_steps=8, cloning__enabled=True)
    settings = AblationSettings(variants=("cloning.enabled=false",))

    assert len(ablation_specs(replace(subject, config=cloned), settings)) == 2


def test_variants_in_the_documentation_act(subject: EvaluatedRun) -> None:
    page = (Path(__file__).parents[4] / "docs/how_to/evaluate.md").read_text()
    listed = re.findall(r"ablation\.variants=\[(.+)\]", page)
    quick = replace(subject, config=load_train_config("quick", {"seed": 3}))
    several, at_once = (AblationSettings(variants=tuple(each.split(","))) for each in listed)

    assert len(ablation_specs(quick, several)) == 1 + len(several.variants) == 3
    assert [len(specs[0].changes) for specs in ablation_specs(quick, at_once).values()] == [0, 2]


def test_variants_are_each_tried_once_and_automatic_ones_are_few() -> None:
    own = "learner.direct.actor.pooling=independent"
    settings = AblationSettings(variants=(own, "automatic", "budget.n_envs=4"), most_automatic=1)

    assert chosen_variants(tiny_config(), settings) == (own, "budget.n_envs=4")


def trial(
    sequence: int, kind: Kind, run: str, sharpe: float | None, alpha: float | None = None
) -> Trial:
    return Trial(sequence, kind, run, "", sharpe, alpha)


def test_first_evaluation_of_a_run_is_its_own_look_and_further_ones_count() -> None:
    trials = [
        trial(0, "training", "a", 0.1),
        trial(1, "evaluation", "a", None),
        trial(2, "training", "b", 0.2, alpha=-0.1),
        trial(3, "evaluation", "a", None),
    ]

    assert counted_sharpes(trials) == [0.1, -0.1, None]  # alpha where it was noted


def test_too_few_placebos_are_refused_when_the_configuration_is_read() -> None:
    with pytest.raises(ConfigError, match=r"draws must be 20 or more.*was 5") as caught:
        load_evaluate_config("quick", {"placebos.draws": 5})

    assert "placebos.draws" in str(caught.value)


def test_old_key_pieces_is_read_from_files_and_options(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text("extends: required\npieces: [seeds]\n")

    assert load_evaluate_config(file).analyses == ("seeds",)
    assert load_evaluate_config(file, {"analyses": "[stress]"}).analyses == ("stress",)
    assert load_evaluate_config("full", {"pieces": "[seeds]"}).analyses == ("seeds",)


def test_refused_value_is_named_in_full_with_the_option_that_gave_it() -> None:
    with pytest.raises(ConfigError) as caught:
        load_evaluate_config("quick", {"seeds.count": 0}, {"seeds.count": "--set seeds.count"})
    assert caught.value.rule == "seeds.count must lie in [2, 1000]"
    assert caught.value.where == "--set seeds.count"
