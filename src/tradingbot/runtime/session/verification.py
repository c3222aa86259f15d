"""Proof of a day: decisions and orders computed again from bars and journaled accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.session import DecisionMade, ModelLoaded, SessionStateSaved
from tradingbot.domain.events.trading import OrderDenied, OrderSubmitted, StockSplitApplied
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.account_record import SessionAccount, read_account
from tradingbot.runtime.session.bars import BarFeed, MarketBar
from tradingbot.runtime.session.deciders import open_decider
from tradingbot.runtime.session.decision import SessionDecider
from tradingbot.runtime.session.judging import intent_of
from tradingbot.runtime.session.model import DecidingModel, ModelReference
from tradingbot.runtime.session.price_basis import rebase_bar
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
    states = _states_of(session, made)
    asked = journal.events(name, OrderSubmitted, OrderDenied)
    intents = {
        each.intent.client_order_id: each.intent
        for each in asked
        if isinstance(each, OrderSubmitted | OrderDenied)
    }
    n_decisions = n_orders = 0
    for n_splits in sorted({int(each.get("n_splits", 0)) for each in states.values()}):
        own = {at: by for at, by in made.items() if states[at].get("n_splits", 0) == n_splits}
        for bar, decider in _stream(session, own, n_splits):
            journaled = made.pop(bar.closed_at)
            account = read_account(states[bar.closed_at])
            difference = _compare(decider, bar, account, journaled, intents)
            if difference is not None:
                return VerifiedDay(n_decisions, n_orders, difference)
            n_decisions += len(journaled)
            n_orders += sum(each.client_order_id is not None for each in journaled.values())
    difference = None
    if made:
        difference = f"{min(made)}: decided on a bar that the data do not have"
    return VerifiedDay(n_decisions, n_orders, difference)


def _states_of(session: ProvableSession, made: _Day) -> dict[datetime, Mapping[str, Any]]:
    """Return by time what was saved with decisions; what is saved after them may be re-based."""
    found: dict[datetime, Mapping[str, Any]] = {}
    for state in session.journal.events(session.name, SessionStateSaved):
        assert isinstance(state, SessionStateSaved)
        if state.at in made and state.account["action"] is not None:
            found.setdefault(state.at, state.account)
    return found


def _stream(
    session: ProvableSession, made: _Day, n_splits: int
) -> Iterator[tuple[MarketBar, SessionDecider]]:
    """Yield each bar of decisions, with the model that decided and has taken it.

    Args:
        session: Whose bars.
        made: Decisions by time.
        n_splits: How many splits the session knew then: bars are in the prices after them.
    """
    found = session.journal.events(session.name, StockSplitApplied)
    splits = [each for each in found if isinstance(each, StockSplitApplied)][:n_splits]
    deciders = _deciders(session, {each.model for by in made.values() for each in by.values()})
    left = set(made)
    for raw in session.source.bars():
        if raw is None or not left:
            return
        bar = rebase_bar(raw, session.source.symbols, splits)
        for decider in deciders.values():
            decider.take(bar)
        if bar.closed_at in left:
            left.remove(bar.closed_at)
            yield bar, deciders[next(iter(made[bar.closed_at].values())).model]


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
    intents: Mapping[str, OrderIntent],
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
        asked = None if identity is None else intents.get(identity)
        before, now = (None if each is None else each.content_key for each in (asked, intent))
        if before != now:
            return f"{place}: order journaled {before or 'none'}, now {now or 'none'}"
    return None
