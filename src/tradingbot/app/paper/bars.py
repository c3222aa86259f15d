"""Bars of a session: the stored ones, and those that come as they close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tradingbot.app.paper.access import data_settings
from tradingbot.data.calendar import time_zone_of
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.growing_folder import GrowingFolder
from tradingbot.data.sources.pacing import Clock
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.pipeline import read_inputs
from tradingbot.runs import RunDirectory, find_run
from tradingbot.runtime.session.bar_record import BarRecord
from tradingbot.runtime.session.bars import BarFeed, DatasetBars
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.live_bars import BarSupplier, LiveBars
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping

ALPACA, FOLDER = "alpaca", "folder:"
_AHEAD = timedelta(days=300)  # a calendar is known for a year


def open_feed(
    folder: SessionFolder,
    inputs: MarketInputs,
    hours: ExchangeHours,
    clock: Clock,
    environment: Mapping[str, str],
) -> BarFeed:
    """Return the bars that a session takes."""
    settings = folder.settings()
    if settings.is_replay:
        return DatasetBars(inputs, stop=settings.stop_bar)
    record = BarRecord(folder.bars)
    supplier = _supplier(settings, inputs.symbols, clock, environment)
    return LiveBars(inputs, record, supplier, hours, clock=clock)


def _supplier(
    settings: SessionSettings,
    symbols: tuple[str, ...],
    clock: Clock,
    environment: Mapping[str, str],
) -> BarSupplier:
    if settings.bars.startswith(FOLDER):
        return GrowingFolder(
            Path(settings.bars.removeprefix(FOLDER)),
            settings.timeframe,
            BarGrid(settings.grid),
            settings.calendar,
            clock,
        )
    from tradingbot.data.sources.alpaca_recent import AlpacaRecentBars
    from tradingbot.data.sources.vendors import AlpacaCredentials

    timeframe = Timeframe.parse(settings.timeframe)
    credentials = AlpacaCredentials.from_environment(environment)
    return AlpacaRecentBars(
        symbols, timeframe, credentials, data_settings(environment), clock=clock
    )


def hours_of(settings: SessionSettings, inputs: MarketInputs, clock: Clock) -> ExchangeHours:
    """Return the hours of the exchange for the days of the bars, and of those to come."""
    first, last = (inputs.closed_at[place].astype("datetime64[D]").item() for place in (0, -1))
    if not settings.is_replay:
        last = (clock.now() + _AHEAD).date()
    return ExchangeHours(settings.calendar, settings.timeframe, BarGrid(settings.grid), first, last)


def open_bars(
    workspace: Path, dataset: str | None, run: str, sha256: str = ""
) -> tuple[MarketInputs, Provenance, str]:
    """Return bars on their grid, where they come from, and their hash.

    Args:
        workspace: Where datasets and runs are.
        dataset: Its name; None: the market that the run generated.
        run: Id of the run.
        sha256: Content that a dataset had when it was chosen; its name may mean another since. Any
            by default.

    Raises:
        ConfigError: If neither is there.
    """
    if dataset is not None:
        store = BarStore(workspace)
        stored = (store.open_content(sha256) if sha256 else None) or store.open(dataset)
        manifest = stored.manifest
        return read_inputs(stored), manifest.provenance, manifest.content_sha256
    config = config_of(workspace, run)
    if config is None:
        rule = "bars must be named where the run of a model is not in the workspace"
        raise ConfigError(rule, was="none", where=run, remedy="Give --dataset NAME")
    from tradingbot.envs.synthetic_market import inputs_of_market
    from tradingbot.features.pipeline import synthetic_source
    from tradingbot.training.data import market_provenance
    from tradingbot.training.data_hashes import bars_sha256

    market = synthetic_source(config.market).generate()
    provenance = market_provenance(config)
    inputs = replace(inputs_of_market(market), time_zone=time_zone_of(provenance.calendar))
    return inputs, provenance, bars_sha256(market)


def config_of(workspace: Path, run: str) -> TrainConfig | None:
    """Return the configuration of a run; None where the run is not in the workspace."""
    try:
        found: RunDirectory = find_run(workspace / "runs", run)
    except UserError:
        return None
    return config_of_mapping(found.record.config)
