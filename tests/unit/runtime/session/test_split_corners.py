"""Splits that meet something else: a bust, a second split, trades since, sleeves (B27, B28)."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pytest

from fixtures.portfolio_sessions import NAME as PORTFOLIO
from fixtures.portfolio_sessions import open_portfolio_session
from fixtures.replayed_sessions import NAME, hours
from fixtures.split_sessions import (
    SPLIT_SYMBOL,
    WHOLE,
    SplitWorld,
    adjusted_market,
    ex_date,
    raw_market,
    split_bar,
)
from tradingbot.domain.errors import BrokerUnavailableError, ConfigError
from tradingbot.domain.events.session import AlertRaised
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.paper.announced_splits import PaperSplits
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import BrokerUpdate, UpdateKind
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.loop import require_positions
from tradingbot.runtime.session.price_basis import PriceBasis
from tradingbot.runtime.session.rebasing import rebase_due
from tradingbot.runtime.session.session import TradingSession


def bust(session: TradingSession, fill: Fill, ratio: int) -> None:
    """Let the venue take back a fill from before a split."""
    broker = session.desk.broker
    assert isinstance(broker, PaperBroker)
    left = broker.positions()[fill.symbol] - fill.signed_units * ratio
    with broker._store.transaction():
        broker._store.query("DELETE FROM fills WHERE fill_id = ?", (fill.fill_id,))
        broker._store.set_units(fill.symbol, left)
        broker._store.add_cash(fill.signed_units * fill.price + fill.fee_ccy)
    assert session.bar is not None
    at = session.bar.closed_at
    told = BrokerUpdate(UpdateKind.BUSTED, fill.client_order_id, at, fill=fill)
    with mock.patch.object(PaperBroker, "drain_updates", return_value=(told,)):
        session.take_over(at)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_B28_fill_from_before_a_split_is_taken_back_in_new_units(
    tmp_path: Path, is_restarted: bool
) -> None:
    opened = SplitWorld().open(tmp_path).run(until=split_bar() + 1)
    begin = hours().begin_of(ex_date())
    fills = opened.session.desk.gate.book.fills.values()
    early = [each for each in fills if each.symbol == SPLIT_SYMBOL and each.filled_at < begin]
    bust(opened.session, early[-1], 4)
    if is_restarted:
        opened.close()
        opened = SplitWorld().open(tmp_path)
        opened.session.resume()
    opened.run(until=split_bar() + 2)
    session = opened.session
    require_positions(session)
    units, cash = float(session.account.units[0]), float(session.account.cash.sum())
    own, at_venue = session.desk.holdings.units(SPLIT_SYMBOL), opened.broker.account().cash_ccy
    opened.close()

    assert units == pytest.approx(float(own))
    assert cash == pytest.approx(float(at_venue))


def test_B27_two_splits_between_two_bars_pay_for_both_fractions(tmp_path: Path) -> None:
    opened = SplitWorld(1, 10, rules=WHOLE).open(tmp_path).run(until=split_bar())
    session, broker, day = opened.session, opened.broker, ex_date()
    rows = f"{SPLIT_SYMBOL},{day},1,10\n{SPLIT_SYMBOL},{day + timedelta(days=1)},1,3\n"
    (tmp_path / "splits.csv").write_text(f"symbol,ex_date,new,old\n{rows}", encoding="utf-8")
    before, cash = broker.positions()[SPLIT_SYMBOL], broker.account().cash_ccy
    equity, mark = session.equity_ccy, Decimal(repr(float(session.account.mark[0])))
    rebase_due(session, day + timedelta(days=1))
    paid = broker.account().cash_ccy - cash
    events = opened.journal.events(NAME, StockSplitApplied)
    told = [each.text for each in opened.journal.events(NAME, AlertRaised)]
    require_positions(session)

    first, second = divmod(before, 10)[1] / 10, divmod(before // 10, 3)[1] / 3
    assert first
    assert second
    assert float(paid) == pytest.approx(float((first * 10 + second * 30) * mark), abs=0.02)
    assert sum(each.cash_ccy for each in events) == paid
    assert session.desk.holdings.cash_ccy == broker.account().cash_ccy
    assert float(broker.account().equity_ccy) == pytest.approx(equity, abs=0.02)
    assert told[1].startswith(f"1:3, {before / 10:.9f} units are {before // 30}.000000000, ")
    opened.close()


def test_B27_split_is_not_done_to_units_that_were_bought_after_it(tmp_path: Path) -> None:
    opened = SplitWorld(is_announced=False).open(tmp_path).run(until=split_bar() + 3)
    held = opened.broker.positions()
    opened.close()
    again = SplitWorld().open(tmp_path)
    again.session.resume()

    with pytest.raises(ConfigError, match="before its symbol is traded in new prices"):
        again.run()
    assert again.broker.positions() == held
    assert again.journal.events(NAME, StockSplitApplied) == ()
    again.close()


def test_B27_file_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    opened = SplitWorld().open(tmp_path).run(until=split_bar())
    file, bar = tmp_path / "splits.csv", next(iter(opened.session.source.bars(split_bar() - 1)))
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[:-4], encoding="utf-8")

    with pytest.raises(BrokerUnavailableError, match="must be known, was a split must have symbol"):
        opened.session.take(bar, bar.closed_at)
    file.write_text(whole, encoding="utf-8")
    opened.session.take(bar, bar.closed_at)
    assert len(opened.journal.events(NAME, StockSplitApplied)) == 1
    opened.close()


def test_B27_portfolio_decides_over_a_split_as_without_one(tmp_path: Path) -> None:
    """Capital of its sleeves is none of their units: it goes on."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "adjusted").mkdir()
    stop, file = split_bar() + 2, tmp_path / "splits.csv"
    row = f"{SPLIT_SYMBOL},{ex_date()},4,1"
    file.write_text(f"symbol,ex_date,new,old\n{row}\n", encoding="utf-8")
    raw = open_portfolio_session(tmp_path / "raw", stop=stop, inputs=raw_market(4, 1))
    first = hours().day_of(as_datetime(raw_market(4, 1).closed_at[0]))
    raw.session.basis = PriceBasis(PaperSplits(raw.broker, file, hours().begin_of), first)
    adjusted = open_portfolio_session(
        tmp_path / "adjusted", stop=stop, inputs=adjusted_market(4, 1)
    )
    made, wanted = (each.run(stop).journal.decisions(PORTFOLIO) for each in (raw, adjusted))
    require_positions(raw.session)
    cash = float(raw.session.account.cash[0])

    assert raw.broker.positions()[SPLIT_SYMBOL]
    assert [each.action for each in made] == [each.action for each in wanted]
    assert cash == pytest.approx(float(raw.broker.account().cash_ccy))
    assert raw.session.equity_ccy == pytest.approx(adjusted.session.equity_ccy, rel=1e-7)
    raw.close()
    adjusted.close()
