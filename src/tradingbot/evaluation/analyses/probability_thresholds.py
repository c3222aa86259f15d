"""Backtests of a stored model by itself: long while a rise is probable enough, else flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from tradingbot.agents.baselines.market_rules import buy_and_hold
from tradingbot.agents.baselines.probability_threshold import (
    UP,
    ProbabilityThreshold,
    relative_thresholds,
)
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import PolicyUnderTest, backtest_all, sleeve_config
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.performance.record import HOLD, PolicyKind, PolicyPerformance
from tradingbot.market.costs import cost_profile
from tradingbot.runs.record import content_sha256
from tradingbot.supervised.model_manifest import read_manifest
from tradingbot.supervised.model_names import models_folder
from tradingbot.training.config_files import config_of_mapping, override_config
from tradingbot.training.data import open_data
from tradingbot.training.own_dataset_names import with_own_dataset
from tradingbot.training.trial_ledger import count_evaluation, data_key, model_key

Part = Literal["validation", "test"]


@dataclass(frozen=True)
class ThresholdLine:
    """One backtest; all symbols together, net of costs."""

    threshold: float | None
    """None for the reference."""
    reached_frac: float | None
    """Share of bars at which P(up) reaches it; None for the reference."""
    performance: PolicyPerformance


@dataclass(frozen=True)
class ThresholdTable:
    """A model's thresholds side by side, and what the figures hold for."""

    model: str
    part: Part
    label: str
    """Data and days."""
    synthetic: bool
    n_bars: int
    n_symbols: int
    costs: str
    highest_up: float
    """Largest P(up) of the part."""
    lines: tuple[ThresholdLine, ...]
    caveat: str


def backtest_thresholds(
    name: str,
    workspace: Path,
    *,
    thresholds: Sequence[float] = (),
    part: Part = "test",
    costs: str = "alpaca",
    progress: Progress = ignore_progress,
) -> ThresholdTable:
    """Backtest a stored model at several thresholds, beside buy and hold.

    Each threshold on the test part is counted in the ledger of trials, once.

    Args:
        name: Of the model.
        workspace: Where it and its data are.
        thresholds: Of P(up); by default 1 to 1.5 times the base rate of a rise in training.
        part: Of the split; nothing of the model was fitted on either.
        costs: Cost profile.
        progress: Told (finished, total, label) in bars.

    Raises:
        ConfigError: If model, costs or a threshold are not known or allowed.
        DataError: If the data is not what the model was fitted on, or too short.
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    manifest = read_manifest(models_folder(workspace), name)
    profile = cost_profile(costs)
    config = override_config(config_of_mapping(manifest.config), {"task.probabilities": name})
    data = open_data(with_own_dataset(config, manifest.data.dataset_sha256, workspace), workspace)
    rows = data.split.validation if part == "validation" else data.split.test
    world = data.world
    thresholds = thresholds or relative_thresholds(manifest.base_rates[UP])
    chances = world.probabilities[:, rows.start : rows.stop, UP]
    results = backtest_all(
        world,
        sleeve_config(profile),
        [*threshold_policies(world, thresholds), PolicyUnderTest(HOLD, buy_and_hold)],
        bars_per_year=data.bars_per_year,
        bars=rows,
        progress=progress,
    )
    hold = results[-1].portfolio_returns
    kinds: list[tuple[float | None, PolicyKind]] = [(each, "supervised") for each in thresholds]
    kinds.append((None, "baseline"))
    table = ThresholdTable(
        model=f"{manifest.name} ({manifest.model})",
        part=part,
        label=results[0].label,
        synthetic=world.synthetic,
        n_bars=results[0].n_bars,
        n_symbols=world.n_symbols,
        costs=costs,
        highest_up=float(chances.max()),
        lines=tuple(
            ThresholdLine(
                threshold,
                None if threshold is None else float((chances >= threshold).mean()),
                policy_performance(result, kind, hold),
            )
            for result, (threshold, kind) in zip(results, kinds, strict=True)
        ),
        caveat=data.caveat,
    )
    # Every threshold counts: they are shown side by side, and one may be chosen.
    for threshold in thresholds if part == "test" else ():  # what was refused above was not shown
        asked = {"model": manifest.sha256, "threshold": threshold, "costs": asdict(profile)}
        count_evaluation(
            model_key(name),
            workspace,
            models_folder(workspace) / name,
            data=data_key(data.identity),
            config_hash=content_sha256(asked),
            at=datetime.now(UTC),
        )
    return table


def threshold_policies(world: World, thresholds: Sequence[float]) -> list[PolicyUnderTest]:
    """Return policies that hold while P(up) of a world reaches a threshold, one for each."""
    chances = torch.from_numpy(np.array(world.probabilities).reshape(-1, 3))
    return [
        PolicyUnderTest(f"P(up) ≥ {_level(threshold)}", ProbabilityThreshold(chances, threshold))
        for threshold in thresholds
    ]


def _level(threshold: float) -> str:
    """Write a threshold with two digits, or three where it has them."""
    return f"{threshold:.3f}".removesuffix("0")
