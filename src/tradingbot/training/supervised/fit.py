"""Trains a supervised model for a workspace: fit, score, prove causal, store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot import __version__
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import interval_of
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import CausalityReport
from tradingbot.runs.receipt import RECEIPT_FILE
from tradingbot.runs.record import content_sha256
from tradingbot.runs.requirement import installed_version
from tradingbot.supervised import Classifier, FitConfig, FittedModel, build_classifier, fit_model
from tradingbot.supervised.causality import fitted_subject, judge_refits
from tradingbot.supervised.fitting import refit_stages
from tradingbot.supervised.labels import UNKNOWN, LabelArray, label_moves, purge_labels
from tradingbot.supervised.model_files import save_model
from tradingbot.supervised.model_manifest import ModelManifest, ProofRecord
from tradingbot.supervised.model_names import models_folder, require_free_name
from tradingbot.supervised.probability_model import ProbabilityModel
from tradingbot.supervised.scores import bar_losses, score
from tradingbot.training.config import TrainConfig
from tradingbot.training.supervised.data import ModelSource, open_source
from tradingbot.training.trial_ledger import count_fit

_PACKAGES = ("numpy", "torch", "lightgbm")
_FEWEST_BARS = 16
_PREFIXES_PER_ROUND = 67  # 400 in the usual proof of six rounds


@dataclass(frozen=True)
class ModelRequest:
    """What is asked for."""

    name: str
    """Of the new model."""
    model: str = "lightgbm"
    """Of `supervised.CLASSIFIERS`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the classifier; what is left out has its default."""
    fit: FitConfig = field(default_factory=FitConfig)
    """Labels, folds and seed."""
    proof_rounds: int = 6
    """Common cuts of the causality proof besides those at the ends of parts; for each of them the
    model is asked at 67 bars without the later ones."""


def train_model(
    config: TrainConfig,
    request: ModelRequest,
    workspace: Path,
    *,
    progress: Progress = ignore_progress,
) -> ModelManifest:
    """Fit a model on the training part of what a configuration names, and store it.

    The fit is counted in the ledger of trials before it begins.

    Raises:
        ConfigError: If the name is taken, or a setting is not allowed.
        DataError: If there is too little to learn from, or the probabilities are not causal.
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    folder = models_folder(workspace)
    require_free_name(folder, request.name)
    classifier = build_classifier(request.model, request.settings)
    source = open_source(config, workspace)
    counted = count_fit(
        request.name,
        workspace,
        data=source.bars_sha256,
        config_hash=_config_hash(config, request, classifier),
        at=datetime.now(UTC),
    )
    fitted = fit_model(classifier, source.table, source.split.train, request.fit, progress=progress)
    scores = _scores(fitted, source, request.fit)
    report = prove_model(fitted.model, source, request, progress=progress)
    manifest = ModelManifest(
        name=request.name,
        model=request.model,
        settings=asdict(classifier.config),
        labels=asdict(request.fit.labels),
        folds=asdict(request.fit.folds),
        seed=request.fit.seed,
        features=source.table.names,
        data=source.record(),
        config=config.as_mapping(),
        base_rates=tuple(float(rate) for rate in fitted.rates),  # type: ignore[arg-type]
        scores=scores,
        proof=ProofRecord(
            comparisons=report.comparisons, recomputations=report.recomputations, seed=report.seed
        ),
        versions=_versions(),
    )
    receipt = {RECEIPT_FILE: counted.receipt.line}
    return save_model(folder, fitted.model, manifest, beside=receipt)


