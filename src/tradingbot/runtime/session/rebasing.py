"""A split between two bars: positions, orders, accounts and bars of a session are re-based, once.

Only what is announced, with its exact ratio, is re-based, and only once the venue's own position
shows it. The journal takes the split and the state after it in one transaction, so that a kill at
any moment leaves a session before it or after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.domain.exact_number import add, multiply
from tradingbot.domain.position import Fill
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.session.desk_events import booking_of, split_fill
from tradingbot.runtime.session.price_basis import rebase_account, rebase_sent
from tradingbot.runtime.stock_split import CENT, AnnouncedSplit, split_of

if TYPE_CHECKING:
    from tradingbot.runtime.session.session import TradingSession

STOCK_SPLIT = "STOCK_SPLIT"
"""Code of the alert of a split that was applied."""


def rebase_due(session: TradingSession, day: date) -> None:
    """Apply every split that took effect by a day of the exchange and that was not yet.

    Raises:
        BrokerUnavailableError: If it cannot be told, or the venue has not done it yet. Nothing is
            changed; asked again later, it goes on.
        JournalUnavailableError: If neither the journal nor its buffer takes it.
    """
    basis, begin_of = session.basis, session.hours.begin_of
    if basis.source is None or day <= basis.day:
        return
    known = {(each.symbol, each.at) for each in basis.splits}
    found = basis.source.due(session.source.symbols, basis.day, day)
    due = [each for each in found if (each.symbol, begin_of(each.ex_date)) not in known]
    if due:
        _apply(session, due)
    basis.day = day


def _apply(session: TradingSession, due: Sequence[AnnouncedSplit]) -> None:
    fresh = _book_earlier(session, due)
    positions = session.desk.broker.positions()
    events: list[StockSplitApplied] = []
    for number, each in enumerate(due):
        is_last = all(other.symbol != each.symbol for other in due[number + 1 :])
        chain = [other for other in due[: number + 1] if other.symbol == each.symbol]
        paid = _find_paid(session, chain, positions, fresh) if is_last else Decimal(0)
        cash = Decimal(0)
        if paid:
            told_cash = [other.cash_ccy for other in chain if other.cash_ccy is not None]
            cash = add(*told_cash) if told_cash else _cash_for(session, chain, paid)
        at = session.hours.begin_of(each.ex_date)
        told = (each.symbol, each.numerator, each.denominator)
        events.append(StockSplitApplied(*told, at, paid, cash))
    alerts = []
    for event in events:
        alerts.append(_alert(session, event))
        _rebase(session, event)
    if not session.keep(*events, *alerts):
        name = session.desk.session
        raise JournalUnavailableError(
            "the journal must hold a split before the session goes on",
            was="not confirmed",
            where=name,
            remedy=f"Free its disk or reach it, then: tradingbot paper resume {name}",
        )
    session.stream_again()


def _book_earlier(session: TradingSession, due: Sequence[AnnouncedSplit]) -> list[Fill]:
    """Book fills from before the splits that are not known yet; return those from after them."""
    if session.stand is None:
        return []
    begin_of, book = session.hours.begin_of, session.desk.gate.book
    ends = {each.symbol: begin_of(each.ex_date) for each in due}
    unknown = [
        fill
        for fill in session.desk.broker.fills(session.stand.closed_at)
        if fill.symbol in ends and fill.fill_id not in {*book.fills, *book.busted}
    ]
    session.unbooked += session.desk.book(
        [fill for fill in unknown if fill.filled_at < ends[fill.symbol]]
    )
    return [fill for fill in unknown if fill.filled_at >= ends[fill.symbol]]


def _find_paid(
    session: TradingSession,
    chain: Sequence[AnnouncedSplit],
    positions: dict[str, Decimal],
    fresh: Sequence[Fill],
) -> Decimal:
    """Return units that the venue paid for; it must have done the splits of a symbol.

    Raises:
        BrokerUnavailableError: If it holds what it held before.
    """
    symbol, holdings = chain[0].symbol, session.desk.holdings
    bought = add(*(fill.signed_units for fill in fresh if fill.symbol == symbol))
    own, outside = holdings.units(symbol), holdings.external.get(symbol, Decimal(0))
    there = add(positions.get(symbol, Decimal(0)), -bought)
    before = add(own, outside)
    for each in chain:
        split = split_of(_event_of(each, session))
        own, outside = split.units(own), split.units(outside)
    missing = add(own, outside, -there)
    if missing and there == before:
        raise BrokerUnavailableError(
            "the venue must have done a split that was announced",
            was=f"{there:f} units as before {chain[-1].numerator}:{chain[-1].denominator}",
            where=f"{symbol} {chain[-1].ex_date}",
            remedy="Nothing is sent until it has; look at the venue's corporate actions",
        )
    is_fraction = abs(missing) < 1 and missing * own > 0 and add(there, -outside) % 1 == 0
    return missing if is_fraction else Decimal(0)  # anything else is told as drift


def _cash_for(session: TradingSession, chain: Sequence[AnnouncedSplit], paid: Decimal) -> Decimal:
    """Value a fraction at the last close, where the venue does not say what it paid."""
    assert session.account is not None
    mark = float(session.account.mark[session.symbols.index(chain[0].symbol)])
    price = Decimal(repr(mark)).quantize(Decimal("1e-9"))
    for each in chain:
        price = split_of(_event_of(each, session)).price(price)
    return multiply(paid, price).quantize(CENT)


def _event_of(each: AnnouncedSplit, session: TradingSession) -> StockSplitApplied:
    at = session.hours.begin_of(each.ex_date)
    return StockSplitApplied(each.symbol, each.numerator, each.denominator, at)


def _alert(session: TradingSession, event: StockSplitApplied) -> AlertRaised:
    before, split = session.desk.holdings.units(event.symbol), split_of(event)
    after = add(split.units(before), -event.paid_units)
    told = f"{event.numerator}:{event.denominator}, {before:f} units are {after:f}"
    if event.paid_units:
        told += f", {event.cash_ccy:f} was paid for {event.paid_units:f}"
    return AlertRaised(event.at, AlertLevel.INFO, STOCK_SPLIT, told, event.symbol)


def _rebase(session: TradingSession, event: StockSplitApplied) -> None:
    """Count in units and prices after a split: desk, accounts, and what was sent."""
    split, desk = split_of(event), session.desk
    desk.split(split)
    session.basis.splits.append(event)
    session.unbooked = [split_fill(each, split) for each in session.unbooked]
    if (cash := booking_of(event)) is not None:
        session.unbooked.append(cash)
    if session.account is None or event.symbol not in session.symbols:
        return
    lane = session.symbols.index(event.symbol)
    session.account = rebase_account(session.account, lane, event)
    if session.sent is not None:
        decimals = session.terms.rules.account.quantity_decimals
        session.sent = rebase_sent(session.sent, lane, event, decimals)
    session.action, session.basis.sent_is_rebased = None, True
