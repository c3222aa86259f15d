"""Training again for a dossier: the run's own way, with another seed, setting or period.

The same learner, trainer, guards and validation as `tradingbot train`, but nothing of it is kept on
disk: what counts is what the policy earns on bars that it never saw. A training that is halted
counts as one that stays out, with the reason; it is never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from tradingbot.data.calendar import closing_day
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError, TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Updated
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs
from tradingbot.evaluation.analyses.retraining.shared_pretraining import share_pretraining
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    TradedPeriod,
    open_with_own_model,
    retraining_config,
)
from tradingbot.evaluation.backtest import ready_bars
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.metrics.returns import annual_sharpe
from tradingbot.features.pipeline import split_rows
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.runs.ledger import Ledger
from tradingbot.supervised.model_names import NO_MODEL
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data, require_parts
from tradingbot.training.preparation import prepare
from tradingbot.training.results import (
    SelectedPolicy,
    backtest_agents,
    select_by_validation,
    select_everything,
    select_nothing,
)
from tradingbot.training.setup import TrainingSetup, build_training_setup
from tradingbot.training.trial_ledger import data_key

_DATA_KEYS = ("dataset", "market", "symbols", "splits", "scaling")
"""Sections of a configuration that say what is learned from and judged by, besides `features`,
`task.probabilities` and `validation.factor`."""


@dataclass(frozen=True, eq=False)
class PreparedRetraining:
    """A training that nothing but itself can stop any more."""

    spec: RetrainingSpec
    config: TrainConfig
    data: TrainingData
    setup: TrainingSetup
    periods: tuple[tuple[str, IndexRange], ...]
    """Name and bars of what is traded afterwards."""


def prepare_retraining(
    spec: RetrainingSpec, config: TrainConfig, data: TrainingData, workspace: Path
) -> PreparedRetraining:
    """Open and assemble what a training needs; whatever can be refused is refused here.

    Args:
        spec: What is wanted.
        config: Of the run.
        data: What the run learned from; opened again only where the order changes it.
        workspace: Where datasets and models are.

    Raises:
        ConfigError: If a change does not fit the configuration.
        DataError: If a period has too few bars.
    """
    wanted = retraining_config(spec, config)
    if _data_part(wanted) != _data_part(config):
        own = spec.last_days is not None and wanted.task.probabilities != NO_MODEL
        data = (open_with_own_model if own else open_data)(wanted, workspace)
    periods = _periods(spec, data)
    setup = build_training_setup(wanted, data, seed=spec.seed)
    return PreparedRetraining(spec, wanted, data, setup, tuple(periods))


def require_periods(spec: RetrainingSpec, config: TrainConfig, data: TrainingData) -> None:
    """Refuse an order whose parts or windows hold too few bars, before anything is opened.

    Args:
        spec: On the bars of the run.
        config: Of the run.
        data: What the run learned from.

    Raises:
        ConfigError: If days are not in order.
        DataError: If a part or a window has too few bars.
    """
    wanted = retraining_config(spec, config)
    split = split_rows(data.world.closed_at.astype("datetime64[us]"), wanted.splits)
    divided = replace(data, split=split)
    require_parts(divided, decides=wanted.validation.shrink)
    _periods(spec, divided)


def retrain(
    prepared: PreparedRetraining, progress: Progress = ignore_progress, shared: Path | None = None
) -> RetrainingResult:
    """Train and play what was prepared.

    Args:
        prepared: Used up by it.
        progress: Told of steps.
        shared: Folder of pre-trained encoders, for trainings that begin with the same one.
    """
    config, data = prepared.config, prepared.data
    prepare(share_pretraining(prepared.setup, shared))
    selected, failed = _train(prepared, progress)
    return RetrainingResult(
        spec=prepared.spec,
        steps_per_agent=config.budget.steps_per_agent,
        config_hash=config.config_hash,
        data_sha256=data.identity.data_sha256,
        trained_until=_day(data, data.split.validation.stop - 1),
        trading_agents=sum(selected.trades) if selected is not None else 0,
        parts=tuple(_play(name, part, prepared, selected) for name, part in prepared.periods),
        failed=failed,
    )


def _data_part(config: TrainConfig) -> list[Any]:
    mapping = config.as_mapping()
    named = (config.features, config.task.probabilities, config.validation.factor)
    return [*named, *(mapping[key] for key in _DATA_KEYS)]


def _train(prepared: PreparedRetraining, progress: Progress) -> tuple[SelectedPolicy | None, str]:
    """Return what is kept of the policy, or None and why training was halted."""
    config, data, setup = prepared.config, prepared.data, prepared.setup
    learner, healthy = setup.learner, dict[str, Tensor]()

    def save(snapshot: Snapshot) -> None:
        if "healthy" in snapshot.labels:
            healthy.clear()
            healthy.update({name: tensor.clone() for name, tensor in snapshot.tensors.items()})

    def tell(event: Event) -> None:
        if isinstance(event, Updated):
            total = config.budget.steps_per_agent
            progress(min(event.steps, total), total, "training, step")

    hooks = Hooks(
        evaluate=lambda: scores_on(choosing_bars(data), setup, data),
        save=save,
        load_healthy=lambda: dict(healthy),
        emit=tell,
        updated=setup.teach_sleeves(tell),
    )
    trainer = Trainer(learner, config.plan, hooks, FlightRecorder(learner.task, config.guards))
    try:
        trainer.run()
    except TrainingError as e:
        return None, str(e)
    trainer.use_best()
    if not trainer.has_best:
        return select_nothing(setup), ""
    shrinks = config.validation.shrink
    selected = select_by_validation(setup, data) if shrinks else select_everything(setup)
    return selected, ""


def _periods(spec: RetrainingSpec, data: TrainingData) -> list[tuple[str, IndexRange]]:
    split = data.split
    if spec.windows:
        days = closing_day(data.world.closed_at.astype("datetime64[us]"))
        found = [
            (f"{first} … {last}", _bars(days, first, last, split.test.start))
            for first, last in spec.windows
        ]
    else:
        found = [("validation", split.validation), ("test", split.test)]
    for _, part in found:
        ready_bars(data.world, part)
    return found


def _bars(days: Any, first: str, last: str, earliest: int) -> IndexRange:
    """Return the bars of some days that are no nearer to validation than the embargo allows."""
    start = max(int(np.searchsorted(days, np.datetime64(first))), earliest)
    stop = int(np.searchsorted(days, np.datetime64(last), side="right"))
    if stop - start < 2:
        raise DataError("a window must have two bars", was=stop - start, where=f"{first} … {last}")
    return IndexRange(start, stop)


def _play(
    name: str, part: IndexRange, prepared: PreparedRetraining, selected: SelectedPolicy | None
) -> TradedPeriod:
    data, setup = prepared.data, prepared.setup
    bars = ready_bars(data.world, part)
    days = (_day(data, bars.start), _day(data, bars.stop - 1))
    if selected is None:
        n_bars = len(bars) - 1
        nothing = (0.0,) * n_bars
        return TradedPeriod(name, *days, (1.0,) * (n_bars + 1), nothing, nothing)
    played = backtest_agents(setup, data, bars, selected.act)
    sleeves, alpha = played.returns, attribute_backtest(played, data.factor).alpha
    means = (tuple(each.mean(axis=1).tolist()) for each in (sleeves, alpha))
    return TradedPeriod(name, *days, tuple(played.portfolio.tolist()), *means)


def _day(data: TrainingData, bar: int) -> str:
    return str(closing_day(data.world.closed_at[[bar]].astype("datetime64[us]"))[0])


_HEAVY = 10.0


def retraining_analysis(spec: RetrainingSpec) -> Analysis:
    """Return the analysis that an order is."""
    measure = partial(_train_counted, spec=spec)
    return Analysis(spec.name, RetrainingResult, spec, measure, weight=_HEAVY)


def _train_counted(inputs: AnalysisInputs, *, spec: RetrainingSpec) -> RetrainingResult:
    """Train, and write down in the ledger that it was tried; what is refused was not tried.

    Other settings are trials: a choice may be made among them. Other seeds and periods of the run's
    own settings are checks, which the deflated Sharpe does not count.
    """
    subject = inputs.subject
    prepared = prepare_retraining(spec, subject.config, subject.data, subject.workspace)
    ledger = Ledger(subject.workspace)
    entry = ledger.begin(
        "tuning" if spec.changes else "check",
        data=data_key(subject.run.record.data),
        run=subject.run.id,
        config_hash=prepared.config.config_hash,
        at=datetime.now(UTC),
    )
    ledger.write_receipt(subject.run.path, entry)
    trained = retrain(prepared, inputs.progress, inputs.shared)
    played = trained.parts[-1]
    net, alpha = (
        annual_sharpe(np.array(each), bars_per_year=1.0) for each in (played.returns, played.alpha)
    )
    result = ledger.finish(entry, net, alpha_sharpe_per_bar=alpha, at=datetime.now(UTC))
    ledger.write_receipt(subject.run.path, result)
    return trained
