"""Proof of a day: decisions and orders computed again from bars and journaled accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.session import DecisionMade, ModelLoaded, SessionStateSaved
from tradingbot.domain.order import Order
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.account_record import SessionAccount, read_account
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.deciders import open_decider
from tradingbot.runtime.session.decision import SessionDecider
from tradingbot.runtime.session.judging import intent_of
from tradingbot.runtime.session.model import DecidingModel, ModelReference
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.turn_events import list_decisions

_COMPARED = ("inputs_sha256", "raw_action", "confidence", "smoothed_action", "action")
"""Fields of a decision, causes before effects."""
_Day = dict[datetime, dict[str, DecisionMade]]


@dataclass(frozen=True)
class ProvableSession:
    """What is needed to decide again what a session decided: nothing is written or sent."""

    name: str
    journal: JournalReader
    source: BarFeed
    model: DecidingModel
    """The first one."""
    terms: SessionTerms
    models: Callable[[ModelReference], DecidingModel]
    """Opens those that took over from it."""


class VerifiedDay(NamedTuple):
    """Result of a proof."""

    n_decisions: int
    """That were computed again."""
    n_orders: int
    """Of those, that followed from them."""
    difference: str | None
    """The first one: symbol, time, field, both values; None where there is none."""


def verify_day(session: ProvableSession, day: date) -> VerifiedDay:
    """Decide a day again.

    Args:
        session: As it is journaled; it may be trading meanwhile.
        day: In UTC.

    Raises:
        ConfigError: If nothing was decided on that day.
    """
    journal, name = session.journal, session.name
    made = _decisions_of(session, day)
    accounts = {
        state.at: read_account(state.account)
        for state in journal.events(name, SessionStateSaved)
        if isinstance(state, SessionStateSaved) and state.at in made
    }
    orders = journal.order_book(name).orders
    deciders = _deciders(session, {each.model for by in made.values() for each in by.values()})
    n_decisions = n_orders = 0
    for bar in session.source.bars():
        if bar is None:
            break
        for decider in deciders.values():
            decider.take(bar)
        if bar.closed_at not in made:
            continue
        journaled = made.pop(bar.closed_at)
        decider = deciders[next(iter(journaled.values())).model]
        difference = _compare(decider, bar, accounts[bar.closed_at], journaled, orders)
        if difference is not None:
            return VerifiedDay(n_decisions, n_orders, difference)
        n_decisions += len(journaled)
        n_orders += sum(each.client_order_id is not None for each in journaled.values())
        if not made:
            break
    difference = None
    if made:
        difference = f"{min(made)}: decided on a bar that the data do not have"
    return VerifiedDay(n_decisions, n_orders, difference)


def _decisions_of(session: ProvableSession, day: date) -> _Day:
    """Return decisions of a day by time and symbol."""
    made: _Day = {}
    for event in session.journal.decisions(session.name, day):
        if not event.is_shadow:
            made.setdefault(event.decided_at, {})[event.symbol] = event
    if not made:
        rule = "a day that is verified must have a decision"
        raise ConfigError(rule, was=day, where=session.name, remedy="Days are those of UTC")
    return made


def _deciders(session: ProvableSession, models: set[str]) -> dict[str, SessionDecider]:
    """Open the models that decided, by their hash."""
    bundles = {
        each.model: each.details["bundle"]
        for each in session.journal.events(session.name, ModelLoaded)
        if isinstance(each, ModelLoaded) and "bundle" in each.details
    }
    found = {}
    for sha256 in models:
        model = session.model
        if sha256 != model.sha256:
            if sha256 not in bundles:
                rule = "a model that decided must be known"
                raise ConfigError(rule, was=sha256[:12], where=session.name)
            model = session.models(ModelReference(bundles[sha256], sha256))
        found[sha256] = open_decider(model, session.source, session.terms)
    return found


def _compare(
    decider: SessionDecider,
    bar: MarketBar,
    account: SessionAccount,
    journaled: dict[str, DecisionMade],
    orders: Mapping[str, Order],
) -> str | None:
    proposal = decider.decide(account)
    sent = decider.order(account, proposal)
    for lane, again in enumerate(list_decisions(decider, bar, proposal, sent)):
        was, place = journaled.get(again.symbol), f"{again.symbol} {bar.closed_at}"
        if was is None:
            return f"{place}: no decision is journaled"
        for field in _COMPARED:
            before, now = getattr(was, field), getattr(again, field)
            if repr(before) != repr(now):
                return f"{place}: {field} journaled {before!r}, now {now!r}"
        intent = intent_of((again.symbol, bar.closed_at, again.model), sent, proposal, lane)
        identity = was.client_order_id
        order = None if identity is None else orders.get(identity)
        before, now = (
            None if each is None else each.content_key
            for each in (None if order is None else order.intent, intent)
        )
        if before != now:
            return f"{place}: order journaled {before or 'none'}, now {now or 'none'}"
    return None
