"""What is recorded is there again, exactly, in SQLite and in PostgreSQL."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from fixtures.journals import SESSION_EVENTS, decision, round_trip, state
from fixtures.order_records import AT, accepted, fill, intent
from tradingbot.domain.errors import ConfigError, TradingError, UserError
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import (
    FillBusted,
    OrderAccepted,
    OrderFilled,
    OrderSubmitted,
    StockSplitApplied,
)
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import (
    ALERTS,
    DECISIONS,
    FILLS,
    ORDERS,
    POSITION_CHANGES,
    STATES,
)
from tradingbot.runtime.journal.verification import verify


def test_events_come_back_as_they_were_and_in_their_order(journal: SessionJournal) -> None:
    events = round_trip()
    journal.record(*events[:5], session="one")
    head = journal.record(*events[5:], session="one")
    journal.record(*SESSION_EVENTS[:1], session="two")

    assert journal.events("one") == tuple(events)
    assert head.seq == len(events)
    assert journal.sessions() == ("one", "two")
    assert journal.state("one") == state()
    assert journal.state("two") is None
    assert [event.kind for event in journal.events("one", after=head.seq - 1)] == ["ActAudited"]


def test_readings_within_one_see_one_state(journal: SessionJournal, journal_address: str) -> None:
    journal.record(*SESSION_EVENTS[:1], session="one")
    with JournalReader.at(journal_address) as reader:
        with reader.reading():
            before = reader.head()
            journal.record(*SESSION_EVENTS[:1], session="two")
            assert (reader.head(), reader.sessions()) == (before, ("one",))
        assert reader.sessions() == ("one", "two")


def test_orders_are_folded_from_their_events(journal: SessionJournal) -> None:
    journal.record(*round_trip(), session="one")

    bought, sold, denied = journal.orders("one")

    assert (bought.status, bought.filled_units) == (OrderStatus.FILLED, Decimal(10))
    assert bought.venue_order_id == "v1"
    assert sold.status is OrderStatus.FILLED
    assert (denied.status, denied.reason) == (
        OrderStatus.DENIED,
        "MAX_POSITION: limit=1 observed=2",
    )
    assert [each.fill_id for each in journal.fills("one")] == ["f1", "f2", "f3"]


def test_answer_after_its_first_fill_and_second_sending_change_nothing(
    journal: SessionJournal,
) -> None:
    order = accepted()
    late = OrderAccepted(order.client_order_id, symbol="SPY", at=AT, venue_order_id="v1")
    sent = OrderSubmitted(order.intent, AT)
    again = replace(sent, submitted_at=AT + timedelta(seconds=9))
    filled = OrderFilled(fill(order, "4"), Decimal(6))

    journal.record(sent, again, filled, late, session="one")

    (order,) = journal.orders("one")
    assert order.status is OrderStatus.PARTIALLY_FILLED
    assert order.venue_order_id == "v1"
    assert len(journal.rows(ORDERS)) == 1


def test_decisions_of_a_day(journal: SessionJournal) -> None:
    journal.record(*(decision(hour=hour) for hour in (0, 8, 9, 33)), session="one")

    assert [each.decided_at.hour for each in journal.decisions("one", date(2026, 1, 6))] == [0]
    assert len(journal.decisions("one")) == 4
    assert journal.decisions("two") == ()


def test_replayed_fill_and_decision_are_journaled_once(journal: SessionJournal) -> None:
    first = OrderFilled(fill(accepted(), "4"), Decimal(6))
    journal.record(first, decision(), session="one")

    head = journal.record(replace(first, remaining_units=Decimal(0)), decision(), session="one")

    assert head.seq == 2
    with pytest.raises(TradingError, match="OrderFilled must be journaled once under its key"):
        journal.record(OrderFilled(fill(accepted(), "5"), Decimal(5)), session="one")
    with pytest.raises(TradingError, match="DecisionMade must be journaled once"):
        journal.record(decision(raw_action=0.5), session="one")
    assert journal.record(OrderFilled(fill(accepted(), "5"), Decimal(5)), session="two").seq == 3


def test_record_is_all_or_nothing(journal: SessionJournal) -> None:
    journal.record(OrderFilled(fill(accepted(), "4"), Decimal(6)), session="one")
    other = OrderFilled(fill(accepted(), "5"), Decimal(5))

    with pytest.raises(TradingError, match="journaled once"):
        journal.record(decision(), other, session="one")

    assert journal.decisions("one") == ()
    assert journal.record(decision(), session="one").seq == 2


AWKWARD = "NUL \0, \\u0000, \\\\, emoji 🦖, ' ; DROP TABLE entries; --, \ud800, \n\t é"


def test_money_times_texts_and_numbers_are_exact_P09(journal: SessionJournal) -> None:
    order = accepted("999999999999999.999999999")
    exact = fill(
        order, "0.000000001", price=Decimal("123456789012345.678901234"), fee_ccy=Decimal("-0.100")
    )
    exact = replace(exact, fill_id=AWKWARD, filled_at=datetime(1, 1, 1, 0, 0, 0, 1, AT.tzinfo))
    zones = (ZoneInfo("America/New_York"), timezone(-timedelta(hours=4, minutes=56, seconds=2)))
    moments = [AT.replace(microsecond=999_999).astimezone(zone) for zone in zones]
    numbers = (5e-324, -1.7976931348623157e308, math.inf, math.nan, 0.1 + 0.2)
    decisions = [
        decision(hour=hour, raw_action=number, option=AWKWARD)
        for hour, number in enumerate(numbers)
    ]
    events = (
        OrderFilled(exact, Decimal("999999999999999.999999998")),
        *(AlertRaised(moment, AlertLevel.INFO, "X", AWKWARD) for moment in moments),
        state(
            cash_ccy=Decimal("-12345678901234567890.123456789012345678"),
            equity_ccy=Decimal(2**53 + 1),
        ),
    )
    journal.record(*events, *decisions, session=AWKWARD)

    read = journal.events(AWKWARD)

    assert read[: len(events)] == events
    assert repr(read[len(events) :]) == repr(tuple(decisions))  # NaN is not equal to itself
    (row,) = journal.rows(FILLS, AWKWARD)
    assert (row["price"], row["quantity_units"]) == (exact.price, Decimal("1e-9"))
    assert (row["fee_ccy"], row["fill_id"]) == (Decimal("-0.1"), AWKWARD)
    assert row["filled_at"] == exact.filled_at
    (change,) = journal.rows(POSITION_CHANGES)
    assert change["realised_pnl_ccy"] == Decimal("0.1")
    assert change["cost_ccy"] == Decimal("123456.789012345678901234")
    assert [row["at"] for row in journal.rows(ALERTS)] == moments
    assert {row["text"] for row in journal.rows(ALERTS)} == {AWKWARD}
    assert repr([row["raw_action"] for row in journal.rows(DECISIONS)]) == repr([*numbers])
    (saved,) = journal.rows(STATES)
    assert saved["cash_ccy"] == Decimal("-12345678901234567890.123456789012345678")
    assert saved["equity_ccy"] == 2**53 + 1
    assert verify(journal).counts["entries"] == len(events) + len(decisions)


def test_texts_are_bound_and_never_part_of_a_statement_P08(journal: SessionJournal) -> None:
    attacks = ["'; DELETE FROM entries; --", '" OR 1=1 --', "%s %(x)s :name ? $1", "\\'; SELECT 1"]
    for place, attack in enumerate(attacks):
        alert = AlertRaised(AT, AlertLevel.INFO, attack, attack, attack)
        journal.record(alert, decision(hour=place, option=attack), session=attack)

    for attack in attacks:
        assert [event.kind for event in journal.events(attack)] == ["AlertRaised", "DecisionMade"]
        assert journal.rows(ALERTS, attack)[0]["code"] == attack
    assert verify(journal).counts["entries"] == 8


def test_time_without_a_zone_is_refused_before_it_is_kept(journal: SessionJournal) -> None:
    naive = AlertRaised(AT.replace(tzinfo=None), AlertLevel.INFO, "X", "x")

    with pytest.raises(TradingError, match="must have a time zone"):
        journal.record(naive, session="one")

    assert journal.buffered_events == 0
    assert journal.record(decision(), session="one").seq == 1


def test_commits_are_durable(journal: SessionJournal) -> None:
    def ask(statement: str) -> Any:
        return journal._worker.do(lambda: asked(journal, statement), 5)

    if journal.address.path is None:
        assert ask("SHOW synchronous_commit") == "on"
        assert ask("SHOW statement_timeout") == "5s"
        assert ask("SHOW transaction_isolation") == "serializable"
    else:
        assert ask("PRAGMA journal_mode") == "wal"
        assert ask("PRAGMA synchronous") == 2  # FULL
        assert ask("PRAGMA busy_timeout") == 5000
        assert ask("PRAGMA foreign_keys") == 1


def asked(journal: SessionJournal, statement: str) -> Any:
    connection = journal._connected()
    with connection.begin():
        return connection.exec_driver_sql(statement).scalar()


def test_reader_cannot_write(journal: SessionJournal) -> None:
    with (
        journal.reading() as connection,
        pytest.raises(Exception, match=r"readonly database|read-only transaction"),
    ):
        connection.execute(text("CREATE TABLE x (y INTEGER)"))


def test_session_without_a_name_is_refused(journal: SessionJournal) -> None:
    with pytest.raises(TradingError, match="session must have a name"):
        journal.record(decision(), session=" ")


def test_views_show_unified_actions_trades_orders_and_positions(journal: SessionJournal) -> None:
    journal.record(*round_trip(), session="one")
    journal.record(*(decision(hour=5 + n, action=n) for n in range(7)), session="words")

    with journal.reading() as connection:
        trades = connection.execute(text("SELECT * FROM trades ORDER BY seq")).mappings().all()
        words = connection.execute(
            text("SELECT action FROM actions WHERE session = 'words' ORDER BY seq")
        ).scalars()
        orders = connection.execute(
            text("SELECT status FROM order_states ORDER BY client_order_id, status")
        ).scalars()
        held = connection.execute(text("SELECT units FROM positions")).scalars()

        assert [*words] == ["HOLD", "BUY_1", "BUY_2", "BUY_3", "SELL_1", "SELL_2", "BUY_4"]
        assert sorted(orders) == ["denied", "filled", "filled"]
        assert [Decimal(units) for units in held] == [0]
    assert [row["action"] for row in trades] == ["BUY_2", "BUY_2", "SELL_2"]
    assert [row["cause"] for row in trades] == ["fill"] * 3
    assert trades[0]["action_space"] == "continuous"
    assert (trades[0]["raw_action"], trades[0]["smoothed_action"]) == (0.1 + 0.2, 0.25)
    assert (trades[0]["option"], trades[0]["intrinsic_reward"]) == ("ride", 1e-17)
    # Bought 4 at 100.25 and 6 at 100.50, sold 10 at 101; the fee of the first fill is 0.01.
    profits = [Decimal(row["realised_pnl_ccy"]) for row in trades]
    assert profits == [Decimal("-0.01"), Decimal(0), Decimal(6)]


def test_chain_is_the_same_in_every_database(journal: SessionJournal) -> None:
    head = journal.record(*round_trip(), session="one")

    expected = "b346a0d68ec35de4aa8d5fe362c99497e5bdb13c8f89248fbaf61880961a579b"
    assert (head.seq, head.sha256) == (15, expected)


def test_second_writer_is_refused_and_readers_are_not_P03(
    journal: SessionJournal, journal_address: str
) -> None:
    journal.record(decision(), session="one")

    with pytest.raises(UserError, match=r"in use by process|must have one writer"):
        SessionJournal.open(journal_address)
    with JournalReader.at(journal_address) as reader:
        assert len(reader.decisions("one")) == 1
    assert journal.record(decision(hour=1), session="one").seq == 2


def test_journal_opens_again_and_goes_on(journal_address: str) -> None:
    with SessionJournal.open(journal_address, create=True) as first:
        before = first.record(decision(), session="one")

    with SessionJournal.open(journal_address) as second:
        assert second.head() == before
        assert second.record(decision(hour=1), session="one").seq == 2
        verify(second)


def test_journal_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="journal must exist, was no file"):
        SessionJournal.open(tmp_path / "none.sqlite")


def test_busted_fill_is_taken_back_and_a_split_rebases_B27_B28(journal: SessionJournal) -> None:
    bought, sold = accepted("10"), accepted("4", Side.SELL)
    first = fill(bought, "10", fill_id="f1", price=Decimal(100), fee_ccy=Decimal(1))
    second = fill(sold, "4", fill_id="f2", price=Decimal(110), fee_ccy=Decimal(2))
    journal.record(OrderFilled(first, Decimal(0)), session="one")
    journal.record(OrderFilled(second, Decimal(0)), session="one")

    journal.record(FillBusted(second, AT), StockSplitApplied("SPY", 3, 2, AT), session="one")
    journal.record(FillBusted(second, AT + timedelta(hours=1)), session="one")  # told twice

    changes = journal.rows(POSITION_CHANGES)
    assert [row["cause"] for row in changes] == ["fill", "fill", "bust", "split"]
    assert [row["units"] for row in changes] == [10, 6, 10, 15]
    assert [row["cost_ccy"] for row in changes] == [1000, 600, 1000, 1000]
    assert [row["realised_pnl_ccy"] for row in changes] == [-1, 38, -38, 0]
    assert journal.fills("one") == (first,)
    assert verify(journal).head.seq == 4


def test_intent_is_of_the_order_that_was_sent(journal: SessionJournal) -> None:
    journal.record(OrderSubmitted(intent("3"), AT), session="one")

    assert [order.intent for order in journal.orders("one")] == [intent("3")]
