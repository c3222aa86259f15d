"""What is to be trained again for a dossier, the configuration that says so, and the result.

A run's supervised model is fitted anew for another period, the same kind on that training part: one
that was fitted for the run has seen days that an earlier window validates or trades. Classifier,
settings, labels, folds and seed are those of the run's model; only what it learned from is another.
It is not stored, and not proved causal once more: that is a matter of its kind, which the run's own
model has a proof of.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot.envs.world import select_symbols
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig, build_classifier, fit_model
from tradingbot.supervised.joined_world import show_probabilities
from tradingbot.supervised.model_manifest import read_manifest
from tradingbot.supervised.model_names import NO_MODEL, models_folder, split_models
from tradingbot.training.budget import FEWEST_UPDATES, steps_in_update
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.supervised.data import open_source

Value = str | int | float | bool
_EVALUATIONS = 2
"""A short training is looked at this often at least."""


@dataclass(frozen=True)
class RetrainingSpec:
    """One training of an evaluation; equal specifications are the same training."""

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
        """Name of the analysis that it is."""
        return f"training-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class TradedPeriod:
    """What a policy earned over one period."""

    part: str
    first_day: str
    last_day: str
    portfolio: tuple[float, ...]
    """(S + 1,) worth of all sleeves together, 1 at the start."""
    sleeve_returns: tuple[float, ...]
    """(S,) simple return per bar, mean of the sleeves."""
    alpha: tuple[float, ...]
    """(S,) what of it is alpha, with betas of its own training bars."""

    @property
    def net_bps_per_bar(self) -> float:
        """Mean of the sleeves' simple returns, basis points."""
        return 1e4 * float(np.mean(self.sleeve_returns))

    @property
    def alpha_bps_per_bar(self) -> float:
        """Mean of alpha, basis points."""
        return 1e4 * float(np.mean(self.alpha))

    @property
    def returns(self) -> tuple[float, ...]:
        """(S,) simple returns of the portfolio."""
        return tuple(simple_returns(np.array(self.portfolio)).tolist())


@dataclass(frozen=True)
class RetrainingResult:
    """Result of a retraining."""

    spec: RetrainingSpec
    steps_per_agent: int
    config_hash: str
    data_sha256: str
    trained_until: str
    """Last day that weights or validation saw."""
    trading_agents: int
    parts: tuple[TradedPeriod, ...]
    failed: str = ""
    """Why it was halted; it stays out then."""

    def part(self, name: str) -> TradedPeriod:
        """Return a period by its name."""
        return next(each for each in self.parts if each.part == name)


def retraining_config(spec: RetrainingSpec, config: TrainConfig) -> TrainConfig:
    """Return the configuration of a training.

    Schedules shrink with the budget; a short training is still looked at a few times.

    Raises:
        ConfigError: If a change does not fit.
    """
    options: dict[str, object] = {"seed": spec.seed, **dict(spec.changes)}
    if config.encoder.transfer_from is not None:
        options["encoder.transfer_from"] = None  # it may have seen the bars that are traded here
    if spec.last_days is not None:
        days = [date.fromisoformat(day) for day in spec.last_days]
        names = ("splits.train", "splits.validation", "splits.test")
        options |= {"splits.by": "date", **dict(zip(names, days, strict=True))}
    changed_config = override_config(config, options)
    return override_config(changed_config, _shorter(changed_config, spec.steps_share_frac))


def _shorter(config: TrainConfig, share: float) -> dict[str, object]:
    learner, budget = config.learner, config.budget
    sections = config.as_mapping()["learner"]
    in_update = steps_in_update(config)
    updates = max(FEWEST_UPDATES, math.ceil(budget.steps_per_agent * share / in_update))
    if updates * in_update >= budget.steps_per_agent:
        return {}
    steps = updates * in_update
    every = max(1, min(config.validation.every_updates, updates // _EVALUATIONS))
    shorter: dict[str, object] = {
        "budget.steps_per_agent": steps,
        "validation.every_updates": every,
    }
    for name in learner.acting_sections:
        shares = steps / budget.steps_per_agent
        shorter |= _shorter_schedules(sections[name], f"learner.{name}", shares)
    return shorter


def _shorter_schedules(section: Mapping[str, Any], prefix: str, share: float) -> dict[str, object]:
    """Return what `over` and `hold` of every schedule below a section become."""
    found: dict[str, object] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            found |= _shorter_schedules(value, f"{prefix}.{key}", share)
        elif key in ("over", "hold") and "kind" in section:
            found[f"{prefix}.{key}"] = math.ceil(value * share)
    return found


def open_with_own_model(config: TrainConfig, workspace: Path) -> TrainingData:
    """Open data whose probabilities are of a model that was fitted on their own training part.

    Args:
        config: Its `task.probabilities` names the model to fit again; its splits say on what.
        workspace: Where datasets and models are.

    Raises:
        ConfigError: If there is no such model.
        DataError: If the training part holds too little to fit it on.
        MissingExtraError: If the model's package is not installed.
    """
    names = config.task.probabilities
    data = open_data(override_config(config, {"task.probabilities": NO_MODEL}), workspace)
    table, train = open_source(config, workspace).table, data.split.train
    models, digests = [], []
    for name in split_models(names):
        manifest = read_manifest(models_folder(workspace), name)
        fit = FitConfig(LabelConfig(**manifest.labels), FoldConfig(**manifest.folds), manifest.seed)
        classifier = build_classifier(manifest.model, manifest.settings)
        models.append(fit_model(classifier, table, train, fit).model)
        digests.append(manifest.sha256)
    whole = show_probabilities(data.whole, models, table, f"probabilities of {names}, fitted anew")
    world = select_symbols(whole, data.world.symbols)
    seen = f"{data.identity.data_sha256} {' '.join(digests)} {train.start} {train.stop}"
    identity = data.identity.model_copy(
        update={"label": world.label, "data_sha256": hashlib.sha256(seen.encode()).hexdigest()}
    )
    return replace(data, world=world, whole=whole, identity=identity)
