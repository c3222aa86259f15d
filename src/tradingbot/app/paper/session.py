"""Sessions on paper, put together: model, bars, rules, venue and journal of a session's folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot.data.calendar import closing_day, time_zone_of
from tradingbot.data.manifest import Provenance
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.plain_values import read_record
from tradingbot.domain.timeframe import BarGrid
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.pipeline import read_inputs
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.risk.limits import (
    SESSION_RISK,
    WIDEST_ORDER_LIMITS,
    WIDEST_SESSION_LIMITS,
    RiskLimits,
    SessionLimits,
)
from tradingbot.runs import RunDirectory, find_run
from tradingbot.runtime.brokers.paper.broker import PaperBroker, PaperOptions
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.bars import DatasetBars
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.venue import PaperVenue
from tradingbot.serving.served_model import ServedModel
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping

DEFAULT_DAYS = 7
"""Days before the last one that are replayed unless told otherwise."""


@dataclass(frozen=True)
class SessionRequest:
    """What a person asks to be started."""

    name: str
    model: Path
    """Bundle."""
    dataset: str | None = None
    start: date | None = None
    end: date | None = None
    limits: dict[str, object] | None = None
    """Fields of `SessionLimits` that differ."""
    is_unlimited: bool = False
    """Judge by the rules of the symbols' own accounts alone, as a backtest does."""
    authorised: tuple[str, ...] = ()
    speed: float = 0.0
    parts: int = 1
    latency_s: float = 0.0
    shadow: Path | None = None


def plan_session(request: SessionRequest, workspace: Path) -> SessionSettings:
    """Decide everything that a session will be held to.

    Raises:
        UserError: If model, data, days or limits do not go together.
    """
    model = ServedModel.open(request.model)
    manifest = model.manifest
    config = _config_of(workspace, manifest.run.id)
    dataset = request.dataset or (None if config is None else config.dataset)
    inputs, provenance, digest = open_bars(workspace, dataset, manifest.run.id)
    first, stop = _period(inputs, request.start, request.end)
    rules = _rules_of(model, config)
    cash = len(model.symbols) * rules.account.initial_cash_ccy
    order_limits, session_limits = _limits_of(request, model, rules)
    shadow = None if request.shadow is None else ServedModel.open(request.shadow)
    if shadow is not None and shadow.symbols != model.symbols:
        rule = "a shadow must decide for the symbols of the model"
        raise ConfigError(rule, was=", ".join(shadow.symbols[:5]), where=str(request.shadow))
    return SessionSettings(
        name=request.name,
        model=str(request.model),
        model_sha256=model.sha256,
        run=manifest.run.id,
        dataset=dataset,
        data_sha256=digest,
        first_bar=first,
        stop_bar=stop,
        calendar=provenance.calendar,
        timeframe=str(provenance.timeframe),
        grid=str(provenance.grid.value),
        rules=rules,
        costs=_costs_of(config),
        limits=order_limits,
        session_limits=session_limits,
        venue=PaperOptions(cash, request.parts, request.latency_s),
        authorised=request.authorised,
        speed=request.speed,
        shadow=None if request.shadow is None else str(request.shadow),
        shadow_sha256=None if shadow is None else shadow.sha256,
    )


@contextmanager
def open_session(folder: SessionFolder, workspace: Path) -> Iterator[TradingSession]:
    """Put a session together from its folder, to be the only one that trades it.

    Raises:
        ConfigError: If another process does.
        StorageError: If a file is damaged, or is another one than it was started with.
        DataError: If the bars are others.
    """
    settings = folder.settings()
    with folder.hold():
        model = ServedModel.open(Path(settings.model), sha256=settings.model_sha256)
        inputs, _, digest = open_bars(workspace, settings.dataset, settings.run)
        if digest != settings.data_sha256:
            rule = "bars must be those that the session was started with"
            raise DataError(rule, was=digest[:12], where=settings.dataset or settings.run)
        hours = hours_of(settings, inputs)
        broker = PaperBroker(
            folder.venue, settings.rules, settings.costs, settings.venue, clock=hours.clock
        )
        journal = SessionJournal.open(folder.journal, create=True)
        gate = SessionGate(
            OrderBook(), limits=settings.limits, session_limits=settings.session_limits
        )
        cash = Decimal(str(settings.venue.cash_ccy))
        desk = Desk(settings.name, journal, broker, gate, Holdings(cash))
        shadow = None
        if settings.shadow is not None:
            shadow = ServedModel.open(Path(settings.shadow), sha256=settings.shadow_sha256)
        try:
            yield TradingSession(
                desk,
                model,
                DatasetBars(inputs, stop=settings.stop_bar),
                hours,
                SessionTerms(settings.rules, settings.costs, settings.first_bar),
                shadow=shadow,
                venue=PaperVenue(broker),
            )
        finally:
            journal.close()
            broker.close()


