"""A supervised model as a policy: long while a rise is probable enough, on bars it has not seen.

On its own data a model speaks by stages, each fitted on earlier bars than it is asked about. On
other data its last stage speaks, for bars after its training part alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from tradingbot.agents.baselines.probability_threshold import (
    UP,
    ProbabilityThreshold,
    relative_thresholds,
)
from tradingbot.agents.policy import Policy
from tradingbot.data.splits import IndexRange, Split
from tradingbot.envs.world import World
from tradingbot.evaluation.market_rollouts import RolloutMarket
from tradingbot.evaluation.pipeline.test_access import TestSetAccess
from tradingbot.evaluation.policy_names import model_reference
from tradingbot.features.pipeline import split_rows
from tradingbot.market.costs import CostProfile
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_manifest import (
    ModelManifest,
    read_manifest,
    require_features,
    require_later_bars,
)
from tradingbot.supervised.model_names import models_folder
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel
from tradingbot.supervised.table import ModelTable
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.data_hashes import bars_sha256
from tradingbot.training.own_dataset_names import with_own_dataset
from tradingbot.training.supervised.data import open_source
from tradingbot.training.trial_ledger import data_key, model_key


@dataclass(frozen=True, eq=False)
class TradedModel:
    """A stored model on the bars of a market."""

    reference: str
    """As it was named."""
    manifest: ModelManifest
    threshold: float
    policy: Policy
    first_bar: int
    """First bar of the market that it speaks for."""
    own_split: Split | None
    """Of its own data; None where it trades other data."""
    folder: Path
    data_key: str
    """Hash of the market's bars, as trials are counted by."""

    def named(self, bars: IndexRange) -> str:
        """Return its name with what the bars are to it."""
        use, stop = "out of sample", self.manifest.data.train_stop
        if self.own_split is not None and bars.start < stop:
            use = "out of fold" if bars.stop <= stop else "out of fold, then out of sample"
        return f"{self.reference} ({use})"

    @property
    def note(self) -> str:
        """What it does and what it was fitted on, in words."""
        fitted = self.manifest.data
        where = "" if self.own_split is not None else ", on other data than these"
        return (
            f"{self.reference} ({self.manifest.model}): long while P(up) ≥ {self.threshold:g}, "
            f"else flat; fitted on {fitted.first_day} … {fitted.last_day}"
            f"{where}."
        )

    def access(
        self, bars: IndexRange, costs: CostProfile, delay_bars: int, workspace: Path
    ) -> TestSetAccess | None:
        """Return what is to be counted of a backtest; None where no test bar is traded."""
        test = self.own_split.test if self.own_split is not None else None
        if test is not None and bars.stop <= test.start:
            return None
        asked: dict[str, object] = {
            "model": self.manifest.sha256,
            "threshold": self.threshold,
            "costs": asdict(costs),
        }
        if bars != test or delay_bars:  # else the same look as `supervised backtest` makes
            asked |= {"bars": [bars.start, bars.stop], "delay_bars": delay_bars}
        owner = model_key(self.manifest.name)
        return TestSetAccess(owner, workspace, self.folder, self.data_key, asked)


def own_data(text: str, workspace: Path) -> tuple[RolloutMarket, Split]:
    """Open what a model was fitted on, as a market to trade on, and how it was divided."""
    name, _ = model_reference(text)
    manifest = read_manifest(models_folder(workspace), name)
    config = config_of_mapping(manifest.config)
    config = with_own_dataset(config, manifest.data.dataset_sha256, workspace)
    data = open_data(config, workspace)
    return market_of_data(data, config, workspace), data.split


def market_of_data(data: TrainingData, config: TrainConfig, workspace: Path) -> RolloutMarket:
    """Make the data of a configuration a market to trade on."""
    return RolloutMarket(
        data.world,
        data.market,
        data.bars_per_year,
        table=lambda: open_source(config, workspace).table,
        dataset_sha256=data_key(data.identity),
        time_zone=data.time_zone,
    )


def open_traded_model(text: str, workspace: Path, market: RolloutMarket) -> TradedModel:
    """Make a model a policy on a market.

    Args:
        text: `model:NAME`, or `model:NAME:threshold=0.4`; by default the base rate of a rise.
        workspace: Where the model is.
        market: With the table that classifiers see.

    Raises:
        ConfigError: If there is no such model, or a parameter is not allowed.
        DataError: If the market has other features, or no bar after those it was fitted on.
        StorageError: If the model is damaged.
    """
    name, threshold = model_reference(text)
    model, manifest = open_model(models_folder(workspace), name)
    world = market.world
    assert market.table is not None  # of every market that a backtest opens
    table = market.table()
    require_features(manifest, table.names, world.label)
    split, first = None, model.stages[0].from_bar
    if table.sha256 == manifest.data.data_sha256:
        splits = config_of_mapping(manifest.config).splits
        split = split_rows(world.closed_at.astype("datetime64[us]"), splits)
    else:
        first = _first_later(world, manifest)
        last = model.stages[-1]
        only = ModelStage(first, min(first, last.seen_until), last.model, last.calibration)
        model = replace(model, stages=(only,))
    if threshold is None:
        threshold = relative_thresholds(manifest.base_rates[UP])[0]
    chances = torch.from_numpy(_chances(model, table, world, first))
    return TradedModel(
        text,
        manifest,
        threshold,
        ProbabilityThreshold(chances, threshold),
        first,
        split,
        models_folder(workspace) / name,
        _data_key(market),
    )


def _first_later(world: World, manifest: ModelManifest) -> int:
    """Return the first bar after a model's training part; there is one, or it is refused."""
    days = world.closed_at.astype("datetime64[us]").astype("datetime64[D]")
    require_later_bars(manifest, days[-1].item(), world.label)
    after = np.datetime64(manifest.data.last_day, "D")
    return int(np.searchsorted(days, after, side="right"))


def require_unseen(model: TradedModel, world: World, bars: IndexRange) -> None:
    """Refuse bars of other data that may be among those the model was fitted on.

    Raises:
        DataError: Naming the days.
    """
    if model.own_split is None and bars.start < model.first_bar:
        day = world.closed_at[bars.start].astype("datetime64[us]").astype("datetime64[D]")
        require_later_bars(model.manifest, day.item(), world.label)


def _chances(
    model: ProbabilityModel, table: ModelTable, world: World, first: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return probabilities (N · T, 3) for the symbols of a world; 0 where the model is silent."""
    place = {symbol: row for row, symbol in enumerate(table.symbols)}
    chances = model.probabilities(table)[[place[symbol] for symbol in world.symbols]]
    chances[:, :first] = 0.0  # thirds would be a rise that is likelier than usual
    return chances.reshape(-1, chances.shape[-1])


def _data_key(market: RolloutMarket) -> str:
    if market.dataset_sha256 is not None:
        return market.dataset_sha256
    assert market.market is not None  # what is not stored was generated
    return bars_sha256(market.market)
