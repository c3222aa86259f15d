"""Tables and key figures of a session, as records that a page writes down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tradingbot.domain.action import Action
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import NOTHING, count, percent, plain, quantity
from tradingbot.evaluation.report.table import (
    Cell,
    Table,
    Tone,
    column,
    record_table,
    text,
    text_column,
)
from tradingbot.monitoring.dashboard.moments import Zone, describe_age
from tradingbot.monitoring.dashboard.sources.session_view import (
    PositionLine,
    SessionView,
    TradeLine,
)


def key_figures(view: SessionView, zone: Zone, now: datetime) -> list[Figure]:
    """Return the numbers that a reader looks at first, each with its time, period and unit."""
    state, equity = view.state, view.equity
    if state is None:
        told = Figure("Equity", NOTHING, "no bar was settled yet")
        may = Figure("Trading state", view.trading_state, "what it may do", _may_tone(view))
        return [told, may, *_source_figures(view, zone, now)]
    at = f"at the close {zone.moment(state.at)}"
    change = math.nan
    if len(equity) and equity.equity_ccy[0]:
        change = float(equity.equity_ccy[-1] / equity.equity_ccy[0] - 1)
    begin = zone.moments(equity.at[:1])[0] if len(equity) else ""
    gross = math.fsum(abs(each.share_frac) for each in view.positions)
    return [
        Figure("Equity", plain(float(state.equity_ccy)), f"account currency, {at}"),
        Figure(
            "Return",
            percent(change, 2, signed=True),
            f"of the session since {begin}, net of costs",
            "bad" if change < 0 else "",
        ),
        Figure("Trading state", view.trading_state, f"what it may do, {at}", _may_tone(view)),
        Figure("Invested", percent(gross, 0), f"of equity, long and short, {at}"),
        Figure("Cash", plain(float(state.cash_ccy)), f"account currency, {at}"),
        *_source_figures(view, zone, now),
    ]


def _may_tone(view: SessionView) -> Tone:
    tones: dict[str, Tone] = {"active": "good", "unknown": ""}
    return tones.get(view.trading_state, "bad")


def _source_figures(view: SessionView, zone: Zone, now: datetime) -> list[Figure]:
    return [_data_age(view, zone, now), _latency(view, zone), _model(view)]


def _data_age(view: SessionView, zone: Zone, now: datetime) -> Figure:
    fresh, bar = view.freshness, None if view.state is None else view.state.at
    is_replay = view.terms is not None and view.terms.is_replay
    if fresh.state == "stale":
        since = zone.moment(fresh.since, seconds=True)
        return Figure("Data", f"stale since {since}", fresh.why, "bad")
    if fresh.state == "catching up":
        return Figure(
            "Data", "catching up", f"{fresh.why}, at {zone.moment(fresh.since, seconds=True)}"
        )
    if fresh.state in ("stopped", "ended"):
        heard = zone.moment(fresh.since, seconds=True)
        tone: Tone = "bad" if fresh.state == "stopped" else ""
        return Figure("Data", fresh.state, f"since {heard}: {fresh.why}", tone)
    age = fresh.since if is_replay or bar is None else bar
    words = "since the journal was written" if is_replay else f"since the bar {zone.moment(bar)}"
    told = f"{words}; {fresh.why}" if fresh.why else words
    seconds = None if age is None else (now - age).total_seconds()
    return Figure("Data age", describe_age(seconds), told + (", replayed" if is_replay else ""))


def _latency(view: SessionView, zone: Zone) -> Figure:
    if view.latency_s is None:
        return Figure("Decision latency", NOTHING, "no order was sent yet")
    is_replay = view.terms is not None and view.terms.is_replay
    by = "replayed: the bar's close is now" if is_replay else "from the bar's close to the order"
    at = zone.moment(view.latency_at)
    return Figure("Decision latency", f"{plain(view.latency_s, 3)} s", f"{by}, last at {at}")


def _model(view: SessionView) -> Figure:
    acting = view.acting
    if acting is None:
        return Figure("Model", NOTHING, "none was loaded yet")
    verdict = f", verdict {acting.verdict}" if acting.verdict else ""
    run = f"run {acting.run}" if acting.run else "run not told"
    return Figure("Model", acting.version or acting.sha256[:10], f"{run}{verdict}")


def list_sessions(views: Sequence[SessionView], zone: Zone, now: datetime) -> Table:
    """Return a row for each session."""

    def state_of(view: SessionView) -> Cell:
        fresh = view.freshness
        since = f"since {zone.moment(fresh.since, seconds=True)}" if fresh.since else ""
        tone: Tone = "bad" if fresh.state in ("stale", "stopped") else ""
        return Cell(fresh.state, fresh.state, tone=tone, note=since)

    def worth(view: SessionView) -> Cell:
        amount = math.nan if view.state is None else float(view.state.equity_ccy)
        at = "" if view.state is None else zone.moment(view.state.at)
        return Cell(plain(amount), amount, note=at)

    def change(view: SessionView) -> Cell:
        found = view.equity.equity_ccy
        gain = float(found[-1] / found[0] - 1) if len(found) and found[0] else math.nan
        return Cell(percent(gain, 2, signed=True), gain, tone="bad" if gain < 0 else "")

    def tripped(view: SessionView) -> Cell:
        names = ", ".join(view.tripped)
        return Cell(names or "none", names, tone="bad" if names else "")

    columns = [
        text_column("session", "name"),
        text_column("source", state_of),
        text_column("may", lambda view: text(view.trading_state)),
        column("equity, ccy", worth),
        column("return", change, "since its first bar, net of costs"),
        text_column("tripped", tripped),
        column("fills", lambda view: Cell(count(view.n_fills), float(view.n_fills))),
        text_column("data", lambda view: text(view.data_label or NOTHING)),
    ]
    return record_table(columns, views, f"Sessions, {zone.moment(now, seconds=True)}")


def list_positions(view: SessionView, zone: Zone) -> Table:
    """Return what is held."""
    at = "" if view.state is None else f" at the close {zone.moment(view.state.at)}"
    columns = [
        text_column("symbol", "symbol"),
        column("units", lambda p: Cell(quantity(p.units), float(p.units))),
        column("entry", "entry", "average price, account currency"),
        column("last", "mark", "close, account currency"),
        column("value, ccy", "value_ccy"),
        column("P&L, ccy", _unrealised, "not realised yet, before exit costs"),
        column("of equity", "share_frac", write=percent),
    ]
    return record_table(columns, view.positions, f"Positions{at}")


def _unrealised(line: PositionLine) -> Cell:
    return _gain(line.unrealised_ccy)


def list_open_orders(view: SessionView, zone: Zone) -> Table:
    """Return orders that may still fill."""
    columns = [
        text_column("symbol", lambda o: text(o.intent.symbol)),
        text_column("side", lambda o: text(o.intent.side.value)),
        column("units", lambda o: Cell(quantity(o.intent.quantity_units))),
        column("filled", lambda o: Cell(quantity(o.filled_units))),
        text_column("kind", lambda o: text(_kind_of(o.intent))),
        text_column("status", lambda o: text(o.status.value)),
        text_column("decided at", lambda o: text(zone.moment(o.intent.decided_at))),
    ]
    return record_table(columns, view.open_orders, "Open orders")


def list_unclosed(view: SessionView) -> Table:
    """Return what a kill was to close and could not yet, with what keeps it."""
    columns = [
        text_column("symbol", "symbol"),
        column("units", lambda p: Cell(quantity(p.units), float(p.units))),
        text_column("why", lambda p: text(p.why)),
    ]
    return record_table(columns, view.unclosed, "Positions that a kill could not close yet")


def list_trades(view: SessionView, zone: Zone) -> Table:
    """Return the last fills with what the model wanted."""
    columns = [
        text_column("filled at", lambda t: text(zone.moment(t.fill.filled_at))),
        text_column("symbol", lambda t: text(t.fill.symbol)),
        text_column("side", lambda t: text(t.fill.side.value)),
        column("units", lambda t: Cell(quantity(t.fill.quantity_units))),
        column("price", lambda t: Cell(plain(float(t.fill.price)))),
        column("P&L, ccy", _realised, "realised by this fill, net of fees"),
        text_column("why", _reason, "what the model decided at the close before"),
    ]
    caption = f"Last trades, {len(view.trades)} of {view.n_fills} fills"
    return record_table(columns, view.trades, caption)


def list_denied(view: SessionView, zone: Zone) -> Table:
    """Return the last orders that the gate denied, with the rule and its numbers."""
    columns = [
        text_column("decided at", lambda o: text(zone.moment(o.intent.decided_at))),
        text_column("symbol", lambda o: text(o.intent.symbol)),
        text_column("side", lambda o: text(o.intent.side.value)),
        column("units", lambda o: Cell(quantity(o.intent.quantity_units))),
        text_column("rule", lambda o: text(o.reason or NOTHING)),
    ]
    return record_table(columns, view.denied, "Last orders that the risk gate denied")


def _realised(line: TradeLine) -> Cell:
    if line.realised_ccy is None or not line.realised_ccy:
        return Cell(NOTHING)
    return _gain(float(line.realised_ccy))


def _gain(amount: float) -> Cell:
    """Write a gain or a loss; one that rounds to nothing is neither."""
    shown = plain(amount, signed=True)
    return Cell(shown, amount, tone="bad" if shown.startswith("−") else "")


def _reason(line: TradeLine) -> Cell:
    decision = line.decision
    if decision is None:
        return text(NOTHING)
    option = f", option {decision.option}" if decision.option else ""
    sure = f", confidence {plain(decision.confidence)}" if decision.confidence is not None else ""
    size = f"action {plain(decision.raw_action, signed=True)}"
    smooth = f", smoothed {plain(decision.smoothed_action, signed=True)}"
    name = Action(decision.action).name if decision.action in set(Action) else decision.action
    return Cell(f"{name}", str(name), note=f"{size}{smooth}{sure}{option}")


def _kind_of(intent: Any) -> str:
    limit = "" if intent.limit_price is None else f" at {plain(float(intent.limit_price))}"
    return f"{intent.order_type.value}{limit}"