def hours_of(settings: SessionSettings, inputs: MarketInputs) -> ExchangeHours:
    """Return the hours of the exchange for the days of the bars."""
    first, last = (inputs.closed_at[place].astype("datetime64[D]").item() for place in (0, -1))
    return ExchangeHours(settings.calendar, settings.timeframe, BarGrid(settings.grid), first, last)


def open_bars(
    workspace: Path, dataset: str | None, run: str
) -> tuple[MarketInputs, Provenance, str]:
    """Return bars on their grid, where they come from, and their hash.

    Args:
        workspace: Where datasets and runs are.
        dataset: Its name; None: the market that the run generated.
        run: Id of the run.

    Raises:
        ConfigError: If neither is there.
    """
    if dataset is not None:
        stored = BarStore(workspace).open(dataset)
        manifest = stored.manifest
        return read_inputs(stored), manifest.provenance, manifest.content_sha256
    config = _config_of(workspace, run)
    if config is None:
        rule = "bars must be named where the run of a model is not in the workspace"
        raise ConfigError(rule, was="none", where=run, remedy="Give --dataset NAME")
    from tradingbot.envs.synthetic_market import inputs_of_market
    from tradingbot.features.pipeline import synthetic_source
    from tradingbot.training.data import bars_sha256, market_provenance

    market = synthetic_source(config.market).generate()
    provenance = market_provenance(config)
    inputs = replace(inputs_of_market(market), time_zone=time_zone_of(provenance.calendar))
    return inputs, provenance, bars_sha256(market)


def _config_of(workspace: Path, run: str) -> TrainConfig | None:
    """Return the configuration of a run; None where the run is not in the workspace."""
    try:
        found: RunDirectory = find_run(workspace / "runs", run)
    except UserError:
        return None
    return config_of_mapping(found.record.config)


def _costs_of(config: TrainConfig | None) -> CostProfile:
    """Return the costs of the run, or the usual ones."""
    if config is None:
        return CostProfile()
    return cost_profile(config.task.costs, config.task.cost_rates)


def _rules_of(model: ServedModel, config: TrainConfig | None) -> SimulatorParams:
    """Return the rules of the run, or those of the bundle with the usual account."""
    if config is not None:
        rules = config.task.rules
    else:
        action = model.manifest.acting.action
        rules = SimulatorParams(
            limits=read_record(RiskLimits, action.limits, name="limits"),
            action=read_record(ActionRules, action.rules, name="action"),
        )
    account = replace(rules.account, quantity_decimals=MAX_DECIMALS)
    return replace(rules, account=account)


def _limits_of(
    request: SessionRequest, model: ServedModel, rules: SimulatorParams
) -> tuple[RiskLimits, SessionLimits]:
    if request.is_unlimited:
        base, order_limits = WIDEST_SESSION_LIMITS, WIDEST_ORDER_LIMITS
    else:
        stored: dict[str, Any] = model.manifest.session_limits
        base = read_record(SessionLimits, stored, name="session_limits")
        order_limits = replace(
            SESSION_RISK,
            allow_short=rules.limits.allow_short,
            max_stale_bars=rules.limits.max_stale_bars,
        )
    return order_limits, read_record(SessionLimits, request.limits or {}, name="limit", base=base)


def _period(inputs: MarketInputs, start: date | None, end: date | None) -> tuple[int, int]:
    """Return the number of the first bar that is decided on, and the one after the last."""
    days = closing_day(inputs.closed_at)
    stop = len(days)
    if end is not None:
        stop = int(np.searchsorted(days, np.datetime64(end, "D"), side="right"))
    last = days[max(stop, 1) - 1]
    wanted = np.datetime64(start, "D") if start else last - np.timedelta64(DEFAULT_DAYS, "D")
    first = int(np.searchsorted(days, wanted))
    if stop - first < 2:
        raise DataError(
            "the days of a session must hold a bar to decide at and one after it",
            was=f"{start or wanted} … {end or last}",
            where=f"{days[0]} … {days[-1]}",
            remedy="Choose days that the data cover",
        )
    return first, stop