def prove_model(
    model: ProbabilityModel,
    source: ModelSource,
    request: ModelRequest,
    *,
    progress: Progress = ignore_progress,
) -> CausalityReport:
    """Prove that probabilities do not change when the bars after them do, nor the stages' weights.

    The features and stages are given other futures; then every stage is fitted again on a table
    that ends before the first bar it is asked about, and must say the same.

    Raises:
        DataError: If something changes, naming it.
    """
    subject = fitted_subject(f"supervised/{request.name}", model, source.specs)
    boundaries = (model.stages[0].from_bar, source.split.train.stop)
    plan = ProofPlan(
        boundaries,
        request.proof_rounds,
        staggered_rounds=0,
        seed=request.fit.seed,
        prefix_rounds=_PREFIXES_PER_ROUND * request.proof_rounds,
    )
    report = prove_causal(source.read_inputs(), (subject,), plan, progress=progress)
    classifier = build_classifier(request.model, request.settings)
    refits = refit_stages(
        model, classifier, source.table, source.split.train, request.fit, progress=progress
    )
    verdict = judge_refits(subject.name, refits, source.table, source.closed_at)
    report = replace(
        report,
        verdicts=(*report.verdicts, verdict),
        recomputations=report.recomputations + len(model.stages),
    )
    if not report.is_causal:
        worst = report.failures[0]
        raise DataError(
            "probabilities must be causal",
            was=str(worst.offence or worst.reason),
            where=request.name,
            remedy="Please report it: a model of this kind must not be used",
        )
    return report


def gain_interval(
    chances: np.ndarray[Any, Any], labels: LabelArray, rates: np.ndarray[Any, Any]
) -> Interval:
    """Gain over the base rate in nats per bar, mean over symbols; 95 %, stationary bootstrap.

    Args:
        chances: (N, T, 3).
        labels: (N, T), UNKNOWN where there is none.
        rates: (3,) base rates of the training part.
    """
    gains = bar_losses(np.broadcast_to(rates, chances.shape), labels) - bar_losses(chances, labels)
    known = ~np.isnan(gains)
    bars = known.any(axis=0)
    means = np.where(known, gains, 0.0).sum(axis=0)[bars] / known.sum(axis=0)[bars]
    return interval_of(means)


def _config_hash(config: TrainConfig, request: ModelRequest, classifier: Classifier) -> str:
    """Hash everything that a fit follows from; its name is no part of it."""
    settings = {"model": request.model, "settings": asdict(classifier.config)}
    return content_sha256({"data": config.config_hash, **settings, "fit": asdict(request.fit)})


def _scores(
    fitted: FittedModel, source: ModelSource, config: FitConfig
) -> dict[str, dict[str, float]]:
    """Figures of every part, calibrated and raw; later parts with an interval of the gain."""
    table, split = source.table, source.split
    found = {}
    if fitted.out_of_fold is not None and fitted.out_of_fold_raw is not None:
        found["out_of_fold"] = _figures(fitted.out_of_fold)
        found["out_of_fold_raw"] = _figures(fitted.out_of_fold_raw)
    labels = np.where(table.valid, label_moves(table.closes, config.labels), UNKNOWN)
    labels = labels.astype(np.int8)
    chances, raw = fitted.model.probabilities(table), fitted.model.raw_probabilities(table)
    for name, whole in (("validation", split.validation), ("test", split.test)):
        part = purge_labels(whole, config.labels)
        cut = slice(part.start, part.stop)
        answers = labels[:, cut]
        if len(part) < _FEWEST_BARS or not (answers != UNKNOWN).any():
            continue
        figures = _figures(score(chances[:, cut], answers, fitted.rates))
        interval = gain_interval(chances[:, cut], answers, fitted.rates)
        found[name] = figures | {"gain_low": interval.low, "gain_high": interval.high}
        found[f"{name}_raw"] = _figures(score(raw[:, cut], answers, fitted.rates))
    return found


def _figures(scores: Any) -> dict[str, float]:
    return {**asdict(scores), "gain_nats": scores.gain_nats}


def _versions() -> dict[str, str]:
    found = {name: installed_version(name) for name in _PACKAGES}
    known = {name: text for name, text in found.items() if text is not None}
    return {"tradingbot": __version__, **known}
