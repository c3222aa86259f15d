"""Sessions on paper, put together: model, bars, rules, venue and journal of a session's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from tradingbot.app.paper.access import open_alpaca, open_prices, open_splits
from tradingbot.app.paper.bars import hours_of, open_bars, open_feed
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import DataError, UserError
from tradingbot.features.inputs import MarketInputs
from tradingbot.runtime.brokers.paper.announced_splits import PaperSplits
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import Broker
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.control import recall_adopted
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.model import ModelReference
from tradingbot.runtime.session.price_basis import PriceBasis
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.venue import OwnVenue, PaperVenue, rewind_venue
from tradingbot.runtime.session.verification import ProvableSession
from tradingbot.runtime.stock_split import SplitSource
from tradingbot.serving.served_model import ServedModel


class SessionBarsError(DataError):
    """The bars that a session was started with cannot be opened."""


@contextmanager
def open_session(
    folder: SessionFolder,
    workspace: Path,
    *,
    clock: Clock = Clock(),  # noqa: B008 - frozen
    environment: Mapping[str, str] = os.environ,
) -> Iterator[TradingSession]:
    """Put a session together from its folder, to be the only one that trades it.

    Args:
        folder: Of the session.
        workspace: Where its bars are.
        clock: Time of day.
        environment: Holds the key pair, where its venue or its bars need one.

    Raises:
        BrokerUnavailableError: If its venue cannot be asked.
        ConfigError: If another process does.
        StorageError: If a file is damaged, or is another one than it was started with.
        DataError: If the bars are others.
    """
    settings = folder.settings()
    with ExitStack() as held:
        held.enter_context(folder.hold())
        model, inputs = _open_inputs(settings, workspace)
        hours = hours_of(settings, inputs, clock)
        venue_terms = (settings, hours, model.symbols, environment)
        broker, venue = _open_venue(held, folder, *venue_terms)
        journal = SessionJournal.open(folder.journal_address, create=True, buffer=folder.buffer)
        held.callback(journal.close)
        shadow = None
        if settings.shadow is not None:
            shadow = ServedModel.open(Path(settings.shadow), sha256=settings.shadow_sha256)
        desk = desk_of(settings, journal, broker)
        if settings.broker == "alpaca":
            market = held.enter_context(closing(open_prices(environment)))
            desk.prices, desk.quotes = market.last, market.quotes
        if isinstance(broker, PaperBroker):
            rewind_venue(desk, broker, clock.now())
        session = TradingSession(
            desk,
            model,
            open_feed(folder, inputs, hours, clock, environment),
            hours,
            SessionTerms(settings.rules, settings.costs, settings.first_bar),
            shadow=shadow,
            venue=venue,
        )
        session.models = open_reference
        session.clock = None if settings.is_replay else clock.now
        session.basis = _basis_of(settings, broker, inputs, hours, environment)
        recall_adopted(session)
        yield session


@contextmanager
def read_session(
    folder: SessionFolder,
    workspace: Path,
    *,
    clock: Clock = Clock(),  # noqa: B008 - frozen
) -> Iterator[ProvableSession]:
    """Open a session to prove it, also while it trades: no lock, no venue, nothing is written.

    Raises:
        StorageError: If a file is damaged, or is another one than it was started with.
        DataError: If the bars are others.
    """
    settings = folder.settings()
    model, inputs = _open_inputs(settings, workspace)
    hours = hours_of(settings, inputs, clock)
    # By this clock no bar has closed but those that were seen: none is asked for.
    stopped = Clock(now=lambda: datetime.min.replace(tzinfo=UTC))
    source = open_feed(folder, inputs, hours, stopped, os.environ)
    terms = SessionTerms(settings.rules, settings.costs, settings.first_bar)
    with JournalReader.at(folder.journal_address) as journal:
        yield ProvableSession(folder.name, journal, source, model, terms, open_reference)


def _open_inputs(settings: SessionSettings, workspace: Path) -> tuple[ServedModel, MarketInputs]:
    """Open model and bars that a session was started with, and no others."""
    model = ServedModel.open(Path(settings.model), sha256=settings.model_sha256)
    wanted = settings.data_sha256
    try:
        inputs, _, digest = open_bars(workspace, settings.dataset, settings.run, wanted)
    except UserError as e:
        raise SessionBarsError(e.rule, was=e.was, where=e.where, remedy=e.remedy) from e
    if digest != wanted:
        raise SessionBarsError(
            "bars must be those that the session was started with",
            was=digest[:16],
            where=settings.dataset or settings.run,
            remedy=f"Import the bars of {wanted[:16]} again, from the same file with the same "
            "options, or restore that folder of datasets; `tradingbot data list` shows what is "
            "there",
        )
    return model, inputs


def cancel_at_venue(folder: SessionFolder, environment: Mapping[str, str] = os.environ) -> None:
    """Cancel what is open at a venue with a market of its own; it needs no bars, and no turn.

    At the built-in broker nothing fills before a bar is taken.

    Raises:
        BrokerUnavailableError: If it cannot be asked.
    """
    settings = folder.settings()
    if settings.broker != "alpaca":
        return
    model = ServedModel.open(Path(settings.model), sha256=settings.model_sha256)
    with folder.hold(), open_alpaca(model.symbols, environment) as broker:
        broker.cancel_all()


def open_reference(reference: ModelReference) -> ServedModel:
    """Open a model that takes over; its hash must be the one that was asked for."""
    return ServedModel.open(Path(reference.path), sha256=reference.sha256)


def desk_of(settings: SessionSettings, journal: SessionJournal, broker: Broker) -> Desk:
    """Put gate, holdings, journal and venue of a session on one desk."""
    gate = SessionGate(OrderBook(), limits=settings.limits, session_limits=settings.session_limits)
    holdings = Holdings(Decimal(str(settings.venue.cash_ccy)))
    return Desk(settings.name, journal, broker, gate, holdings)


def _basis_of(
    settings: SessionSettings,
    broker: Broker,
    inputs: MarketInputs,
    hours: ExchangeHours,
    environment: Mapping[str, str],
) -> PriceBasis:
    """Return who announces splits, from the day on whose prices the first bars are in."""
    source: SplitSource | None = None
    if isinstance(broker, PaperBroker) and settings.splits is not None:
        source = PaperSplits(broker, Path(settings.splits), hours.begin_of)
    elif settings.broker == "alpaca":
        source = open_splits(environment)
    closed = inputs.closed_at[0 if settings.is_replay else -1]
    return PriceBasis(source, hours.day_of(as_datetime(closed)))


def _open_venue(
    held: ExitStack,
    folder: SessionFolder,
    settings: SessionSettings,
    hours: ExchangeHours,
    symbols: tuple[str, ...],
    environment: Mapping[str, str],
) -> tuple[Broker, OwnVenue | None]:
    """Open the broker, and its market where that is the session's own bars."""
    if settings.broker == "alpaca":
        return held.enter_context(open_alpaca(symbols, environment)), None
    broker = PaperBroker(
        folder.venue, settings.rules, settings.costs, settings.venue, clock=hours.clock
    )
    held.callback(broker.close)
    return broker, PaperVenue(broker)
