"""Supervised probabilities know nothing of the future, and planted leaks are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fixtures.supervised_tables import CONFIG, TRAIN, market_inputs, market_table, quick_classifier
from tradingbot.data.sources.source import ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import (
    CausalityReport,
    Output,
    ProofContext,
    ProofSubject,
    Rows,
    registered_subjects,
    unregister_subject,
)
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import panel_specs
from tradingbot.features.spec import FeatureSpec
from tradingbot.supervised import LabelConfig, ModelTable, fit_model, label_moves, table_of_inputs
from tradingbot.supervised.boosting import FittedTrees
from tradingbot.supervised.calibration import Calibration
from tradingbot.supervised.causality import fitted_subject, register_model
from tradingbot.supervised.classifier import Classifier, ProbabilityArray
from tradingbot.supervised.fitting import FitConfig, forward_folds, rows_to_learn
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel

SPECS = panel_specs(market_inputs().covariates)
STARTS = tuple(fold.tests[0].start for fold in forward_folds(TRAIN, CONFIG.folds, CONFIG.labels))
ROUNDS = ProofPlan(
    (*STARTS, TRAIN.stop), common_rounds=4, staggered_rounds=0, seed=2, prefix_rounds=0
)


def refitted_subject(
    name: str,
    classifier: Classifier,
    train: IndexRange,
    config: FitConfig,
    specs: Sequence[FeatureSpec],
) -> ProofSubject:
    """Claim the probabilities (T, N, 3) of a model that is fitted on the market it is given."""

    def compute(inputs: MarketInputs) -> Mapping[str, Output]:
        table = table_of_inputs(inputs, specs)
        try:
            model = fit_model(classifier, table, train, config).model
        except DataError:  # too short, or a future without bars: nothing is known
            return {
                "probabilities": claimed_rows(
                    np.full((*table.valid.shape, 3), 1.0 / 3.0, np.float32)
                )
            }
        return {"probabilities": claimed_rows(model.probabilities(table))}

    return ProofSubject(name, compute)


def claimed_rows(chances: ProbabilityArray) -> Rows:
    return Rows(np.ascontiguousarray(chances.swapaxes(0, 1)))


def prove(subject: ProofSubject, plan: ProofPlan = ROUNDS) -> CausalityReport:
    return prove_causal(market_inputs(), (subject,), plan)


@pytest.mark.parametrize("name", ["mlp", "lightgbm"])
def test_probabilities_of_a_fitted_model_are_causal(name: str) -> None:
    model = fit_model(quick_classifier(name), market_table(), TRAIN, CONFIG).model

    report = prove(fitted_subject("model", model, SPECS), replace(ROUNDS, prefix_rounds=40))

    assert report.failures == ()
    assert report.comparisons > 10_000


@pytest.mark.parametrize("name", [pytest.param("mlp", marks=pytest.mark.slow), "lightgbm"])
def test_labels_folds_stopping_and_calibration_keep_to_the_past(name: str) -> None:
    subject = refitted_subject("model", quick_classifier(name), TRAIN, CONFIG, SPECS)

    report = prove(subject)

    assert report.failures == ()
    claimed = subject.compute(market_inputs())["probabilities"]
    assert isinstance(claimed, Rows)
    for start in (*STARTS, TRAIN.stop):  # every stage has an opinion
        assert np.ptp(claimed.values[start : start + 50, :, 2]) > 0.0


def test_registered_model_takes_part_in_every_proof() -> None:
    model = fit_model(quick_classifier("lightgbm"), market_table(), TRAIN, CONFIG).model
    name = register_model("trees", model)
    try:
        subjects = registered_subjects(ProofContext(SPECS, TRAIN.stop))
        report = prove_causal(
            market_inputs(), subjects, ProofPlan(common_rounds=1, prefix_rounds=9)
        )
    finally:
        unregister_subject(name)

    assert [verdict.output for verdict in report.verdicts if verdict.subject == name] == [
        "probabilities"
    ]
    assert report.is_causal


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 12))]
)
def test_model_that_looks_ahead_at_one_bar_in_a_hundred_is_caught(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = quick_model()
    honest, shown = FittedTrees.probabilities, model.probabilities(market_table())
    moves = np.flatnonzero((shown[:, 1:] != shown[:, :-1]).any(axis=(0, 2)))
    rows = stream(seed, "rows").choice(moves, size=6, replace=False)

    def early(self: FittedTrees, table: ModelTable, part: IndexRange | None = None) -> np.ndarray:
        found, start = honest(self, table, part), part.start if part else 0
        at = rows[(rows >= start) & (rows < start + found.shape[1] - 1)] - start
        found[:, at] = found[:, at + 1]
        return found

    monkeypatch.setattr(FittedTrees, "probabilities", early)

    report = prove(fitted_subject("model", model, SPECS), replace(ROUNDS, prefix_rounds=400))

    assert [verdict.status for verdict in report.verdicts] == ["leaks"]


@cache
def quick_model() -> ProbabilityModel:
    return fit_model(quick_classifier("lightgbm"), market_table(), TRAIN, CONFIG).model


def refit(
    choose: Callable[[ModelTable], list[tuple[IndexRange, IndexRange]]],
    labels_of: Callable[[ModelTable], np.ndarray] | None = None,
) -> ProofSubject:
    """Fit a model for each (bars learned from, bars asked about), whatever they are."""
    kind = quick_classifier("lightgbm")

    def compute(inputs: MarketInputs) -> dict[str, Rows]:
        table = table_of_inputs(inputs, SPECS)
        labels = (labels_of or (lambda t: label_moves(t.closes, CONFIG.labels)))(table)
        chances = np.full((*table.valid.shape, 3), 1.0 / 3.0, np.float32)
        for learn, asked in choose(table):
            stop = min(asked.stop, table.n_bars)
            if asked.start >= stop or learn.stop > table.n_bars:
                continue
            rows = rows_to_learn(learn, CONFIG.folds, CONFIG.labels)
            part = IndexRange(asked.start, stop)
            try:
                fitted = kind.fit(table, labels, rows, seed=0, progress=ignore_progress)
            except DataError:  # a future without bars
                continue
            chances[:, asked.start : stop] = fitted.probabilities(table, part)
        return {"probabilities": Rows(chances.swapaxes(0, 1).copy())}

    return ProofSubject("planted", compute)


BLOCKS = (IndexRange(200, 300), IndexRange(300, 400), IndexRange(400, 500))
AFTER = IndexRange(500, 10_000)


def honest(_: ModelTable) -> list[tuple[IndexRange, IndexRange]]:
    return [
        (IndexRange(200, 294), BLOCKS[1]),
        (IndexRange(200, 394), BLOCKS[2]),
        (IndexRange(200, 500), AFTER),
    ]


def in_sample(_: ModelTable) -> list[tuple[IndexRange, IndexRange]]:
    return [(TRAIN, IndexRange(200, 10_000))]


def shuffled(_: ModelTable) -> list[tuple[IndexRange, IndexRange]]:
    """Out of fold and purged, but the first block is judged by later ones."""
    return [
        (IndexRange(306, 500), BLOCKS[0]),
        (IndexRange(200, 294), BLOCKS[1]),
        (IndexRange(200, 394), BLOCKS[2]),
        (IndexRange(200, 500), AFTER),
    ]


def unpurged(table: ModelTable) -> np.ndarray:
    """Label bars by moves that end after the part: what a forgotten purge does."""
    return label_moves(table.closes, replace(CONFIG.labels, horizon_bars=20))


def test_honest_folds_of_the_rig_are_causal() -> None:
    assert prove(refit(honest)).failures == ()


@pytest.mark.parametrize("choose", [in_sample, shuffled])
def test_models_that_saw_later_bars_are_caught(
    choose: Callable[[ModelTable], list[tuple[IndexRange, IndexRange]]],
) -> None:
    report = prove(refit(choose))

    assert [verdict.status for verdict in report.verdicts] == ["leaks"]


def test_labels_that_reach_into_the_asked_block_are_caught() -> None:
    report = prove(refit(honest, unpurged))

    assert [verdict.status for verdict in report.verdicts] == ["leaks"]


def test_label_among_the_features_is_caught() -> None:
    model = fit_model(quick_classifier("lightgbm"), market_table(), TRAIN, CONFIG).model

    def compute(inputs: MarketInputs) -> dict[str, Rows]:
        table = table_of_inputs(inputs, SPECS)
        values = table.values.copy()
        values[..., 0] = label_moves(table.closes, CONFIG.labels)
        peeking = replace(table, values=values)
        return {"probabilities": Rows(model.probabilities(peeking).swapaxes(0, 1).copy())}

    assert prove(ProofSubject("peeking", compute)).verdicts[0].status == "leaks"


def test_stage_that_is_asked_about_bars_it_saw_is_refused() -> None:
    model = fit_model(quick_classifier("lightgbm"), market_table(), TRAIN, CONFIG).model
    last = model.stages[-1]

    with pytest.raises(DataError, match="seen"):
        ModelStage(TRAIN.start, TRAIN.stop, last.model, Calibration())
    with pytest.raises(DataError, match="order"):
        ProbabilityModel(model.stages[::-1], model.names)


@pytest.mark.parametrize("kind", ["horizon", "barriers"])
def test_label_reads_no_bar_past_its_horizon(kind: str) -> None:
    config = LabelConfig(kind, horizon_bars=5)
    closes = market_table().closes
    labels = label_moves(closes, config)

    for cut in (100, 333, 480):
        other = closes.copy()
        other[:, cut + 1 :] *= 3.0
        changed = label_moves(other, config) != labels
        assert not changed[:, : cut + 1 - config.horizon_bars].any()
        assert changed[:, cut + 1 - config.horizon_bars :].any()
