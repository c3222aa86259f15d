"""Proof of a day: every decision computed again from bars and journaled accounts, bit for bit."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.session import DecisionMade, ModelLoaded, SessionStateSaved
from tradingbot.runtime.session.account_record import SessionAccount, read_account
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.decision import SessionDecider
from tradingbot.runtime.session.model import ModelReference
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.turn_events import list_decisions

_COMPARED = ("inputs_sha256", "raw_action", "confidence", "smoothed_action", "action")
"""Fields of a decision, causes before effects."""


class VerifiedDay(NamedTuple):
    """Result of a proof."""

    n_decisions: int
    """That were computed again."""
    difference: str | None
    """The first one: symbol, time, field, both values; None where there is none."""


def verify_day(session: TradingSession, day: date) -> VerifiedDay:
    """Decide a day again.

    Args:
        session: New: bars are streamed into it, nothing is written or sent.
        day: In UTC.

    Raises:
        ConfigError: If nothing was decided on that day.
    """
    journal, name = session.desk.journal, session.desk.session
    made = _decisions_of(session, day)
    accounts = {
        state.at: read_account(state.account)
        for state in journal.events(name, SessionStateSaved)
        if isinstance(state, SessionStateSaved) and state.at in made
    }
    deciders = _other_deciders(
        session, {each.model for by in made.values() for each in by.values()}
    )
    n_decisions = 0
    for bar in session.source.bars():
        if bar is None:
            break
        session.look(bar)
        for decider in deciders.values():
            decider.take(bar)
        if bar.closed_at not in made:
            continue
        journaled = made.pop(bar.closed_at)
        model = next(iter(journaled.values())).model
        decider = deciders.get(model, session.decider)
        difference = _compare(decider, bar, accounts[bar.closed_at], journaled)
        if difference is not None:
            return VerifiedDay(n_decisions, difference)
        n_decisions += len(journaled)
        if not made:
            break
    if made:
        first = min(made)
        return VerifiedDay(n_decisions, f"{first}: decided on a bar that the data do not have")
    return VerifiedDay(n_decisions, None)


def _decisions_of(session: TradingSession, day: date) -> dict[Any, dict[str, DecisionMade]]:
    """Return decisions of a day by time and symbol."""
    made: dict[Any, dict[str, DecisionMade]] = {}
    name = session.desk.session
    for event in session.desk.journal.decisions(name, day):
        if not event.is_shadow:
            made.setdefault(event.decided_at, {})[event.symbol] = event
    if not made:
        rule = "a day that is verified must have a decision"
        raise ConfigError(rule, was=day, where=name, remedy="Days are those of UTC")
    return made


def _other_deciders(session: TradingSession, models: set[str]) -> dict[str, SessionDecider]:
    """Open the models that took over from the first one, by their hash."""
    desk = session.desk
    loaded = desk.journal.events(desk.session, ModelLoaded)
    bundles = {
        each.model: each.details["bundle"]
        for each in loaded
        if isinstance(each, ModelLoaded) and "bundle" in each.details
    }
    found = {}
    for model in models - {session.model.sha256}:
        if model not in bundles or session.models is None:
            rule = "a model that decided must be known"
            raise ConfigError(rule, was=model[:12], where=desk.session)
        found[model] = session.decider_of(session.models(ModelReference(bundles[model], model)))
    return found


def _compare(
    decider: SessionDecider,
    bar: MarketBar,
    account: SessionAccount,
    journaled: dict[str, DecisionMade],
) -> str | None:
    proposal = decider.decide(account)
    sent = decider.order(account, proposal)
    for again in list_decisions(decider, bar, proposal, sent):
        was = journaled.get(again.symbol)
        if was is None:
            return f"{again.symbol} {bar.closed_at}: no decision is journaled"
        for field in _COMPARED:
            before, now = getattr(was, field), getattr(again, field)
            if repr(before) != repr(now):
                told = f"journaled {before!r}, now {now!r}"
                return f"{again.symbol} {bar.closed_at}: {field} {told}"
    return None
