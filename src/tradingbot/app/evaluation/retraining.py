"""Training again for a dossier: the run's own way, with another seed, setting or period.

The same learner, trainer, guards and validation as `tradingbot train`, but nothing of it is kept on
disk: what counts is what the policy earns on bars that it never saw. A training that is halted
counts as one that stays out, with the reason; it is never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from tradingbot.app.evaluation.learner_policy import LearnerPolicy
from tradingbot.app.evaluation.piece import Progress, silent
from tradingbot.app.evaluation.training_order import Order, order_config
from tradingbot.app.evaluation.window_model import open_with_own_model
from tradingbot.app.pipeline import split_rows
from tradingbot.app.supervised.models import NO_MODEL
from tradingbot.app.training.assembly import assemble
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData, halves, open_data, require_parts
from tradingbot.app.training.kept_policy import (
    Kept,
    keep_everything,
    keep_nothing,
    keep_what_validation_supports,
)
from tradingbot.app.training.preparing import prepare
from tradingbot.app.training.wiring import Wired, part_task, scores_on
from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError, TrainingError
from tradingbot.evaluation.backtest import backtest, ready_bars
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_events import Event, Hooks, Snapshot, Updated

_DATA_KEYS = ("dataset", "market", "symbols", "splits", "scaling")
"""Sections of a configuration that say what is learned from, besides `task.probabilities`."""


@dataclass(frozen=True)
class PlayedPart:
    """What a policy earned over one period."""

    part: str
    first_day: str
    last_day: str
    portfolio: tuple[float, ...]
    """(S + 1,) worth of all sleeves together, 1 at the start."""
    sleeve_returns: tuple[float, ...]
    """(S,) simple return per bar, mean of the sleeves."""

    @property
    def net_bps_per_bar(self) -> float:
        """Mean of the sleeves' simple returns, basis points."""
        return 1e4 * float(np.mean(self.sleeve_returns))

    @property
    def returns(self) -> tuple[float, ...]:
        """(S,) simple returns of the portfolio."""
        return tuple(simple_returns(np.array(self.portfolio)).tolist())


@dataclass(frozen=True)
class Trained:
    """What came of an order."""

    order: Order
    steps_per_agent: int
    config_hash: str
    data_sha256: str
    trained_until: str
    """Last day that weights or validation saw."""
    trading_agents: int
    parts: tuple[PlayedPart, ...]
    failed: str = ""
    """Why it was halted; it stays out then."""

    def part(self, name: str) -> PlayedPart:
        """Return a period by its name."""
        return next(each for each in self.parts if each.part == name)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training that nothing but itself can stop any more."""

    order: Order
    config: TrainConfig
    data: TrainingData
    wired: Wired
    periods: tuple[tuple[str, IndexRange], ...]
    """Name and bars of what is traded afterwards."""


def prepare_training(
    order: Order, config: TrainConfig, data: TrainingData, workspace: Path
) -> Prepared:
    """Open and assemble what a training needs; whatever can be refused is refused here.

    Args:
        order: What is wanted.
        config: Of the run.
        data: What the run learned from; opened again only where the order changes it.
        workspace: Where datasets and models are.

    Raises:
        ConfigError: If a change does not fit the configuration.
        DataError: If a period has too few bars.
    """
    wanted = order_config(order, config)
    own_data = _data_of(order, wanted, config, data, workspace)
    periods = _periods(order, own_data)
    wired = assemble(wanted, own_data, seed=order.seed)
    return Prepared(order, wanted, own_data, wired, tuple(periods))


def require_periods(order: Order, config: TrainConfig, data: TrainingData) -> None:
    """Refuse an order whose parts or windows hold too few bars, before anything is opened.

    Args:
        order: On the bars of the run.
        config: Of the run.
        data: What the run learned from.

    Raises:
        ConfigError: If days are not in order.
        DataError: If a part or a window has too few bars.
    """
    wanted = order_config(order, config)
    split = split_rows(data.world.closed_at.astype("datetime64[us]"), wanted.splits)
    divided = replace(data, split=split)
    require_parts(divided, decides=wanted.validation.shrink)
    _periods(order, divided)


def carry_out(prepared: Prepared, progress: Progress = silent) -> Trained:
    """Train and play what was prepared.

    Args:
        prepared: Used up by it.
        progress: Told of steps.
    """
    order, config, data, wired = prepared.order, prepared.config, prepared.data, prepared.wired
    prepare(wired)
    kept, failed = _train(config, data, wired, progress)
    return Trained(
        order=order,
        steps_per_agent=config.budget.steps_per_agent,
        config_hash=config.config_hash,
        data_sha256=data.identity.data_sha256,
        trained_until=_day(data, data.split.validation.stop - 1),
        trading_agents=sum(kept.trades) if kept is not None else 0,
        parts=tuple(_play(name, part, wired, data, kept) for name, part in prepared.periods),
        failed=failed,
    )


def _data_of(
    order: Order, wanted: TrainConfig, config: TrainConfig, data: TrainingData, workspace: Path
) -> TrainingData:
    """Return what is learned from: the run's data, or others where the order changes them."""
    if _data_part(wanted) == _data_part(config):
        return data
    if order.last_days is not None and wanted.task.probabilities != NO_MODEL:
        return open_with_own_model(wanted, workspace)
    return open_data(wanted, workspace)


