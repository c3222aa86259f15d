"""A session that is watched: every look reads what its journal got since the one before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.errors import UserError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import (
    ActAudited,
    AlertRaised,
    DecisionMade,
    ModelLoaded,
    SessionStarted,
    SessionStateSaved,
)
from tradingbot.domain.events.trading import OrderSubmitted
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.domain.trading_state import TradingState
from tradingbot.monitoring.dashboard.sources.breaker_distance import (
    BreakerDistance,
    measure_distances,
)
from tradingbot.monitoring.dashboard.sources.freshness import (
    Freshness,
    Heard,
    heard_by,
    judge_session,
)
from tradingbot.monitoring.dashboard.sources.session_place import SessionPlace, WatchedTerms
from tradingbot.monitoring.dashboard.sources.session_view import (
    NO_EQUITY,
    Acting,
    EquitySeries,
    PositionLine,
    SessionView,
    TradeLine,
)
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.breaker import BreakerState, permitted_state
from tradingbot.runtime.journal.equity import read_equity
from tradingbot.runtime.journal.reading import ORDER_KINDS, JournalReader, follow_order
from tradingbot.runtime.journal.tables import POSITION_CHANGES
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.breaker_record import recall_breakers
from tradingbot.runtime.session.unclosed import find_unclosed

SHOWN = 50
"""Trades, denials and alerts that are kept to be shown."""
_KEPT_DECISIONS = 4000
_READ_TIMEOUT_S = 2.0
"""Of a database that does not answer: the page says so instead of waiting."""


@dataclass
class _Known:
    """What earlier looks found."""

    seq: int = 0
    equity: EquitySeries = NO_EQUITY
    equity_seq: int = 0
    started: SessionStarted | None = None
    model: ModelLoaded | None = None
    state: SessionStateSaved | None = None
    submitted: OrderSubmitted | None = None
    breakers: BreakerState | None = None
    """None where they cannot be read."""
    heard_at: datetime | None = None


class SessionWatch:
    """Reads one session; several pages may ask at once, and see the same."""

    def __init__(self, place: SessionPlace, clock: Callable[[], datetime]) -> None:
        self.place, self._clock = place, clock
        self._lock = threading.Lock()
        self._reader: JournalReader | None = None
        self._forget()

    def _forget(self) -> None:
        self._known, self._book = _Known(), OrderBook()
        self._decisions: dict[str, DecisionMade] = {}
        self._acts: list[ActAudited] = []
        self._alerts: list[AlertRaised] = []
        self._realised: dict[str, Decimal] = {}
        self._view: SessionView | None = None

    @property
    def was_read(self) -> bool:
        """Whether a look was taken already: the next reads only what came since."""
        return self._view is not None

    def look(self) -> SessionView:
        """Return the session as it is now; one that cannot be read says why, and since when."""
        with self._lock:
            try:
                self._read()
            except UserError as e:
                return self._unreadable(str(e))
            return self._shown()

    def fills_of(self, symbol: str, *, newest: int = 500) -> tuple[Fill, ...]:
        """Return the last fills of a symbol as they were read, the oldest first."""
        with self._lock:
            own = [fill for fill in self._book.fills.values() if fill.symbol == symbol]
        return tuple(own[-newest:])

    def close(self) -> None:
        """Give the connections back."""
        with self._lock:
            self._disconnect()

    def _read(self) -> None:
        if self._reader is None:
            self._reader = JournalReader(self.place.address, timeout_s=_READ_TIMEOUT_S)
        head = self._reader.head().seq
        known = self._known
        if head < known.seq:  # another journal lies there now
            self._forget()
            known = self._known
        if head == known.seq and self._view is not None:
            return
        name = self.place.name
        first = known.seq == 0
        kinds = (*ORDER_KINDS, SessionStarted, ModelLoaded, ActAudited)
        events = self._reader.events(name, *kinds, after=known.seq)
        for event in events:
            self._take(event)
        decided, told = (
            [entry.event for entry in self._reader.newest(name, limit=limit, kind=kind)]
            for kind, limit in (
                (DecisionMade, _KEPT_DECISIONS if first else 500),
                (AlertRaised, SHOWN),
            )
        )
        for event in decided:
            if isinstance(event, DecisionMade) and event.client_order_id is not None:
                self._decisions[event.client_order_id] = event
        self._alerts = [event for event in told if isinstance(event, AlertRaised)]
        changes = self._reader.rows(POSITION_CHANGES, name, newest=4 * SHOWN)
        self._realised = {str(row["fill_id"]): row["realised_pnl_ccy"] for row in changes}
        rows = read_equity(self._reader, name, after=known.equity_seq)
        if len(rows.at):
            known.equity = known.equity.extended(rows.at, rows.equity_ccy)
            known.equity_seq = rows.seq
            known.state = self._reader.state(name)
        known.breakers = _recall(self._reader, name, known.state)
        known.seq, known.heard_at, self._view = head, self.place.written_at() or self._clock(), None

    def _take(self, event: Event) -> None:
        follow_order(self._book, event)
        if isinstance(event, OrderSubmitted):
            self._known.submitted = event
        elif isinstance(event, SessionStarted):
            self._known.started = event
        elif isinstance(event, ModelLoaded):
            self._known.model = event
        elif isinstance(event, ActAudited):
            self._acts.append(event)

    def _shown(self) -> SessionView:
        """Return the view: made anew where something was read, else with a new freshness."""
        fresh = self._freshness()
        if self._view is None:
            self._view = self._build(fresh)
        elif self._view.freshness != fresh or self._view.problem:
            self._view = replace(self._view, freshness=fresh, problem="")
        return self._view

    def _freshness(self) -> Freshness:
        known, place = self._known, self.place
        bar = None if known.state is None else known.state.at
        phase = place.phase(None if known.started is None else known.started.at)
        seen = (known.heard_at, bar, len(known.equity), place.is_running, phase)
        return judge_session(Heard(self._clock(), *seen), place.terms())

    def _unreadable(self, problem: str) -> SessionView:
        self._disconnect()
        told = Freshness("stale", self._known.heard_at, "its journal cannot be read")
        fresh = heard_by(told, self._clock())
        if self._view is None:
            self._view = self._build(fresh)
        self._view = replace(self._view, freshness=fresh, problem=problem)
        return self._view

    def _disconnect(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _build(self, fresh: Freshness) -> SessionView:
        known, terms = self._known, self.place.terms()
        started, sent = known.started, known.submitted
        orders = list(self._book.orders.values())
        denied = [each for each in orders if each.status is OrderStatus.DENIED]
        latency = None if sent is None else (sent.submitted_at - sent.intent.decided_at)
        return SessionView(
            name=self.place.name,
            where=str(self.place.address),
            terms=terms,
            freshness=fresh,
            started_at=None if started is None else started.at,
            broker="" if started is None else started.broker,
            symbols=() if started is None else started.symbols,
            acting=self._acting(),
            state=known.state,
            equity=known.equity,
            positions=_positions(known.state, () if started is None else started.symbols),
            open_orders=tuple(each for each in orders if each.status.is_at_venue),
            unclosed=find_unclosed(
                self._acts, {} if known.state is None else known.state.positions, orders
            ),
            denied=tuple(denied[: -SHOWN - 1 : -1]),
            trades=self._trades(),
            permitted=_permitted(known.state, known.breakers, terms),
            breakers=_distances(known.breakers, terms),
            latency_s=None if latency is None else latency.total_seconds(),
            latency_at=None if sent is None else sent.submitted_at,
            alerts=tuple(self._alerts[::-1]),
            n_orders=len(orders) - len(denied),
            n_fills=len(self._book.fills),
        )

    def _acting(self) -> Acting | None:
        model, started = self._known.model, self._known.started
        if model is not None:
            return Acting(model.model, model.run, model.verdict)
        return None if started is None else Acting(started.model)

    def _trades(self) -> tuple[TradeLine, ...]:
        fills = list(self._book.fills.values())[: -SHOWN - 1 : -1]
        return tuple(
            TradeLine(
                fill, self._decisions.get(fill.client_order_id), self._realised.get(fill.fill_id)
            )
            for fill in fills
        )


def _recall(
    journal: JournalReader, session: str, state: SessionStateSaved | None
) -> BreakerState | None:
    if state is not None and not state.breakers:
        return None
    try:
        return recall_breakers(journal, session, state)
    except UserError:
        return None


def _distances(
    breakers: BreakerState | None, terms: WatchedTerms | None
) -> tuple[BreakerDistance, ...]:
    if breakers is None or terms is None:
        return ()
    return measure_distances(breakers, terms.limits)


def _permitted(
    state: SessionStateSaved | None, breakers: BreakerState | None, terms: WatchedTerms | None
) -> TradingState | None:
    """Return what the session may do: as it saved it, and before that as acts of persons say."""
    if state is not None:
        return state.trading_state
    limits = WIDEST_SESSION_LIMITS if terms is None else terms.limits
    return None if breakers is None else permitted_state(breakers, limits)


def _positions(
    state: SessionStateSaved | None, symbols: tuple[str, ...]
) -> tuple[PositionLine, ...]:
    if state is None:
        return ()
    fields = state.account.get("fields", {})
    places = {symbol: place for place, symbol in enumerate(symbols)}
    equity = float(state.equity_ccy)
    lines = []
    for symbol, units in state.positions.items():
        place = places.get(symbol)
        entry, mark = (
            float(fields[name][place]) if place is not None and name in fields else float("nan")
            for name in ("entry", "mark")
        )
        value, size = float(units) * mark, float(units)
        share = value / equity if equity else float("nan")
        lines.append(PositionLine(symbol, units, entry, mark, value, size * (mark - entry), share))
    return tuple(sorted(lines, key=lambda each: -abs(each.value_ccy)))
