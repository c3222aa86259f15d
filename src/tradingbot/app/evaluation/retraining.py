"""Training again for a dossier: the run's own way, with another seed, setting or period.

The same learner, trainer, guards and validation as `tradingbot train`, but nothing of it is kept on
disk: what counts is what the policy earns on bars that it never saw. A training that is halted
counts as one that stays out, with the reason; it is never dropped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from tradingbot.app.evaluation.learner_policy import LearnerPolicy
from tradingbot.app.evaluation.piece import Progress, silent
from tradingbot.app.training.config_files import changed
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData, halves, open_data
from tradingbot.app.training.kept_policy import (
    Kept,
    keep_everything,
    keep_nothing,
    keep_what_validation_supports,
)
from tradingbot.app.training.wiring import Wired, part_task, scores_on, wire
from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError, TrainingError
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import between
from tradingbot.evaluation.backtest import backtest
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_events import Event, Hooks, Snapshot, Updated

Value = str | int | float | bool
_FEWEST_UPDATES = 2
_EVALUATIONS = 2
"""A short training is looked at this often at least."""
_DATA_KEYS = ("dataset", "market", "symbols", "splits", "scaling")
"""Sections of a configuration that say what is learned from, besides `task.probabilities`."""


@dataclass(frozen=True)
class Order:
    """One training; equal orders are the same training."""

    seed: int
    steps_share_frac: float
    """Budget ÷ that of the run."""
    changes: tuple[tuple[str, Value], ...] = ()
    """Dotted key of the run's configuration → value."""
    last_days: tuple[str, str, str] | None = None
    """Of training, validation and test; None for the run's own split."""
    windows: tuple[tuple[str, str], ...] = ()
    """First and last day of periods to trade; validation and test where there is none."""

    @property
    def name(self) -> str:
        """Name of the piece that it is."""
        return f"training-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


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


def fulfil(
    order: Order,
    config: TrainConfig,
    data: TrainingData,
    workspace: Path,
    progress: Progress = silent,
) -> Trained:
    """Train and play.

    Args:
        order: What is wanted.
        config: Of the run.
        data: What the run learned from; opened again only where the order changes it.
        workspace: Where datasets are.
        progress: Told of steps.

    Raises:
        ConfigError: If a change does not fit the configuration.
        DataError: If a period has too few bars.
    """
    wanted = order_config(order, config)
    same_data = _data_part(wanted) == _data_part(config)
    own_data = data if same_data else open_data(wanted, workspace)
    wired = wire(wanted, own_data, seed=order.seed)
    kept, failed = _train(wanted, own_data, wired, progress)
    periods = _periods(order, own_data)
    return Trained(
        order=order,
        steps_per_agent=wanted.budget.steps_per_agent,
        config_hash=wanted.config_hash,
        data_sha256=own_data.identity.data_sha256,
        trained_until=_day(own_data, own_data.split.validation.stop - 1),
        trading_agents=sum(kept.trades) if kept is not None else 0,
        parts=tuple(_play(name, part, wired, own_data, kept) for name, part in periods),
        failed=failed,
    )


def order_config(order: Order, config: TrainConfig) -> TrainConfig:
    """Return the configuration of a training.

    Schedules shrink with the budget; a short training is still looked at a few times.

    Raises:
        ConfigError: If a change does not fit.
    """
    options: dict[str, object] = {"seed": order.seed, **dict(order.changes)}
    if config.encoder.transfer_from is not None:
        options["encoder.transfer_from"] = None  # it may have seen the bars that are traded here
    if order.last_days is not None:
        days = [date.fromisoformat(day) for day in order.last_days]
        options |= {"splits.by": "date"}
        options |= dict(
            zip(("splits.train", "splits.validation", "splits.test"), days, strict=True)
        )
    changed_config = changed(config, options)
    return changed(changed_config, _shorter(changed_config, order.steps_share_frac))


def _shorter(config: TrainConfig, share: float) -> dict[str, object]:
    name, budget = config.learner.name, config.budget
    section = config.as_mapping()["learner"][name]
    in_update = budget.n_envs * _steps_of_update(config)
    updates = max(_FEWEST_UPDATES, math.ceil(budget.steps_per_agent * share / in_update))
    if updates * in_update >= budget.steps_per_agent:
        return {}
    steps = updates * in_update
    every = max(1, min(config.validation.every_updates, updates // _EVALUATIONS))
    return {
        "budget.steps_per_agent": steps,
        "validation.every_updates": every,
        **_shorter_schedules(section, f"learner.{name}", steps / budget.steps_per_agent),
    }


def _steps_of_update(config: TrainConfig) -> int:
    learner = config.learner
    if learner.name == "ppo":
        return learner.ppo.rollout_steps
    return learner.sac.steps_per_update if learner.name == "sac" else learner.direct.chunk_bars


def _shorter_schedules(section: Mapping[str, Any], prefix: str, share: float) -> dict[str, object]:
    """Return what `over` and `hold` of every schedule below a section become."""
    found: dict[str, object] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            found |= _shorter_schedules(value, f"{prefix}.{key}", share)
        elif key in ("over", "hold") and "kind" in section:
            found[f"{prefix}.{key}"] = math.ceil(value * share)
    return found


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
    if not order.windows:
        return [("validation", split.validation), ("test", split.test)]
    days = closing_day(data.world.closed_at.astype("datetime64[us]"))
    return [
        (f"{first} … {last}", _bars(days, first, last, split.test.start))
        for first, last in order.windows
    ]


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
    begin = part.start + first_ready_bar(between(data.world, part.start, part.stop - 1))
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