def _data_part(config: TrainConfig) -> list[Any]:
    mapping = config.as_mapping()
    return [config.task.probabilities, *(mapping[key] for key in _DATA_KEYS)]


def _train(
    config: TrainConfig, data: TrainingData, wired: Wired, progress: Progress
) -> tuple[Kept | None, str]:
    """Return what is kept of the policy, or None and why training was halted."""
    learner, healthy = wired.learner, dict[str, Tensor]()
    validation = part_task(wired, data, halves(data.split.validation)[0])

    def save(snapshot: Snapshot) -> None:
        if "healthy" in snapshot.labels:
            healthy.clear()
            healthy.update({name: tensor.clone() for name, tensor in snapshot.tensors.items()})

    def tell(event: Event) -> None:
        if isinstance(event, Updated):
            total = config.budget.steps_per_agent
            progress(min(event.steps, total), total, "training, step")

    hooks = Hooks(
        evaluate=lambda: scores_on(validation, learner, data.bars_per_year),
        save=save,
        load_healthy=lambda: dict(healthy),
        emit=tell,
    )
    trainer = Trainer(learner, config.plan, hooks, FlightRecorder(learner.task, config.guards))
    try:
        trainer.run()
    except TrainingError as e:
        return None, str(e)
    trainer.use_best()
    if not trainer.has_best:
        return keep_nothing(wired), ""
    shrinks = config.validation.shrink
    kept = keep_what_validation_supports(wired, data) if shrinks else keep_everything(wired)
    return kept, ""


def _periods(order: Order, data: TrainingData) -> list[tuple[str, IndexRange]]:
    split = data.split
    if order.windows:
        days = closing_day(data.world.closed_at.astype("datetime64[us]"))
        found = [
            (f"{first} … {last}", _bars(days, first, last, split.test.start))
            for first, last in order.windows
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
    name: str, part: IndexRange, wired: Wired, data: TrainingData, kept: Kept | None
) -> PlayedPart:
    begin = ready_bars(data.world, part).start
    days = (_day(data, begin), _day(data, part.stop - 1))
    if kept is None:
        n_bars = part.stop - 1 - begin
        return PlayedPart(name, *days, (1.0,) * (n_bars + 1), (0.0,) * n_bars)
    played = backtest(
        data.world,
        wired.env,
        LearnerPolicy(wired.learner.task, kept.act),
        name=name,
        bars_per_year=data.bars_per_year,
        first_bar=begin,
        last_bar=part.stop - 1,
    )
    sleeves = played.returns.mean(axis=1)
    return PlayedPart(name, *days, tuple(played.portfolio.tolist()), tuple(sleeves.tolist()))


def _day(data: TrainingData, bar: int) -> str:
    return str(closing_day(data.world.closed_at[[bar]].astype("datetime64[us]"))[0])
