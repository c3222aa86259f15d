"""What a run learns from: a certified panel or a generated market, divided in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tradingbot.data.calendar import time_zone_of
from tradingbot.data.factor import (
    EQUAL_WEIGHT,
    MarketFactor,
    bar_returns,
    fit_factor,
    require_factor,
)
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.synthetic import regenerate
from tradingbot.data.splits import IndexRange, Split
from tradingbot.data.store import BarStore
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.universes import load_universe
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.timeframe import BarGrid
from tradingbot.envs.build_world import world_from_market, world_from_panel
from tradingbot.envs.synthetic_market import inputs_of_market
from tradingbot.envs.world import World, select_symbols
from tradingbot.features.panel import Panel, panel_specs
from tradingbot.features.panel_scaler import panel_scalers
from tradingbot.features.pipeline import panel_of, split_rows, synthetic_source
from tradingbot.runs.record import DataIdentity
from tradingbot.runs.tensors import final_hash
from tradingbot.supervised.joined_world import JoinedWorld, join_models
from tradingbot.supervised.model_names import NO_MODEL, split_models
from tradingbot.supervised.table import ModelTable, table_of_inputs, table_of_panel
from tradingbot.training.bars_per_year import bars_per_year
from tradingbot.training.config import TrainConfig
from tradingbot.training.data_hashes import bars_sha256, world_sha256
from tradingbot.training.sleeve_agents import open_sleeve_agents, portfolio_identity
from tradingbot.training.sleeve_settings import explain_misfit
from tradingbot.training.trained_sleeves import SleeveAgents

REFERENCE_INDEX = "SPY"
SURVIVORSHIP = (
    "A fixed list of symbols carries survivorship bias; "
    "equal weight of the same symbols is the honest reference."
)
"""Stands by every result on observed bars."""
DECIDING_BLOCKS = 8
"""Blocks of bars that a decision on validation needs; a short part has shorter ones."""
_FEWEST_BARS = 2
_PROBABILITIES = ("probability_down-v1", "probability_flat-v1", "probability_up-v1")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A world of the symbols that get agents, and what is needed to judge them there."""

    world: World
    whole: World
    """Every symbol of the data: the reference index may have no agent."""
    split: Split
    market: SyntheticMarket | None
    """With latent state, for oracles; None where the bars were observed."""
    bars_per_year: float
    identity: DataIdentity
    normaliser: dict[str, Tensor] = field(default_factory=dict)
    """Statistics of the scaler; empty where the market was generated in memory."""
    factor_name: str = EQUAL_WEIGHT
    """What stands for the market: `equal_weight`, `none`, or a symbol of the data."""
    time_zone: str = "UTC"
    """Of the exchange."""
    sleeve_agents: SleeveAgents | None = None
    """Trained agents that trade the sleeves of a portfolio; None: a rule does."""

    @cached_property
    def factor(self) -> MarketFactor:
        """The market beside every symbol of the data, with betas of the training bars."""
        moves = bar_returns(self.whole.prices, self.whole.present)
        names, clock = self.whole.symbols, self.whole.closed_at
        return fit_factor(moves, names, self.split.train, clock, self.factor_name)

    @property
    def periods(self) -> dict[str, DayRange]:
        """Days of train, validation and test."""
        return self.split.periods(self.whole.closed_at.astype("datetime64[us]"))

    @property
    def caveat(self) -> str:
        """What every figure of these data is to be read with; empty for synthetic ones."""
        return "" if self.identity.synthetic else SURVIVORSHIP


def halves(part: IndexRange) -> tuple[IndexRange, IndexRange]:
    """Cut the validation part in two: the first half chooses weights, the second judges them.

    The best of many evaluations is partly luck. Asked again on the same bars whether it earns
    anything, luck would count as evidence.
    """
    middle = (part.start + part.stop) // 2
    return IndexRange(part.start, middle), IndexRange(middle, part.stop)


def require_parts(data: TrainingData, *, decides: bool) -> None:
    """Refuse parts of the split that nothing can be judged on.

    Args:
        data: With its split.
        decides: Whether the second half of validation decides what is kept of the policy.

    Raises:
        DataError: If a part has too few bars.
    """
    choosing, deciding = halves(data.split.validation)
    wanted = (
        ("the first half of validation", choosing, _FEWEST_BARS),
        ("the second half of validation", deciding, DECIDING_BLOCKS + 1 if decides else 0),
        ("test", data.split.test, _FEWEST_BARS),
    )
    for name, part, least in wanted:
        if len(part) < least:
            raise DataError(
                f"{name} must have {least} bars or more",
                was=len(part),
                where=data.identity.label,
                remedy="Use more bars, or give the part a larger share in splits",
            )


def open_data(config: TrainConfig, workspace: Path) -> TrainingData:
    """Open or generate what a configuration names, and the agents that trade its sleeves.

    Raises:
        UncertifiedPanelError: If the panel of the dataset was not proved free of look-ahead.
        DataError: If a symbol has no data, or a part of the split is empty.
        ConfigError: If the market or a parameter of it is unknown, or agents of the sleeves learned
            from bars that the master is judged on.
    """
    data = open_bars(config, workspace)
    if config.environment.kind == "portfolio":
        sleeves = config.environment.portfolio.sleeves
        known = (data.world, data.identity, workspace)
        try:
            agents = open_sleeve_agents(sleeves, *known, periods=data.periods)
        except ConfigError as e:
            raise explain_misfit(e, config, workspace) from e
        return traded_by(agents, data)
    return data


def open_bars(config: TrainConfig, workspace: Path) -> TrainingData:
    """Open or generate the bars that a configuration names; see `open_data`."""
    if config.dataset is not None:
        data = _stored(config, config.dataset, workspace)
    else:
        data = _generated(config, workspace)
    require_factor(config.validation.factor, data.whole.symbols)
    return replace(data, factor_name=config.validation.factor)


