"""Splits overnight with positions and working orders: re-based once, and nothing jumps (B27)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from shutil import copytree
from typing import Any
from unittest import mock

import numpy as np
import pytest

from fixtures.replayed_sessions import NAME, OpenSession, proof_of
from fixtures.split_sessions import (
    SPLIT_SYMBOL,
    WHOLE,
    SplitWorld,
    adjusted_market,
    split_bar,
)
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.session import AlertRaised, SessionStateSaved
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.runtime.brokers.paper.announced_splits import PaperSplits
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.paper.split_file import read_splits
from tradingbot.runtime.brokers.paper.store import PaperStore
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.verification import verify
from tradingbot.runtime.session.loop import require_positions
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.verification import verify_day

LAST = split_bar() + 4


def equities(opened: OpenSession) -> list[float]:
    states = opened.journal.events(NAME, SessionStateSaved)
    return [float(each.equity_ccy) for each in states]


def splits(opened: OpenSession) -> list[StockSplitApplied]:
    return list(opened.journal.events(NAME, StockSplitApplied))


@pytest.mark.parametrize(("new", "old"), [(4, 1), (1, 10), (3, 2)])
def test_B27_split_leaves_equity_breakers_and_decisions_as_without_one(
    tmp_path: Path, new: int, old: int
) -> None:
    """The reference counts in the prices after the split from its first bar on."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "adjusted").mkdir()
    raw = SplitWorld(new, old).open(tmp_path / "raw", stop=LAST).run()
    plain = SplitWorld(new, old, is_announced=False, inputs=adjusted_market)
    adjusted = plain.open(tmp_path / "adjusted", stop=LAST).run()
    made, wanted = (each.journal.decisions(NAME) for each in (raw, adjusted))

    assert len(splits(raw)) == 1
    assert [each.action for each in made] == [each.action for each in wanted]
    np.testing.assert_allclose(
        [each.raw_action for each in made], [each.raw_action for each in wanted], atol=1e-5
    )
    after = equities(raw)
    np.testing.assert_allclose(
        after[:1] + after[-4:], equities(adjusted)[:1] + equities(adjusted)[-4:], rtol=1e-6
    )
    own, other = (each.session.desk.gate.breakers for each in (raw, adjusted))
    assert float(own.drawdown_frac) == pytest.approx(float(other.drawdown_frac), abs=1e-6)
    assert float(own.peak_ccy) == pytest.approx(float(other.peak_ccy), rel=1e-6)
    require_positions(raw.session)
    assert {*raw.session.desk.gate.book.orders} == {*adjusted.session.desk.gate.book.orders}
    raw.close()
    adjusted.close()


@pytest.mark.parametrize(("new", "old"), [(4, 1), (1, 10)])
def test_B27_positions_orders_and_entries_are_those_of_the_venue(
    tmp_path: Path, new: int, old: int
) -> None:
    world = SplitWorld(new, old)
    opened = world.open(tmp_path, stop=LAST).run(until=split_bar())
    before = opened.session.account
    units, entry = float(before.units[0]), float(before.entry[0])
    waiting = {each.client_order_id: each for each in opened.broker.open_orders()}
    opened.run(until=split_bar() + 1)
    held = opened.session.desk.holdings
    (event,) = splits(opened)
    orders = {each.client_order_id: each for each in opened.journal.orders(NAME)}

    assert units
    assert any(each.symbol == SPLIT_SYMBOL for each in waiting.values())
    assert (event.symbol, event.numerator, event.denominator) == (SPLIT_SYMBOL, new, old)
    assert held.find_drift(opened.broker.positions()) == {}
    for identity, order in waiting.items():
        ratio = Decimal(new) / old if order.symbol == SPLIT_SYMBOL else Decimal(1)
        filled = orders[identity].filled_units
        assert filled <= order.quantity_units * ratio
        assert float(filled) == pytest.approx(float(order.quantity_units * ratio), rel=0.2)
    at = opened.session.account
    if at.units[0] * units > 0 and abs(float(at.units[0])) <= abs(units) * new / old:
        assert float(at.entry[0]) == pytest.approx(entry * old / new)
    assert opened.journal.events(NAME, AlertRaised)[-1].code == "STOCK_SPLIT"
    verify(opened.journal)
    opened.close()


def test_B27_fractions_of_a_reverse_split_are_paid_to_the_cent(tmp_path: Path) -> None:
    opened = SplitWorld(1, 10, rules=WHOLE).open(tmp_path, stop=LAST).run(until=split_bar())
    units = opened.broker.positions()[SPLIT_SYMBOL]
    close = Decimal(repr(float(opened.session.account.mark[0])))
    cash = opened.session.desk.holdings.cash_ccy
    equity = opened.session.equity_ccy
    session = opened.session
    session.basis.source.due(
        (SPLIT_SYMBOL,),
        session.basis.day,
        session.hours.day_of(next(iter(session.source.bars(split_bar() - 1))).closed_at),
    )
    at_venue = opened.broker.account().cash_ccy
    opened.run()
    (event,) = splits(opened)
    whole = units / 10

    assert event.paid_units == whole - int(whole)
    assert event.paid_units
    assert event.cash_ccy == (event.paid_units * close * 10).quantize(Decimal("0.01"))
    assert at_venue == cash + event.cash_ccy
    require_positions(opened.session)
    assert opened.session.desk.holdings.cash_ccy == opened.broker.account().cash_ccy
    total = float(opened.session.account.cash.sum())
    assert total == pytest.approx(float(opened.broker.account().cash_ccy), abs=1e-6)
    assert equities(opened)[-4] == pytest.approx(equity, rel=0.02)
    verify(opened.journal)
    opened.close()


