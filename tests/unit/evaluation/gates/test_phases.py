"""Gates by phase: each on the runs that have its part, none picked because it passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.example_dossier import example_dossier
from fixtures.idle_dossier import idle_dossier
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.phases import judge_phases, require_phase

STAGES = Gate("E curriculum/stages", "stages", "curriculum_stages_passed", ">=", 3)
ACCURACY = Gate("E curriculum/accuracy", "accuracy", "auxiliary_accuracy_frac", ">", 0.6)
EVOLUTION = Gate("D advanced/evolution", "evolution", "bench/es_vs_sac", ">=", 0.8)
SHARPE = Gate("D advanced/sharpe", "Sharpe", "sharpe_annual", ">", -100.0)


def named(run: str, stages: int | None, accuracy: float | None) -> Dossier:
    dossier = example_dossier()
    assert dossier.training is not None
    return replace(
        dossier,
        header=replace(dossier.header, run=run),
        training=replace(
            dossier.training, curriculum_stages_passed=stages, auxiliary_accuracy_frac=accuracy
        ),
    )


def told(runs: dict[str, list[Dossier]], *gates: Gate, **benches: float) -> list[tuple[str, ...]]:
    judged = judge_phases(runs, gates, benches)
    return [
        (each.result.gate, each.result.outcome, "" if each.run is None else each.run.run)
        for each in judged
    ]


def test_each_gate_is_told_of_the_runs_that_have_its_part() -> None:
    course, encoder = named("course", 4, None), named("encoder", None, 0.5)

    found = told({"E curriculum": [course, encoder]}, STAGES, ACCURACY, SHARPE)

    assert found == [
        ("E curriculum/stages", "pass", "course"),
        ("E curriculum/accuracy", "fail", "encoder"),
    ]


def test_every_run_that_has_the_part_is_told_not_the_best_one() -> None:
    runs = [named("one", 4, None), named("two", 1, None), named("three", None, None)]

    found = told({"E curriculum": runs}, STAGES)

    assert [each[1:] for each in found] == [("pass", "one"), ("fail", "two")]


def test_what_no_run_has_is_not_measured() -> None:
    runs = {"E curriculum": [named("one", None, None), named("two", None, None)]}
    assert told(runs, STAGES) == [("E curriculum/stages", "not measured", "one")]


def test_benchmarks_are_told_once_and_of_no_run() -> None:
    runs = {"D advanced": [named("one", None, None), named("two", None, None)]}
    assert told(runs, EVOLUTION, es_vs_sac=0.9) == [("D advanced/evolution", "pass", "")]
    assert told(runs, EVOLUTION) == [("D advanced/evolution", "not measured", "")]


def test_figures_of_cash_say_so() -> None:
    judged = judge_phases({"D advanced": [idle_dossier()]}, [SHARPE], {})
    assert [each.result.reason for each in judged if each.result.outcome == "pass"] == [
        "no agent trades: the figures are those of cash"
    ]
    busy = judge_phases({"D advanced": [example_dossier()]}, [SHARPE], {})
    assert busy[0].result.reason == ""


def test_phases_are_called_by_name_or_first_word() -> None:
    gates = load_gates()
    assert require_phase("A", gates) == require_phase("A continuous", gates) == "A continuous"
    with pytest.raises(ConfigError, match="a phase must be one of the gates, was H"):
        require_phase("H", gates)
