"""Exits of a kill: what the gate denies is tried again and told, and no data outage keeps it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.session import ActAudited, AlertRaised
from tradingbot.domain.events.trading import OrderDenied
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill
from tradingbot.market.account import open_accounts
from tradingbot.risk.limits import WIDEST_ORDER_LIMITS, WIDEST_SESSION_LIMITS
from tradingbot.runtime.brokers.protocol import (
    BrokerAccount,
    BrokerAsset,
    SubmitOutcome,
    SubmitReport,
    always_open,
)
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.exits import close_positions
from tradingbot.runtime.session.facts import MarketFacts
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.runtime.session.loop import Pace, obey, run_session
from tradingbot.runtime.session.pending_exits import PendingExits
from tradingbot.runtime.session.unclosed import find_unclosed

STOP = FIRST + 6
NOW = datetime(2026, 1, 5, 16, tzinfo=UTC)
COLLAR = replace(WIDEST_SESSION_LIMITS, price_collar_frac=0.05, duplicate_window_s=5.0)
Prices = Callable[[Sequence[str]], Mapping[str, float]]


class Market:
    """Last trades as a test wants them: so many times the last close."""

    def __init__(self, opened: OpenSession, factor: float = 1.0) -> None:
        self.facts, self.factor, self.others = opened.session.facts, factor, dict[str, float]()
        self.n_asked = 0
        opened.session.desk.prices = self

    def __call__(self, symbols: Sequence[str]) -> Mapping[str, float]:
        self.n_asked += 1
        last, lanes = self.facts.last, self.facts.lanes
        return {each: last[lanes[each]] * self.others.get(each, self.factor) for each in symbols}


def held(folder: Path, factor: float = 1.0, **gate: Any) -> tuple[OpenSession, Market]:
    """A session with positions, at a venue whose last trades are the closes times a factor."""
    opened = open_session(folder, stop=STOP, **{"session_limits": COLLAR, **gate})
    opened.run(until=FIRST + 3)
    assert len(opened.broker.positions()) > 1
    return opened, Market(opened, factor)


def unsold(opened: OpenSession) -> list[str]:
    """Return symbols that no order closes yet: the session closes one by itself."""
    units = opened.broker.positions()
    orders = [each.intent for each in opened.session.desk.gate.book.working()]
    sold = {each.symbol for each in orders if each.reduces(units.get(each.symbol, Decimal(0)))}
    found = sorted(units.keys() - sold)
    assert len(found) > 1
    return found


def folder_of(path: Path) -> SessionFolder:
    (path / "requests").mkdir(exist_ok=True)
    folder = SessionFolder(path)
    folder.settings_path.write_text('{"authorised": ["ada"], "broker": "paper", "bars": "replay"}')
    return folder


def alerts_of(opened: OpenSession) -> list[tuple[str, str]]:
    found = opened.journal.events(NAME, AlertRaised)
    return [(each.code, each.text) for each in found if each.code.startswith("EXITS_")]


def acts_of(opened: OpenSession, act: str = "kill") -> list[ActAudited]:
    return [each for each in opened.journal.events(NAME, ActAudited) if each.act == act]


def fill_open(opened: OpenSession) -> Mapping[str, Decimal]:
    """Live through the next bar, at which exits fill; return what is held then."""
    opened.run(until=opened.session.bar.number + 2)
    return opened.broker.positions()


def test_denied_exits_are_tried_again_until_they_leave(tmp_path: Path) -> None:
    opened, market = held(tmp_path, factor=2.0)
    folder, symbols = folder_of(tmp_path), unsold(opened)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    for second in (0.0, 0.2, 0.9, 1.0, 2.0, 3.0, 6.9, 7.0):  # tried at 0, 1, 3 and 7
        assert obey(opened.session, folder, lambda s=second: NOW + timedelta(seconds=s))
        assert folder.is_killed
        assert opened.session.trading_state.value == "halted"
        assert opened.session.desk.gate.breakers.kill_reason == "drill"
    n_asked = market.n_asked
    codes = [each for each, _ in alerts_of(opened)]
    (alert,) = opened.journal.events(NAME, AlertRaised)
    denied = opened.journal.events(NAME, OrderDenied)
    state = opened.journal.state(NAME)
    open_ = find_unclosed(acts_of(opened), state.positions, opened.journal.orders(NAME))
    market.factor = 1.0
    obey(opened.session, folder, lambda: NOW + timedelta(seconds=15))
    left = fill_open(opened)
    state = opened.journal.state(NAME)
    closed = find_unclosed(acts_of(opened), state.positions, opened.journal.orders(NAME))
    acts, told = acts_of(opened), alerts_of(opened)
    opened.close()

    assert n_asked == 4
    assert codes == ["EXITS_DENIED"]
    assert alert.level.value == "critical"
    assert f"PRICE_COLLAR: {', '.join(symbols)};" in alert.text
    assert sum("PRICE_COLLAR" in each.reason for each in denied) == len(symbols)  # told once
    assert [each.symbol for each in open_] == symbols
    assert all(each.units and each.why.startswith("PRICE_COLLAR: limit=0.05") for each in open_)
    assert folder.waiting() == []
    assert left == {}
    assert closed == ()
    assert [each.details["exits_denied"] for each in acts] == [str(len(symbols)), "0"]
    assert [code for code, _ in told] == ["EXITS_DENIED", "EXITS_OUT"]


def test_other_denials_are_told_anew_and_a_restart_tells_nothing_twice(tmp_path: Path) -> None:
    opened, market = held(tmp_path, factor=2.0)
    folder, symbols = folder_of(tmp_path), unsold(opened)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    obey(opened.session, folder, lambda: NOW)
    market.others[symbols[0]] = 1.0  # one may leave
    obey(opened.session, folder, lambda: NOW + timedelta(seconds=2))
    before = alerts_of(opened)
    opened.close()
    again = open_session(tmp_path, stop=STOP, session_limits=COLLAR)
    again.session.resume(sends=False)
    later = Market(again, 2.0)
    obey(again.session, folder, lambda: NOW + timedelta(minutes=1))
    told, n_asked = alerts_of(again), later.n_asked
    again.close()

    assert len(before) == 2
    assert f"PRICE_COLLAR: {', '.join(symbols[1:])};" in before[1][1]
    assert n_asked == 1
    assert told == before


def test_a_new_bar_tries_at_once_and_its_accounts_are_those_of_a_restart(tmp_path: Path) -> None:
    opened, market = held(tmp_path, factor=2.0)
    folder = folder_of(tmp_path)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    obey(opened.session, folder, lambda: NOW)
    opened.close()
    worth = []
    for restarts in (False, True):
        if restarts:
            opened = open_session(tmp_path, stop=STOP, session_limits=COLLAR)
            opened.session.resume(sends=False)
        worth.append([opened.session.sent.order.tolist(), opened.session.sent.denial.tolist()])
    Market(opened, 2.0)
    obey(opened.session, folder, lambda: NOW)
    opened.run(until=FIRST + 4)
    market = Market(opened)
    obey(opened.session, folder, lambda: NOW)  # no second has passed, and a bar has
    n_asked, waiting = market.n_asked, folder.waiting()
    opened.close()

    assert worth[0] == worth[1]
    assert n_asked == 1
    assert waiting == []


@pytest.mark.parametrize("state", ["active", "reducing"])
def test_exits_that_break_off_half_way_are_no_duplicates_later(tmp_path: Path, state: str) -> None:
    opened, _ = held(tmp_path)
    gate, n_judged = opened.session.desk.gate, 0
    if state != "active":
        gate.breakers = replace(
            gate.breakers, trading_state=type(gate.breakers.trading_state)(state)
        )
    judge = SessionGate.judge

    def break_off(self: SessionGate, *given: Any) -> Any:
        nonlocal n_judged
        n_judged += 1
        if n_judged == 2:
            raise RuntimeError("half way")
        return judge(self, *given)

    folder = folder_of(tmp_path)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    with mock.patch.object(SessionGate, "judge", break_off), pytest.raises(RuntimeError):
        obey(opened.session, folder, lambda: NOW)
    assert gate.breakers.trading_state.value == state
    assert opened.session.trading_state.value == "halted"
    obey(opened.session, folder, lambda: NOW)
    denied = opened.journal.events(NAME, OrderDenied)
    left = fill_open(opened)
    opened.close()

    assert n_judged == 2
    assert [each.reason for each in denied if "DUPLICATE" in each.reason] == []
    assert left == {}


def test_session_ends_with_its_bars_and_says_what_a_kill_leaves(tmp_path: Path) -> None:
    opened, _ = held(tmp_path, factor=2.0)
    folder, symbols = folder_of(tmp_path), unsold(opened)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    assert run_session(opened.session, folder, Pace()) == "finished"
    told, state = alerts_of(opened), opened.journal.state(NAME)
    left = find_unclosed(acts_of(opened), state.positions, opened.journal.orders(NAME))
    opened.close()

    assert folder.waiting() == []
    assert [code for code, _ in told] == ["EXITS_DENIED", "EXITS_LEFT"]
    assert told[1][1].startswith("no bar follows; positions that a kill could not close: PRICE_")
    assert [each.symbol for each in left] == symbols


def test_a_stop_ends_the_wait_and_an_arming_takes_the_kill_back(tmp_path: Path) -> None:
    opened, market = held(tmp_path, factor=2.0)
    folder = folder_of(tmp_path)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    assert obey(opened.session, folder, lambda: NOW)
    folder.ask(Request("stop", "ada", "home"))
    assert run_session(opened.session, folder, Pace()) == "stopped"
    assert [each.act for _, each in folder.waiting()] == ["kill"]  # it goes on at a resume
    folder.ask(Request("arm", "ada", "positions may stay"))
    n_asked = market.n_asked
    obey(opened.session, folder, lambda: NOW)
    told, state = alerts_of(opened), opened.journal.state(NAME)
    acts = opened.journal.events(NAME, ActAudited)
    left = find_unclosed(acts, state.positions, opened.journal.orders(NAME))
    opened.close()

    assert folder.waiting() == []
    assert market.n_asked <= n_asked + 1
    assert told[-1][0] == "EXITS_LEFT"
    assert told[-1][1].startswith("ada armed the session")
    assert opened.session.trading_state.value == "active"
    assert left == ()


def test_what_no_bar_lets_pass_is_named_once_and_not_waited_for(tmp_path: Path) -> None:
    limits = replace(COLLAR, restricted_symbols=("S001",))
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    opened.session.desk.gate.session_limits = limits
    Market(opened)
    fill = Fill("by-hand", "x", "TSLA", Side.BUY, Decimal(5), Decimal(100), NOW)
    opened.session.desk.holdings.book(fill)
    folder = folder_of(tmp_path)
    for _ in range(2):
        folder.ask(Request("kill", "ada", "drill", flatten=True))
        obey(opened.session, folder, lambda: NOW)
    told, waiting = alerts_of(opened), folder.waiting()
    opened.close()

    assert waiting == []
    ((code, text),) = told
    assert code == "EXITS_DENIED"
    assert "NOT_TRADED: TSLA; SYMBOL_RESTRICTED: S001; no later price lets them pass" in text


def test_outage_of_data_keeps_no_exit_from_leaving(tmp_path: Path) -> None:
    opened, _ = held(tmp_path)
    desk, folder = opened.session.desk, folder_of(tmp_path)

    def away(symbols: Sequence[str]) -> Any:
        raise BrokerUnavailableError("prices must be told", was="no answer")

    desk.prices = desk.quotes = away
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    obey(opened.session, folder, lambda: NOW)
    desk.prices = desk.quotes = None
    left = fill_open(opened)
    opened.close()

    assert folder.waiting() == []
    assert left == {}


@pytest.mark.parametrize("price", [None, float("nan"), 0.0])
def test_a_price_that_is_not_told_keeps_no_exit_from_leaving(
    tmp_path: Path, price: float | None
) -> None:
    opened, _ = held(tmp_path)
    opened.session.desk.prices = lambda symbols: (
        {} if price is None else dict.fromkeys(symbols, price)
    )
    folder = folder_of(tmp_path)
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    obey(opened.session, folder, lambda: NOW)
    left = fill_open(opened)
    opened.close()

    assert left == {}


def test_splits_that_cannot_be_told_keep_only_positions_in_that_differ(tmp_path: Path) -> None:
    opened, _ = held(tmp_path)
    symbols, folder = unsold(opened), folder_of(tmp_path)
    gone = BrokerUnavailableError("announcements must be told", was="no answer")
    units = opened.broker.positions()
    units[symbols[0]] *= 2  # a split that nobody tells of
    folder.ask(Request("kill", "ada", "drill", flatten=True))
    with (
        mock.patch.object(type(opened.session), "take_over", side_effect=gone),
        mock.patch.object(type(opened.broker), "positions", return_value=units),
    ):
        obey(opened.session, folder, lambda: NOW)
    exits = {each.symbol for each in opened.broker.open_orders()}
    assert symbols[0] not in exits
    ((_, text),) = alerts_of(opened)
    opened.close()

    assert exits >= set(symbols[1:])
    assert f"POSITION_DRIFT: {symbols[0]};" in text
    assert folder.is_killed


def many_positions(n_positions: int, **changes: Any) -> tuple[Any, mock.Mock, mock.Mock]:
    """A session that holds so many symbols, its venue, and its source of prices."""
    symbols = tuple(f"S{k:03d}" for k in range(n_positions))
    units = {each: Decimal(2) for each in symbols}
    broker = mock.Mock()
    broker.clock.side_effect = lambda: always_open(NOW)
    broker.positions.return_value = units
    broker.account.return_value = BrokerAccount(*map(Decimal, (10**6, 10**6, 10**6)), False)
    broker.assets.side_effect = lambda asked: {
        each: BrokerAsset(each, True, True, True, halted=False) for each in asked
    }
    broker.disconnected_s.return_value = 0.0
    broker.submit.return_value = SubmitReport(SubmitOutcome.ACCEPTED, "v")
    limits = {"limits": WIDEST_ORDER_LIMITS, "session_limits": replace(COLLAR, **changes)}
    desk = Desk(NAME, mock.Mock(), broker, SessionGate(OrderBook(), **limits), Holdings(Decimal(0)))
    desk.journal.events.return_value = ()
    desk.day_of = datetime.date
    prices = mock.Mock(side_effect=lambda asked: dict.fromkeys(asked, 100.0))
    desk.prices = prices
    price = np.full(n_positions, 100.0)
    facts = MarketFacts(symbols)
    for hour in range(2):
        at = NOW - timedelta(hours=1 - hour)
        facts.take(at, NOW.date(), price, price * 1e6, np.ones(n_positions))
    for symbol in symbols:
        desk.holdings.book(Fill(symbol, "x", symbol, Side.BUY, Decimal(2), Decimal(100), NOW))
    account = open_accounts(
        1e6, torch.zeros(n_positions, dtype=torch.int32), torch.from_numpy(price)
    )
    account = account._replace(units=torch.full_like(account.cash, 2.0), entry=account.mark)
    session: Any = SimpleNamespace(
        desk=desk,
        exits=PendingExits(),
        symbols=symbols,
        facts=facts,
        account=account,
        bar=SimpleNamespace(closed_at=NOW, number=3),
        model=SimpleNamespace(sha256="5f"),
        take_over=lambda at: None,
        clock_at=lambda at: lambda: NOW,
        moment=lambda at: NOW,
    )
    return session, broker, prices


@pytest.mark.parametrize("n_positions", [2, 143])
def test_requests_of_a_kill_do_not_grow_with_its_positions(n_positions: int) -> None:
    session, broker, prices = many_positions(n_positions)
    details = close_positions(session, NOW)
    asked = [call[0] for call in broker.mock_calls if call[0] not in ("submit", "disconnected_s")]

    assert details == {"exits": str(n_positions), "exits_denied": "0"}
    assert broker.submit.call_count == n_positions
    assert sorted(asked) == ["account", "assets", "clock", "positions"]
    assert prices.call_count == 1


def test_rate_of_messages_holds_exits_for_seconds_and_not_for_a_bar() -> None:
    session, broker, _ = many_positions(143, message_burst=100, messages_per_s=1.0)
    first = close_positions(session, NOW)
    session.moment = lambda at: NOW + timedelta(seconds=43)
    second = close_positions(session, NOW)

    assert (first["exits"], first["exits_denied"]) == ("100", "43")
    assert {each for each in first.values() if each.startswith("MESSAGE_RATE")}
    assert second == {"exits": "43", "exits_denied": "0"}
    assert broker.submit.call_count == 143
