from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fixtures.example_dossier import bare_dossier, example_dossier
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.training_facts import AuxiliaryAccuracy
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.measurement import MeasuredValue
from tradingbot.evaluation.gates.measurements import MEASUREMENTS

TASKS = (
    AuxiliaryAccuracy("regime", 0.8, 0.77, 0.79),
    AuxiliaryAccuracy("volume_class", 0.4, 0.38, 0.35),
)


def read(metric: str, dossier: Dossier) -> MeasuredValue:
    return MEASUREMENTS[metric].read(dossier)


def with_facts(**changes: Any) -> Dossier:
    full = example_dossier()
    assert full.training is not None
    return replace(full, training=replace(full.training, **changes))


@pytest.mark.parametrize(
    ("metric", "changes", "value"),
    [
        ("universe_covered_frac", {"symbols_without_bars": ("A", "B", "C")}, 0.7),
        ("universe_covered_frac", {"symbols_without_bars": ()}, 1.0),
        ("universe_covered_frac", {"universe_symbols": 0}, None),
        ("scaler_of_train", {"is_scaler_of_train": False}, 0.0),
        ("scaler_of_train", {"is_scaler_of_train": True}, 1.0),
        ("scaler_of_train", {"is_scaler_of_train": None}, None),
        ("parameter_budgets_broken", {"over_budget": ("encoder: 6 is more than 5",)}, 1.0),
        ("parameter_budgets_broken", {"over_budget": None}, None),
        ("updates_not_finite", {"updates_not_finite": 2}, 2.0),
        ("updates_not_finite", {"updates": 0}, None),
        ("updates_not_finite_in_100k", {"updates_not_finite": 2}, 2.0),
        ("auxiliary_accuracy_frac", {"auxiliary_accuracy_frac": 0.4}, 0.4),
        ("auxiliary_accuracy_frac", {"auxiliary_accuracy_frac": None}, None),
        ("auxiliary_tasks_at_base_rate", {"auxiliary_tasks": TASKS}, 1.0),
        ("auxiliary_tasks_at_base_rate", {"auxiliary_tasks": TASKS[1:]}, 0.0),
        ("auxiliary_tasks_at_base_rate", {"auxiliary_tasks": ()}, None),
        ("curriculum_stages_passed", {"curriculum_stages_passed": 2}, 2.0),
        ("curriculum_stages_passed", {"curriculum_stages_passed": 0}, 0.0),
        ("curriculum_stages_passed", {"curriculum_stages_passed": None}, None),
        ("equal_runs_that_differ", {"equal_runs": 3, "equal_runs_that_differ": 2}, 2.0),
        ("equal_runs_that_differ", {"equal_runs": 0}, None),
    ],
)
def test_fact_of_the_run_is_measured_or_says_why_not(
    metric: str, changes: dict[str, Any], value: float | None
) -> None:
    found = read(metric, with_facts(**changes))
    assert found.value == (None if value is None else pytest.approx(value))
    assert bool(found.reason) == (value is None)


def test_words_of_what_is_not_measured_are_true() -> None:
    unnamed = read("universe_covered_frac", with_facts(universe="", universe_symbols=0))
    assert unnamed.reason == "the universe of the data is not known: none is named"
    lost = read("universe_covered_frac", with_facts(universe="my.csv", universe_symbols=0))
    assert lost.reason.endswith("not known: my.csv")
    in_memory = read("scaler_of_train", with_facts(is_scaler_of_train=None))
    assert "its scaler is fitted on train" in in_memory.reason


def test_leak_check_that_compared_no_feature_is_not_measured() -> None:
    full = example_dossier()
    for compared, value in ((1, 0.0), (0, None)):
        check = replace(full.leak_check, features_compared=compared)
        assert read("suspicious_findings", replace(full, leak_check=check)).value == value


def test_nan_is_not_measured_in_fewer_steps_than_are_asked_for() -> None:
    full = example_dossier()
    for steps, is_measured in ((9_999, False), (10_000, True)):
        header = replace(full.header, steps_per_agent=steps, agents=10)
        found = read("updates_not_finite_in_100k", replace(full, header=header))
        assert (found.value is not None) == is_measured


@pytest.mark.parametrize(
    ("synthetic", "sha256", "value"),
    [(True, "d4" * 32, 1.0), (False, "d4" * 32, 1.0), (True, None, None), (False, None, 0.0)],
)
def test_observed_bars_without_certificate_fail_and_generated_ones_are_not_measured(
    synthetic: bool, sha256: str | None, value: float | None
) -> None:
    full = example_dossier(synthetic=synthetic)
    check = replace(full.leak_check, certificate_sha256=sha256)
    assert read("causality_certificate", replace(full, leak_check=check)).value == value


def test_dossier_without_facts_measures_none_of_them() -> None:
    assert read("scaler_of_train", bare_dossier()).reason.startswith("the dossier says nothing")


@pytest.mark.parametrize(
    ("agents", "listed", "value"),
    [(143, 143, 143.0), (10, 143, 10.0), (200, 0, 200.0), (2, 0, None), (10, 10, None)],
)
def test_size_is_asked_of_runs_whose_data_have_it(
    agents: int, listed: int, value: float | None
) -> None:
    full = with_facts(universe_symbols=listed)
    found = read("agents_at_full_size", replace(full, header=replace(full.header, agents=agents)))

    assert found.value == value
    assert found.reason.startswith("not applicable: ") == (value is None)
    (gate,) = [each for each in load_gates("product") if each.name == "full/size"]
    assert gate.metric == "agents_at_full_size"
