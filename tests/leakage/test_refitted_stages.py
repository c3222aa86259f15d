"""Stages that were fitted on bars they are asked about, or on later ones, are caught by refitting.

Two seeds of each run by default, all twelve with `-m slow`. A seed is another market.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from fixtures.supervised_tables import (
    CONFIG,
    QUICK_SETTINGS,
    TRAIN,
    market_inputs,
    market_table,
    quick_classifier,
)
from tradingbot.data.sources.source import ignore_progress
from tradingbot.data.splits import Gap, IndexRange, Split
from tradingbot.domain.errors import DataError
from tradingbot.features.panel import panel_specs
from tradingbot.supervised import ModelTable, fit_model, label_moves
from tradingbot.supervised.boosting import BoostingClassifier
from tradingbot.supervised.calibration import fit_calibration
from tradingbot.supervised.causality import judge_refits
from tradingbot.supervised.classifier import FitRows, FittedClassifier
from tradingbot.supervised.fitting import refit_stages
from tradingbot.supervised.labels import LabelArray
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel
from tradingbot.training.supervised.data import ModelSource
from tradingbot.training.supervised.fit import ModelRequest, prove_model

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
Plant = Callable[[int], ProbabilityModel]


def table_of(seed: int) -> ModelTable:
    return market_table(seed=seed)


@cache
def honest(seed: int) -> ProbabilityModel:
    return fit_model(quick_classifier("lightgbm"), table_of(seed), TRAIN, CONFIG).model


def labels_of(seed: int) -> LabelArray:
    return label_moves(table_of(seed).closes, CONFIG.labels)


def learned(seed: int, fit: IndexRange, stop: IndexRange) -> FittedClassifier:
    """A classifier of whatever bars, as if nothing were wrong with them."""
    rows, kind = FitRows(fit, stop), quick_classifier("lightgbm")
    return kind.fit(table_of(seed), labels_of(seed), rows, seed=0, progress=ignore_progress)


def with_stage(whole: ProbabilityModel, place: int, **other: object) -> ProbabilityModel:
    stages = list(whole.stages)
    stages[place] = replace(stages[place], **other)  # type: ignore[arg-type]
    return replace(whole, stages=tuple(stages))


def all_in_sample(seed: int) -> ProbabilityModel:
    made = learned(seed, IndexRange(200, 430), IndexRange(430, 496))
    stages = [replace(stage, model=made) for stage in honest(seed).stages]
    return replace(honest(seed), stages=tuple(stages))


def one_in_sample(seed: int) -> ProbabilityModel:
    """The second stage saw twenty bars of the block that it is asked about."""
    made = learned(seed, IndexRange(200, 350), IndexRange(356, 420))
    return with_stage(honest(seed), 1, model=made)


def last_saw_later_bars(seed: int) -> ProbabilityModel:
    made = learned(seed, IndexRange(200, 440), IndexRange(440, 560))
    return with_stage(honest(seed), -1, model=made)


def last_forgot_the_purge(seed: int) -> ProbabilityModel:
    """Fitted on labels that end after training: the purge is forgotten."""
    made = learned(seed, IndexRange(200, 500), IndexRange(440, 496))
    return with_stage(honest(seed), -1, model=made)


def calibrated_in_sample(seed: int) -> ProbabilityModel:
    stage, block = honest(seed).stages[1], IndexRange(400, 500)
    answers = labels_of(seed)[:, block.start : block.stop]
    chances = stage.model.probabilities(table_of(seed), block)
    later = fit_calibration(chances, answers, overlap=12)
    return with_stage(honest(seed), 1, calibration=later)


def speaks_too_early(seed: int) -> ProbabilityModel:
    """Says that it saw little, and speaks for bars that it was fitted on."""
    last = honest(seed).stages[-1]
    return ProbabilityModel(
        (ModelStage(250, 240, last.model, last.calibration),), table_of(seed).names
    )


PLANTED: tuple[Plant, ...] = (
    all_in_sample,
    one_in_sample,
    last_saw_later_bars,
    last_forgot_the_purge,
    calibrated_in_sample,
    speaks_too_early,
)


def status_of(model: ProbabilityModel, seed: int) -> str:
    kind, table = quick_classifier("lightgbm"), table_of(seed)
    refits = refit_stages(model, kind, table, TRAIN, CONFIG)
    return judge_refits("model", refits, table, market_inputs(seed=seed).closed_at).status


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("plant", PLANTED)
def test_stage_that_saw_what_it_is_asked_about_is_caught(plant: Plant, seed: int) -> None:
    assert status_of(plant(seed), seed) == "leaks"


@pytest.mark.parametrize("seed", SEEDS)
def test_sound_stages_come_out_the_same(seed: int) -> None:
    assert status_of(honest(seed), seed) == "causal"


def source_of(seed: int) -> ModelSource:
    inputs, table = market_inputs(seed=seed), table_of(seed)
    parts = TRAIN, IndexRange(500, 560), IndexRange(560, table.n_bars)
    return ModelSource(
        table,
        Split(table.n_bars, *parts, Gap(0, 0, 0)),
        inputs.closed_at,
        panel_specs(inputs.covariates),
        lambda: inputs,
        label="planted market",
        synthetic=True,
        bars_sha256="",
    )


def test_proof_of_a_model_refits_its_stages() -> None:
    settings = QUICK_SETTINGS["lightgbm"]
    request = ModelRequest("trees", "lightgbm", settings, CONFIG, proof_rounds=1)

    report = prove_model(honest(0), source_of(0), request)

    assert [verdict.output for verdict in report.verdicts] == ["probabilities", "stages"]
    assert report.is_causal
    for plant in (all_in_sample, last_saw_later_bars):
        with pytest.raises(DataError, match=r"probabilities must be causal.*fitted again without"):
            prove_model(plant(0), source_of(0), request)


class Greedy(BoostingClassifier):
    """Fits on every bar of the table that it is given, whatever rows it is told."""

    given: tuple[int, ...] = ()

    def fit(self, table, labels, rows, *, seed, progress):  # type: ignore[no-untyped-def]
        type(self).given += (table.n_bars,)
        rows = FitRows(
            IndexRange(200, table.n_bars - 40), IndexRange(table.n_bars - 40, table.n_bars)
        )
        return super().fit(table, labels, rows, seed=seed, progress=progress)


def test_classifier_is_given_no_bar_that_it_will_be_asked_about() -> None:
    kind = Greedy(quick_classifier("lightgbm").config)

    model = fit_model(kind, table_of(0), TRAIN, CONFIG).model

    assert Greedy.given == (294, 394, 500)
    assert tuple(stage.seen_until for stage in model.stages) == Greedy.given
    refits = refit_stages(model, kind, table_of(0), TRAIN, CONFIG)
    verdict = judge_refits("greedy", refits, table_of(0), market_inputs(seed=0).closed_at)
    assert verdict.is_causal
