"""A session as `paper status` shows it: read from its journal, also while it runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tradingbot.app.console import print_text, show_json
from tradingbot.domain.events.session import (
    ActAudited,
    AlertRaised,
    DecisionMade,
    SessionStarted,
)
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.breaker import list_tripped, permitted_state
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.breaker_record import recall_breakers
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.phase import read_phase
from tradingbot.runtime.session.unclosed import find_unclosed


def status_of(folder: SessionFolder) -> dict[str, Any]:
    """Return state, money, positions, orders, denials, breakers and alerts of a session.

    Of one that has only just begun, and has no journal yet, what it is at.
    """
    if folder.is_running and not folder.has_journal:
        return {"session": folder.name, "is_running": True, **read_phase(folder)}
    limits = folder.settings().session_limits
    with JournalReader.at(folder.journal_address) as journal, journal.reading():
        state, orders = journal.state(folder.name), journal.orders(folder.name)
        breakers = recall_breakers(journal, folder.name, state)
        fills = journal.fills(folder.name)
        alerts = journal.events(folder.name, AlertRaised)
        shadows = journal.events(folder.name, DecisionMade)
        acts = journal.events(folder.name, ActAudited)
        started = journal.events(folder.name, SessionStarted)
    began = [each.at for each in started if isinstance(each, SessionStarted)]
    phase = read_phase(folder, began_at=began[-1] if began else None)
    if state is not None and (phase["next_bar_at"] or "") <= state.at.isoformat():
        phase["next_bar_at"] = None  # that bar came while the journal was read
    return {
        "session": folder.name,
        "is_running": folder.is_running,
        **phase,
        "at": None if state is None else state.at.isoformat(),
        "trading_state": permitted_state(breakers, limits).value,
        "equity_ccy": None if state is None else f"{state.equity_ccy:.2f}",
        "cash_ccy": None if state is None else f"{state.cash_ccy:.2f}",
        "positions": {} if state is None else {k: str(v) for k, v in state.positions.items()},
        "not_closed": {
            each.symbol: f"{each.units:f}: {each.why}"
            for each in find_unclosed(acts, {} if state is None else state.positions, orders)
        },
        "n_judged": len(orders),
        "n_sent": sum(order.status is not OrderStatus.DENIED for order in orders),
        "orders": dict(Counter(order.status.value for order in orders)),
        "n_fills": len(fills),
        "denials": dict(
            Counter((order.reason or "").partition(":")[0] for order in orders if order.reason)
        ),
        "tripped": [each.value for each in list_tripped(breakers, limits)],
        "alerts": [_told(event) for event in alerts if isinstance(event, AlertRaised)][-5:],
        "shadow_differs": _count_shadow(shadows),
    }


def _told(alert: AlertRaised) -> str:
    return " ".join(filter(None, (alert.code, alert.symbol))) + f": {alert.text}"


def has_ended(folder: SessionFolder) -> bool:
    """Tell whether a replay took its last bar and no request waits: nothing is left.

    One whose settings were changed since is not asked here: it is refused where it is opened.
    """
    settings = folder.settings()
    if not settings.is_replay or settings.stop_bar is None or folder.waiting():
        return False
    if not folder.has_journal:
        return False
    with JournalReader.at(folder.journal_address) as journal:
        state = journal.state(folder.name)
        started = journal.events(folder.name, SessionStarted)
    if state is None or int(state.account["bar"]) + 1 < settings.stop_bar:
        return False
    first = next((each for each in started if isinstance(each, SessionStarted)), None)
    return first is not None and first.settings_sha256 == folder.settings_sha256()


def tell_ending(folder: SessionFolder, ending: str, *, as_json: bool) -> None:
    """Print how a session ended, and what it made."""
    document = {"ending": ending, **status_of(folder)}
    if show_json(as_json, document):
        return
    if document["at"] is None:
        print_text(f"{folder.name} {ending} before the first bar that it decides on")
    else:
        print_text(
            f"{folder.name} {ending} at {document['at']}: equity {document['equity_ccy']}, "
            f"{document['n_judged']} orders judged, {document['n_sent']} sent, "
            f"{document['n_fills']} fills"
        )


def _count_shadow(decisions: Any) -> dict[str, int] | None:
    """Count decisions of a shadow and those that differ; None where there is none."""
    own = {(each.symbol, each.decided_at): each.action for each in decisions if not each.is_shadow}
    beside = [each for each in decisions if each.is_shadow]
    if not beside:
        return None
    differs = sum(own.get((each.symbol, each.decided_at)) != each.action for each in beside)
    return {"decisions": len(beside), "differ": differs}
