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

from tradingbot.data.calendar import closing_day
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs
from tradingbot.evaluation.analyses.retraining.assembled import AssembledTraining
from tradingbot.evaluation.analyses.retraining.chain import (
    DATA_KEYS,
    agents_config,
    bars_of_agents,
    over_trained,
)
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
from tradingbot.runs.ledger import Ledger
from tradingbot.supervised.model_names import NO_MODEL
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data, require_parts
from tradingbot.training.results import (
    SelectedPolicy,
    backtest_agents,
)
from tradingbot.training.setup import build_training_setup
from tradingbot.training.trial_ledger import data_key


@dataclass(frozen=True, eq=False)
class PreparedRetraining:
    """A training that nothing but itself can stop any more."""

    spec: RetrainingSpec
    config: TrainConfig
    first: AssembledTraining
    """The training; that of the sleeves' agents where it is a portfolio over agents of a run."""
    periods: tuple[tuple[str, IndexRange], ...]
    """Name and bars of what is traded afterwards."""

    @property
    def data(self) -> TrainingData:
        """What is learned from."""
        return self.first.data


def prepare_retraining(
    spec: RetrainingSpec, config: TrainConfig, data: TrainingData, workspace: Path
) -> PreparedRetraining:
    """Open and assemble what a training needs; whatever can be refused is refused here.

    Args:
        spec: What is wanted.
        config: Of the run.
        data: What the run learned from; opened again only where the order changes it.
        workspace: Where datasets, models and the agents of a portfolio's sleeves are.

    Raises:
        ConfigError: If a change does not fit the configuration.
        DataError: If a period has too few bars.
    """
    wanted = retraining_config(spec, config)
    agents = agents_config(config, workspace)
    learns = wanted if agents is None else retraining_config(replace(spec, changes=()), agents)
    if _data_part(wanted) != _data_part(config):
        own = spec.last_days is not None and wanted.task.probabilities != NO_MODEL
        data = (open_with_own_model if own else open_data)(learns, workspace)
    elif agents is not None:
        data = bars_of_agents(agents, data)
    periods = _periods(spec, data)
    setup = build_training_setup(learns, data, seed=spec.seed)
    first = AssembledTraining(learns, data, setup)
    return PreparedRetraining(spec, wanted, first, tuple(periods))


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
    training, selected, failed = _train(prepared, progress, shared)
    config, data = training.config, training.data
    return RetrainingResult(
        spec=prepared.spec,
        steps_per_agent=prepared.config.budget.steps_per_agent,
        config_hash=config.config_hash,
        data_sha256=data.identity.data_sha256,
        trained_until=_day(data, data.split.validation.stop - 1),
        trading_agents=sum(selected.trades) if selected is not None else 0,
        parts=tuple(_play(name, part, training, selected) for name, part in prepared.periods),
        failed=failed,
    )


def _train(
    prepared: PreparedRetraining, progress: Progress, shared: Path | None
) -> tuple[AssembledTraining, SelectedPolicy | None, str]:
    """Return what was trained last and what is kept of its policy; None, and why, where it halted.

    A master is trained over agents that trade: where none does, there is nothing to divide.
    """
    training = prepared.first
    selected, failed = training.train(progress, shared)
    if training.config is prepared.config or selected is None:
        return training, selected, failed
    if not any(selected.trades):
        return training, None, ""
    master = over_trained(prepared.config, training, selected, prepared.spec.seed)
    return (master, *master.train(progress))


def _data_part(config: TrainConfig) -> list[Any]:
    mapping = config.as_mapping()
    named = (config.features, config.task.probabilities, config.validation.factor)
    return [*named, *(mapping[key] for key in DATA_KEYS)]


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
    name: str, part: IndexRange, training: AssembledTraining, selected: SelectedPolicy | None
) -> TradedPeriod:
    data, setup = training.data, training.setup
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
