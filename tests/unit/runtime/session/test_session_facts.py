"""A session in single turns: proof of its days, bars that are late, the journal that is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from fixtures import replayed_sessions
from fixtures.replayed_sessions import (
    FIRST,
    NAME,
    SYMBOLS,
    bust_last_fill,
    market,
    model,
    open_session,
    proof_of,
)
from tradingbot.domain.errors import BrokerUnavailableError, ConfigError, TradingError
from tradingbot.domain.events.session import ActAudited, AlertRaised, SessionStateSaved
from tradingbot.domain.events.trading import OrderSubmitted, TradingStateChanged
from tradingbot.domain.order import OrderStatus
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session import desk
from tradingbot.runtime.session.account_record import write_account
from tradingbot.runtime.session.control import kill, swap
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.folder import Request
from tradingbot.runtime.session.loop import require_positions
from tradingbot.runtime.session.model import ModelReference
from tradingbot.runtime.session.model_change import change_model
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.state_record import state_of
from tradingbot.runtime.session.verification import verify_day
from tradingbot.serving.served_model import ServedModel

STOP = FIRST + 6


def test_first_decision_on_other_bars_is_named(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run()
    day = opened.journal.decisions(NAME)[0].decided_at.date()
    opened.close()
    inputs = market()
    closes = inputs.bars["close"].copy()
    closes[FIRST - 1, 1] *= 1.0001
    other = replace(inputs, bars={**inputs.bars, "close": closes})

    again = open_session(tmp_path, stop=STOP)
    proved = verify_day(proof_of(again.session), day)
    again.close()
    with mock.patch.object(replayed_sessions, "market", return_value=other):
        changed = open_session(tmp_path, stop=STOP)
    found = verify_day(proof_of(changed.session), day)
    changed.close()

    assert proved.difference is None
    assert proved.n_decisions > 0
    assert found.difference is not None
    assert found.difference.startswith("S001 ")
    assert "inputs_sha256" in found.difference


def test_bars_that_are_not_fresh_are_settled_and_not_traded_on(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP)
    for bar in opened.session.source.bars():
        slept = FIRST + 1 <= bar.number <= FIRST + 3
        late = timedelta(hours=5) if slept else timedelta(0)
        opened.session.take(bar, bar.closed_at + late)
    decided = {event.decided_at for event in opened.journal.decisions(NAME)}
    states = opened.journal.events(NAME, SessionStateSaved)
    bars, fills = list(opened.session.source.bars()), opened.journal.fills(NAME)
    opened.close()

    assert decided == {bars[FIRST].closed_at, bars[FIRST + 4].closed_at}
    assert len(states) == STOP - FIRST
    assert fills


def test_P03_nothing_is_sent_that_the_journal_does_not_hold(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP)
    bars = list(opened.session.source.bars())
    for bar in bars[:FIRST]:
        opened.session.take(bar, bar.closed_at)
    gone = JournalUnavailableError("journal must confirm", was="no")
    with mock.patch.object(SessionJournal, "record", side_effect=gone):
        opened.session.take(bars[FIRST], bars[FIRST].closed_at)
    orders = opened.session.desk.gate.book.orders.values()

    assert opened.broker.open_orders() == ()
    assert orders
    assert {order.status for order in orders} == {OrderStatus.CANCELLED}
    opened.session.take(bars[FIRST + 1], bars[FIRST + 1].closed_at)  # it is back
    assert opened.broker.open_orders()
    opened.close()


def test_B12_nothing_is_opened_while_the_venue_is_not_heard(tmp_path: Path) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_disconnect_s=10.0)
    opened = open_session(tmp_path, stop=STOP, session_limits=limits)
    with mock.patch.object(type(opened.broker), "disconnected_s", return_value=60.0):
        opened.run(FIRST + 1)
    orders = opened.journal.orders(NAME)
    opened.close()

    assert orders
    assert {order.status for order in orders} == {OrderStatus.DENIED}
    assert {(order.reason or "").split(":")[0] for order in orders} == {"BROKER_DISCONNECTED"}


def test_B14_positions_that_differ_stop_a_session(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run()
    require_positions(opened.session)
    opened.session.desk.holdings.positions.clear()

    with pytest.raises(TradingError, match="positions must be those of the venue"):
        require_positions(opened.session)
    opened.close()


def test_kill_cancels_flattens_and_holds_over_a_restart(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    request = Request("kill", "ada", "drill", flatten=True)
    at = opened.session.bar.closed_at
    kill(opened.session, request, at)
    assert opened.session.trading_state.value == "halted"
    opened.close()

    again = open_session(tmp_path, stop=STOP)
    assert again.session.resume()
    again.run()

    assert again.session.trading_state.value == "halted"
    assert again.broker.positions() == {}
    later = [each for each in again.journal.orders(NAME) if each.intent.decided_at > at]
    assert later
    assert {order.status for order in later} == {OrderStatus.DENIED}
    assert all("KILL_SWITCH" in (order.reason or "") for order in later)
    again.close()


def test_trade_count_holds_over_a_restart(tmp_path: Path) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_trades=2)
    opened = open_session(tmp_path, stop=STOP, session_limits=limits).run(until=FIRST + 2)
    opened.close()
    again = open_session(tmp_path, stop=STOP, session_limits=limits)
    again.session.resume()
    told, before = (each.session.sent for each in (again, opened))
    assert any(before.denial.tolist())
    assert told.denial.tolist() == before.denial.tolist()  # as the accounts will count them
    assert told.order.tolist() == before.order.tolist()
    again.run()
    reasons = [order.reason or "" for order in again.journal.orders(NAME)]
    again.close()

    assert any(reason.startswith("TRADE_COUNT: limit=2") for reason in reasons)


def test_fills_journaled_before_a_kill_reach_the_accounts_after_it(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    whole = open_session(folders[0], stop=STOP).run()
    whole.close()
    cut = open_session(folders[1], stop=STOP).run(until=FIRST + 1)
    killed = mock.patch.object(cut.session.decider, "decide", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # after the settlement, before the state
        cut.run()
    cut.close()
    again = open_session(folders[1], stop=STOP)
    again.session.resume()
    again.run().close()

    assert again.session.equity_ccy == whole.session.equity_ccy


def test_fills_between_two_bars_reach_the_accounts_over_two_restarts(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    whole = open_session(folders[0], stop=STOP).run()
    whole.close()
    cut = open_session(folders[1], stop=STOP).run(until=FIRST + 2)
    killed = mock.patch.object(Desk, "settle", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # the venue filled; nobody was told
        cut.run()
    at = cut.session.bar.closed_at
    cut.close()
    stopped = open_session(folders[1], stop=STOP)
    stopped.session.resume()
    stopped.session.take_over(at)  # before the bar of these fills is taken
    assert stopped.session.unbooked
    stopped.session.save(ActAudited(at, "stop", "ada", "drill"))
    stopped.close()
    again = open_session(folders[1], stop=STOP)
    again.session.resume()
    assert again.session.unbooked == stopped.session.unbooked
    again.run().close()

    assert again.session.equity_ccy == whole.session.equity_ccy


def save_as_before(session: TradingSession) -> None:
    """Save the state as it was when fills were counted and busts were not."""
    state = state_of(session, session.action)
    n_fills = len(session.desk.gate.book.fills)
    kept = {key: value for key, value in state.account.items() if key != "waiting"}
    session.desk.record(replace(state, account={**kept, "n_fills": n_fills, "n_counted": n_fills}))


@pytest.mark.parametrize("ends", ["killed", "stopped", "older"])
def test_B28_bust_before_a_restart_reaches_the_accounts_once(tmp_path: Path, ends: str) -> None:
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    whole = open_session(folders[0], stop=STOP).run(until=FIRST + 3)
    held = whole.session.desk.holdings.units
    before = {symbol: held(symbol) for symbol in SYMBOLS}
    bust_last_fill(whole)
    assert before != {symbol: held(symbol) for symbol in SYMBOLS}
    cut = open_session(folders[1], stop=STOP).run(until=FIRST + 3)
    if ends == "older":
        save_as_before(cut.session)
    bust_last_fill(cut)
    if ends == "stopped":
        cut.session.save(ActAudited(cut.session.bar.closed_at, "stop", "ada", "drill"))
    for until in (FIRST + 3, FIRST + 4, FIRST + 5):  # before, and after it is booked
        cut.close()
        cut = open_session(folders[1], stop=STOP)
        cut.session.resume()
        require_positions(cut.session)
        assert cut.session.unbooked == whole.session.unbooked
        assert cut.session.desk.gate.book == whole.session.desk.gate.book
        counted, known = (each.session.desk.gate.breakers for each in (cut, whole))
        assert (counted.executions, counted.trades) == (known.executions, known.trades)
        for each in (whole, cut):
            each.run(until=until + 1)
            require_positions(each.session)
        assert cut.session.desk.holdings == whole.session.desk.holdings
        ours, theirs = (write_account(each.session.account) for each in (cut, whole))
        assert ours == theirs
    whole.close()
    cut.close()


def away(*_: object) -> None:
    raise BrokerUnavailableError("the venue must answer", was="nothing")


def test_B22_kill_halts_where_the_venue_cannot_be_told(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    assert opened.broker.open_orders()
    at = opened.session.bar.closed_at
    request = Request("kill", "ada", "drill")
    with mock.patch.object(type(opened.broker), "open_orders", away):
        with pytest.raises(BrokerUnavailableError):
            kill(opened.session, request, at)
        assert opened.session.trading_state.value == "halted"

    kill(opened.session, request, at)  # asked again, it cancels
    assert opened.broker.open_orders() == ()
    changes = opened.journal.events(NAME, TradingStateChanged)
    assert len(changes) == 1  # halted once
    opened.close()


def test_B22_flatten_sells_once_the_venue_is_back(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    at, request = opened.session.bar.closed_at, Request("kill", "ada", "drill", flatten=True)
    submit, sold = type(opened.broker).submit, list[object]()
    with mock.patch.object(type(opened.broker), "open_orders", away):
        for _ in range(2):
            with pytest.raises(BrokerUnavailableError):
                kill(opened.session, request, at)

    def lose(self: object, approval: Approval) -> object:
        sold.append(approval.intent)
        if len(sold) == 1:
            submit(opened.broker, approval)  # it arrives, the answer does not
        return away()

    with mock.patch.object(type(opened.broker), "submit", lose):
        for _ in range(2):
            with pytest.raises(BrokerUnavailableError):
                kill(opened.session, request, at)
    assert len(sold) == 2
    assert opened.session.trading_state.value == "halted"
    kill(opened.session, request, at)
    opened.close()

    again = open_session(tmp_path, stop=STOP)
    assert again.session.resume()
    again.run()

    assert again.session.trading_state.value == "halted"
    assert again.broker.positions() == {}
    acts = [each.details["cancelled"] for each in again.journal.events(NAME, ActAudited)]
    assert acts[0] == "the venue could not be asked"
    assert acts[-1].isdigit()
    assert len(acts) == 2  # attempts between are not journaled
    again.close()


def test_B22_kill_halts_where_the_journal_cannot_be_written(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    gone = JournalUnavailableError("journal must confirm", was="no")
    with mock.patch.object(SessionJournal, "record", side_effect=gone):
        kill(opened.session, Request("kill", "ada", "drill"), opened.session.bar.closed_at)

    assert opened.session.trading_state.value == "halted"
    assert opened.broker.open_orders() == ()
    opened.close()


@pytest.mark.parametrize("question", ["positions", "fills", "account", "assets"])
def test_B05_bar_is_taken_again_after_the_venue_was_away(tmp_path: Path, question: str) -> None:
    folders = [tmp_path / name for name in ("whole", "away")]
    for folder in folders:
        folder.mkdir()
    whole = open_session(folders[0], stop=STOP).run()
    whole.close()
    opened = open_session(folders[1], stop=STOP).run(until=FIRST + 2)
    bar = next(iter(opened.session.source.bars(after=FIRST + 1)))
    with mock.patch.object(type(opened.broker), question, away):
        for _ in range(2):
            with pytest.raises(BrokerUnavailableError):
                opened.session.take(bar, bar.closed_at)
    opened.session.take(bar, bar.closed_at)
    opened.run()

    assert opened.session.equity_ccy == whole.session.equity_ccy
    assert opened.session.equity_ccy != 0.0
    opened.close()


def test_B14_units_that_differ_in_session_stop_opening_and_are_told(tmp_path: Path) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_drift_units=0.5)
    opened = open_session(tmp_path, stop=STOP, session_limits=limits).run(until=FIRST + 2)
    held = opened.broker.positions()
    more = {symbol: units + 3 for symbol, units in held.items()}
    with mock.patch.object(type(opened.broker), "positions", return_value=more):
        opened.run(until=FIRST + 3)
    alerts = opened.journal.events(NAME, AlertRaised)
    last = max(order.intent.decided_at for order in opened.journal.orders(NAME))
    orders = [each for each in opened.journal.orders(NAME) if each.intent.decided_at == last]
    opened.close()

    assert held
    assert {alert.symbol for alert in alerts if alert.code == "POSITION_DRIFT"} == set(held)
    assert any("POSITION_DRIFT" in (order.reason or "") for order in orders)


def test_B13_model_changes_between_bars_and_after_a_kill(tmp_path: Path) -> None:
    other = replayed_sessions.second_bundle()
    reference = ModelReference(str(other), ServedModel.open(other).sha256)

    def opened_again() -> replayed_sessions.OpenSession:
        again = open_session(tmp_path, stop=STOP)
        again.session.models = lambda each: ServedModel.open(Path(each.path), sha256=each.sha256)
        return again

    opened = opened_again().run(until=FIRST + 2)
    request = Request("swap", "ada", "better", model=reference)
    swap(opened.session, request, opened.session.bar.closed_at)
    opened.close()  # killed between the swap and the next bar
    again = opened_again()
    again.session.resume()
    assert again.session.model.sha256 == reference.sha256
    again.run()
    decisions = again.journal.decisions(NAME)
    again.close()
    models = [event.model for event in decisions]
    day = decisions[-1].decided_at.date()
    proof = opened_again()
    proved = verify_day(proof_of(proof.session), day)
    proof.close()

    assert set(models[: 2 * 3]) == {model().sha256}
    assert set(models[2 * 3 :]) == {reference.sha256}
    assert proved.difference is None


@pytest.mark.parametrize(("late_s", "is_sent"), [(0.0, True), (90.0, True), (91.0, False)])
def test_a_turn_that_is_resumed_too_late_is_not_sent_again(
    tmp_path: Path, late_s: float, is_sent: bool
) -> None:
    cut = open_session(tmp_path, stop=STOP).run(until=FIRST + 1)
    killed = mock.patch.object(Desk, "send", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # journaled, not sent
        cut.run()
    at = cut.session.bar.closed_at
    cut.close()
    again = open_session(tmp_path, stop=STOP)
    asked = mock.Mock(side_effect=again.session.judge)
    with mock.patch.object(again.session, "judge", asked):
        assert again.session.resume(now=at + timedelta(seconds=late_s))

    assert asked.called is is_sent  # whatever the gate would say
    again.close()


def test_B13_an_order_that_the_venue_knows_is_not_sent_again(tmp_path: Path) -> None:
    cut = open_session(tmp_path, stop=STOP).run(until=FIRST + 1)
    killed = mock.patch.object(desk, "answer_of", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # one is sent, its answer is not journaled
        cut.run()
    (sent,) = cut.broker.open_orders()
    cut.close()
    again = open_session(tmp_path, stop=STOP)
    submit = mock.Mock(side_effect=again.broker.submit)
    with mock.patch.object(again.broker, "submit", submit):
        again.session.resume()
    ids = [each.args[0].intent.client_order_id for each in submit.call_args_list]
    known = [each.client_order_id for each in again.broker.open_orders()]
    again.close()

    assert sent.client_order_id in known
    assert sent.client_order_id not in ids
    assert len({*known}) == len(known) == len(ids) + 1


def test_a_model_for_other_symbols_does_not_take_over(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 1)
    before = opened.session.model
    opened.session.models = mock.Mock(return_value=mock.Mock(symbols=("OTHER",)))
    with pytest.raises(ConfigError, match="the symbols and accounts of the session"):
        change_model(opened.session, ModelReference("other.zip", "0" * 64))

    assert opened.session.model is before
    opened.close()


def test_a_proof_compares_orders_too(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run()
    day = opened.journal.decisions(NAME)[0].decided_at.date()
    proof = proof_of(opened.session)
    order, real = opened.journal.orders(NAME)[0], SessionJournal.events
    larger = replace(order.intent, quantity_units=order.intent.quantity_units + 1)

    def changed(journal: SessionJournal, *asked: Any, **more: Any) -> list[Any]:
        found = real(journal, *asked, **more)
        submitted = OrderSubmitted(larger, larger.decided_at)
        is_it = [getattr(each, "intent", None) == order.intent for each in found]
        return [submitted if it else each for it, each in zip(is_it, found, strict=True)]

    proved = verify_day(proof, day)
    assert (proved.difference, proved.n_orders > 0) == (None, True)
    with mock.patch.object(SessionJournal, "events", changed):
        found = verify_day(proof, day)
    assert found.difference is not None
    assert f"{order.intent.symbol} {order.intent.decided_at}: order journaled" in found.difference
    opened.close()