def traded_by(agents: SleeveAgents | None, data: TrainingData) -> TrainingData:
    """Return the data of a portfolio whose sleeves such agents trade; None: a rule does."""
    identity = portfolio_identity(data.identity, agents)
    return replace(data, identity=identity, sleeve_agents=agents)


def _stored(config: TrainConfig, name: str, workspace: Path) -> TrainingData:
    dataset = BarStore(workspace).open(name)
    panel = Panel.open(panel_of(dataset, workspace, config.features))
    provenance = dataset.manifest.provenance
    split = split_rows(panel.numpy("closed_at").astype("datetime64[us]"), config.splits)
    scaler, *more = panel_scalers(panel, split.train, config.scaling)
    whole = world_from_panel(
        panel, train=split.train, scaler=scaler, covariate_scaler=more[0] if more else None
    )
    data_sha256 = panel.manifest.sha256
    if config.task.probabilities != NO_MODEL:
        joined = _joined(whole, table_of_panel(panel), split, config, workspace)
        whole, data_sha256 = joined.world, joined.data_sha256(data_sha256)
    world = _chosen(whole, config.symbols)
    normaliser = {"centre": torch.tensor(scaler.centre), "scale": torch.tensor(scaler.scale)}
    identity = DataIdentity(
        label=world.label,
        synthetic=world.synthetic,
        data_sha256=data_sha256,
        dataset_sha256=panel.manifest.dataset_sha256,
        certificate_sha256=panel.certificate.sha256 if panel.certificate else None,
        normaliser_sha256=final_hash(normaliser),
        feature_ids=_feature_ids(world, panel.manifest.covariates, config.task.probabilities),
        agents=world.symbols,
    )
    market = regenerate(provenance) if provenance.has_latent_state else None
    per_year = bars_per_year(world, provenance)
    zone = time_zone_of(provenance.calendar)
    found = TrainingData(world, whole, split, market, per_year, identity, normaliser)
    return replace(found, time_zone=zone)


def _generated(config: TrainConfig, workspace: Path) -> TrainingData:
    source = synthetic_source(config.market)
    market = source.generate()
    split = split_rows(market.closed_at, config.splits)
    label = f"synthetic market {market.name!r}, seed {market.seed}"
    whole = world_from_market(market, label=label, train=split.train, feature_set=config.features)
    if config.task.probabilities != NO_MODEL:
        inputs = inputs_of_market(market)
        table = table_of_inputs(inputs, panel_specs(inputs.covariates, config.features))
        whole = _joined(whole, table, split, config, workspace).world
    provenance = market_provenance(config)
    covariates = tuple(market.covariates)
    data = data_of_world(whole, split, config, provenance=provenance, covariates=covariates)
    identity = data.identity.model_copy(update={"dataset_sha256": bars_sha256(market)})
    return replace(data, market=market, identity=identity)


def market_provenance(config: TrainConfig) -> Provenance:
    """Return where the bars of a configuration's generated market come from."""
    source = synthetic_source(config.market)
    return Provenance(
        provider=source.id,
        timeframe=source.timeframe,
        grid=BarGrid(source.grid),
        calendar=load_universe(config.market.universe).calendar,
        synthetic=True,
    )


def data_of_world(
    whole: World,
    split: Split,
    config: TrainConfig,
    *,
    provenance: Provenance,
    covariates: Sequence[str],
) -> TrainingData:
    """Return a world in memory as what a run learns from; its market and dataset are not known.

    Args:
        whole: Every symbol of the data.
        split: Of its bars.
        config: Which symbols get an agent, and the models whose probabilities the world shows.
        provenance: Calendar and timeframe of the bars.
        covariates: Names of the covariates among the features.

    Raises:
        DataError: If a symbol that gets an agent has no data.
    """
    world = _chosen(whole, config.symbols)
    identity = DataIdentity(
        label=world.label,
        synthetic=world.synthetic,
        data_sha256=world_sha256(world),
        feature_ids=_feature_ids(world, covariates, config.task.probabilities),
        agents=world.symbols,
    )
    data = TrainingData(world, whole, split, None, bars_per_year(world, provenance), identity)
    require_factor(config.validation.factor, whole.symbols)
    zone = time_zone_of(provenance.calendar)
    return replace(data, factor_name=config.validation.factor, time_zone=zone)


def _joined(
    whole: World, table: ModelTable, split: Split, config: TrainConfig, workspace: Path
) -> JoinedWorld:
    names = config.task.probabilities
    return join_models(whole, table, split, names=names, workspace=workspace)


def _chosen(world: World, symbols: Sequence[str]) -> World:
    chosen = select_symbols(world, symbols) if symbols else world
    has_bar = np.asarray(chosen.usable.any(axis=1))
    silent = [chosen.symbols[index] for index in np.flatnonzero(~has_bar)]
    if silent:
        raise DataError(
            "symbols that get an agent must have data",
            was=", ".join(silent[:5]) + (" …" if len(silent) > 5 else ""),
            where=world.label,
            remedy="Leave them out with --symbols, or import their bars",
        )
    return chosen


def _feature_ids(world: World, covariates: Sequence[str], models: str) -> tuple[str, ...]:
    """Name and version of every column of a task's table, in order."""
    ids = {spec.name: spec.id for spec in panel_specs(covariates, "relative")}
    own = [ids[name] for name in (*world.feature_names, *world.regime_names)]
    names = split_models(models)
    rises = tuple(f"probability_up_of_model_{place}-v1" for place in (1, 2, 3))
    return (*own, *(_PROBABILITIES if len(names) == 1 else rises))