def test_B27_decisions_over_a_split_are_proved(tmp_path: Path) -> None:
    opened = SplitWorld().open(tmp_path, stop=LAST).run()
    days = sorted({each.decided_at.date() for each in opened.journal.decisions(NAME)})
    opened.close()
    again = SplitWorld().open(tmp_path, stop=LAST)
    proved = [verify_day(proof_of(again.session), day) for day in days]
    again.close()

    assert len(days) >= 2
    assert [each.difference for each in proved] == [None] * len(days)
    assert sum(each.n_decisions for each in proved) > 10


def test_B27_split_that_no_one_announced_stops_opening(tmp_path: Path) -> None:
    """As any position that differs (B14)."""
    opened = SplitWorld(is_announced=False).open(tmp_path, stop=LAST).run(until=split_bar())
    store = opened.broker._store
    with store.transaction():
        store.set_units(SPLIT_SYMBOL, opened.broker.positions()[SPLIT_SYMBOL] * 4)
    opened.run(until=split_bar() + 1)
    told = opened.journal.events(NAME, AlertRaised)
    opened.close()

    assert "POSITION_DRIFT" in {each.code for each in told}
    assert splits(opened) == []


def test_B27_venue_that_has_not_split_yet_is_waited_for(tmp_path: Path) -> None:
    opened = SplitWorld().open(tmp_path, stop=LAST).run(until=split_bar())
    session, source = opened.session, opened.session.basis.source
    bar = next(iter(session.source.bars(split_bar() - 1)))
    state = session.account

    announced = read_splits(source.path)
    with (
        mock.patch.object(PaperSplits, "due", return_value=announced),
        pytest.raises(BrokerUnavailableError, match="must have done a split"),
    ):
        session.take(bar, bar.closed_at)
    assert session.account is state
    session.take(bar, bar.closed_at)
    assert len(splits(opened)) == 1
    opened.close()


class Killed(BaseException):
    """Nothing that runs catches it, as nothing catches a SIGKILL."""


POINTS = (
    (SessionJournal, "record"),
    (PaperBroker, "split"),
    (PaperBroker, "positions"),
    (PaperBroker, "fill_orders"),
    (PaperStore, "set_units"),
    (PaperStore, "add_fill"),
    (TradingSession, "stream_again"),
)
"""Before and after each of these the session dies."""


def kill_at(number: int, patches: pytest.MonkeyPatch) -> None:
    left = [number]

    def _pass() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            _pass()
            made = real(*arguments, **options)
            _pass()
            return made

        return call

    for owner, name in POINTS:
        patches.setattr(owner, name, deadly(getattr(owner, name)))


def ends_as(whole: OpenSession, folder: Path, number: int) -> bool:
    """Kill a session at a point of its split, let it end, compare; tell whether it was killed."""
    world = SplitWorld(1, 10, rules=WHOLE)
    opened, killed = world.open(folder, stop=LAST), False
    opened.session.resume()
    with pytest.MonkeyPatch.context() as patches:
        kill_at(number, patches)
        try:
            opened.run(until=split_bar() + 1)
        except Killed:
            killed = True
    opened.close()
    again = world.open(folder, stop=LAST)
    again.session.resume()
    again.run()

    assert splits(again) == splits(whole)
    assert again.journal.decisions(NAME) == whole.journal.decisions(NAME)
    assert again.journal.orders(NAME) == whole.journal.orders(NAME)
    assert again.session.equity_ccy == whole.session.equity_ccy
    assert again.broker.account() == whole.broker.account()
    require_positions(again.session)
    again.close()
    return killed


def compare_killed(folder: Path, numbers: Iterable[int]) -> list[bool]:
    world = SplitWorld(1, 10, rules=WHOLE)
    (folder / "whole").mkdir()
    (folder / "begun").mkdir()
    whole = world.open(folder / "whole", stop=LAST).run()
    world.open(folder / "begun", stop=LAST).run(until=split_bar()).close()
    found = []
    for number in numbers:
        copytree(folder / "begun", folder / str(number))
        found.append(ends_as(whole, folder / str(number), number))
    whole.close()
    return found


def test_B27_session_that_is_killed_in_a_split_ends_as_one_that_was_not(tmp_path: Path) -> None:
    assert all(compare_killed(tmp_path, (2, 3, 4, 7, 8, 9, 13)))


@pytest.mark.slow
def test_B27_session_is_killed_at_every_point_of_a_split(tmp_path: Path) -> None:
    assert sum(compare_killed(tmp_path, range(1, 40))) > 20
