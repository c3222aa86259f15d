"""One order per approval through the real client, whatever line and venue do (table B)."""

from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal

import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, FaultSchedule, VenueOptions
from fixtures.alpaca_broker import (
    drain_until,
    numbered,
    orders_of,
    patience_for,
    refuse_next,
    send,
    settings_of,
    traded,
    until,
)
from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from fixtures.order_records import AT, intent
from tradingbot.domain.errors import BrokerUnavailableError, TradingError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderType, Side, TimeInForce
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.brokers.alpaca.wire import TradingClient, enums, forms
from tradingbot.runtime.brokers.protocol import SubmitOutcome, SubmitReport, UpdateKind

BEFORE = ("drop_before", "hang_before", "500", "502_html", "504_before", "late_accept")
AFTER = (
    *("drop_after", "hang_after", "500_after", "502_html_after", "504_after", "cut_after"),
    *("504_json_after", "empty_after", "html_200_after"),
)


@pytest.mark.parametrize(("with_id", "made"), [(False, 4), (True, 1)])
def test_the_client_alone_makes_four_orders_of_one_after_a_504(with_id: bool, made: int) -> None:
    """Why each of its requests goes through a session of ours: measured, not supposed."""
    from alpaca.common.exceptions import APIError  # a warning of the package is silenced by now

    with FakeAlpaca() as fake:
        fake.do(quotes={"SPY": ["100", "100.1"]}, faults=_next("504_after", times=9))
        client = TradingClient(KEY_ID, SECRET_KEY, paper=True, url_override=fake.url)
        client._retry_wait = 0
        order = forms.MarketOrderRequest(
            symbol="SPY",
            qty=1,
            side=enums.OrderSide.BUY,
            time_in_force=enums.TimeInForce.DAY,
            client_order_id="one" if with_id else None,
        )

        with pytest.raises(APIError):
            client.submit_order(order)

        state = fake.state()
        assert (state["requests"]["submit"], len(state["orders"])) == (4, made)


@pytest.mark.parametrize("fault", BEFORE)
def test_B01_lost_before_it_is_taken_is_sent_again_after_two_denials(fault: str) -> None:
    plan = FaultPlan(requests_per_minute=None, late_s=0.8)
    with traded(plan=plan, **patience_for(fault)) as (fake, broker):
        fake.do(faults=_next(fault))

        report = send(broker, intent())

        state = fake.state()
        assert report.outcome is SubmitOutcome.ACCEPTED
        assert len(orders_of(fake, intent())) == 1
        assert state["requests"]["find"] == 2, "the venue must have said twice that it has none"
        assert state["requests"]["submit"] == 2


@pytest.mark.parametrize("fault", AFTER)
def test_B02_lost_after_it_was_taken_is_found_and_adopted(fault: str) -> None:
    with traded(**patience_for(fault)) as (fake, broker):
        fake.do(faults=_next(fault))

        report = send(broker, intent())

        found = orders_of(fake, intent())
        assert report.outcome is SubmitOutcome.ACCEPTED
        assert [row["id"] for row in found] == [report.venue_order_id]
        assert fake.state()["requests"]["submit"] == 1, "it must not be sent again"


def test_B01_late_arrival_of_the_first_makes_no_second_order() -> None:
    """Silence, unknown twice, sent again; then the first request reaches the books after all."""
    plan = FaultPlan(requests_per_minute=None, late_s=0.5)
    with traded(plan=plan, timeout_s=0.3) as (fake, broker):
        fake.do(faults=_next("late_accept"))

        report = send(broker, intent())
        time.sleep(0.4)

        assert report.outcome is SubmitOutcome.ACCEPTED
        assert len(orders_of(fake, intent())) == 1


def test_refusal_after_a_lost_answer_is_unknown_as_the_first_may_still_arrive() -> None:
    plan = FaultPlan(requests_per_minute=None, late_s=0.6)
    with traded(plan=plan, timeout_s=0.3) as (fake, broker):
        fake.do(faults=_next("late_accept"))
        refuse_next(fake, 403, {"code": 40310000, "message": "insufficient buying power"})

        report = send(broker, intent())
        until(lambda: orders_of(fake, intent()) != [])

        assert report.outcome is SubmitOutcome.UNKNOWN, "rejected would have been a lie"
        assert "buying power" in (report.reason or "")


def test_venue_that_cannot_be_asked_leaves_the_outcome_unknown() -> None:
    with traded(submit_attempts=2, lookup_attempts=2) as (fake, broker):
        fake.do(faults={"next": [_strike("504_after"), _strike("502_html", "find", 9)]})

        report = send(broker, intent())

        assert report.outcome is SubmitOutcome.UNKNOWN
        assert fake.state()["requests"]["submit"] == 1, "unknown is never sent again"


def test_silent_venue_does_not_hold_other_orders_up() -> None:
    limits = {"timeout_s": 0.1, "settle_within_s": 0.15, "lookup_attempts": 50}
    with traded(**limits) as (fake, broker):
        fake.do(faults={"next": [_strike("hang_after"), _strike("hang_before", "find", 50)]})
        begun = time.monotonic()

        report = send(broker, intent())

        assert report.outcome is SubmitOutcome.UNKNOWN
        assert time.monotonic() - begun < 2.0
        assert fake.state()["requests"]["find"] <= 3


def test_unknown_said_once_is_not_enough_to_send_again() -> None:
    with traded(lookup_attempts=2) as (fake, broker):
        fake.do(faults={"next": [_strike("drop_before"), _strike("500", "find")]})

        report = send(broker, intent())

        assert (report.outcome, fake.state()["requests"]["submit"]) == (SubmitOutcome.UNKNOWN, 1)


def test_B03_id_that_the_venue_has_is_looked_up_not_rejected() -> None:
    with traded() as (fake, broker):
        first = send(broker, intent())
        again = send(broker, intent())

        assert again == first
        assert len(orders_of(fake, intent())) == 1


def test_B03_id_of_a_dead_order_stays_dead() -> None:
    with traded(VenueOptions(fills="by_hand")) as (fake, broker):
        first = send(broker, intent())
        broker.cancel(intent().client_order_id)
        again = send(broker, intent())
        fresh = send(broker, intent(sequence=1))

        assert again.venue_order_id == first.venue_order_id
        statuses = [row["status"] for row in fake.state()["orders"]]
        assert statuses == ["canceled", "new"], "only a new intent makes a new order"
        assert fresh.venue_order_id != first.venue_order_id
        kinds = {each.kind for each in broker.drain_updates()}
        assert UpdateKind.CANCELLED in kinds, "that it is dead must be told"


def test_B03_id_of_another_order_is_refused() -> None:
    with traded() as (fake, broker):
        send(broker, intent("10"))

        report = send(broker, intent("11"))

        assert (report.outcome, report.code) == (SubmitOutcome.REJECTED, "id_taken")
        assert len(fake.state()["orders"]) == 1


def test_B04_429_is_waited_out_with_the_same_id() -> None:
    with traded() as (fake, broker):
        fake.do(faults=_next("429", "429"))
        paused: list[float] = []
        broker._wire._budget.pause = paused.append  # type: ignore[method-assign]

        report = send(broker, intent())

        assert report.outcome is SubmitOutcome.ACCEPTED
        assert paused == [1.0, 1.0], "as long as the venue asked for"
        assert fake.state()["requests"].get("find") is None, "a 429 is no lost answer"


def test_B04_storm_of_429_ends_as_refused() -> None:
    with traded(submit_attempts=2, longest_wait_s=0.0) as (fake, broker):
        fake.do(faults=_next("429", times=9))

        report = send(broker, intent())

        assert (report.outcome, report.code) == (SubmitOutcome.REJECTED, "rate_limited")
        assert fake.state()["requests"]["submit"] <= 2


def test_B05_html_is_no_crash_in_any_question() -> None:
    with traded() as (fake, broker):
        asks = (
            *(broker.account, broker.positions, broker.clock, broker.open_orders),
            *(lambda: broker.assets(["SPY"])["SPY"], lambda: broker.find_order("x")),
            lambda: broker.fills(AT),
        )
        for fault in ("502_html", "500", "cut_after", "html_200_after", "empty_after"):
            for ask in asks:
                fake.do(faults={"next": [_strike(fault, "any")]})
                with pytest.raises(BrokerUnavailableError):
                    ask()


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        (intent("5000"), "40310000", "insufficient buying power"),
        (intent("11", Side.SELL), "40310000", "insufficient qty available"),
        (intent(symbol="NONE"), "42210000", "not found"),
        (
            intent(order_type=OrderType.LIMIT, limit_price=Decimal("99.123")),
            "42210000",
            "sub-penny",
        ),
        (
            intent("0.5", time_in_force=TimeInForce.GOOD_TILL_CANCELLED),
            "42210000",
            "fractional",
        ),
    ],
)
def test_B06_refusal_is_definite_with_its_reason(wanted: object, code: str, words: str) -> None:
    with traded() as (fake, broker):
        send(broker, numbered(9, "10"))  # ten are held
        before = fake.state()["requests"]["submit"]

        report = send(broker, wanted)  # type: ignore[arg-type]

        assert (report.outcome, report.code) == (SubmitOutcome.REJECTED, code)
        assert words in (report.reason or "")
        assert fake.state()["requests"]["submit"] == before + 1, "no retry"


def test_B06_wash_trade_is_refused() -> None:
    with traded(VenueOptions(fills="by_hand")) as (_, broker):
        send(broker, intent())

        report = send(broker, numbered(1, side=Side.SELL))

        assert report.outcome is SubmitOutcome.REJECTED
        assert "wash trade" in (report.reason or "")


def test_B11_unknown_status_is_open_and_no_crash() -> None:
    with traded(VenueOptions(fills="by_hand")) as (fake, broker):
        fake.do(faults=_next("unknown_status"))

        report = send(broker, intent())
        fake.do(show_status={intent().client_order_id: "quantum_hold"})
        order = broker.find_order(intent().client_order_id)

        assert report.outcome is SubmitOutcome.ACCEPTED
        assert order is not None
        assert order.status is None
        assert order.is_open
        assert [each.status for each in broker.open_orders()] == [None]


def test_late_rejection_of_an_accepted_order_is_told() -> None:
    with traded() as (fake, broker):
        fake.do(late_rejects=["SPY"])
        report = send(broker, intent())
        told = drain_until(broker, lambda so_far: len(so_far) > 0)

        assert report.outcome is SubmitOutcome.ACCEPTED
        assert told[-1].kind is UpdateKind.REJECTED


def test_B16_shut_market_queues_and_halt_waits() -> None:
    with traded() as (fake, broker):
        fake.do(shut=True)
        assert not broker.clock().is_open
        shut = send(broker, intent())
        fake.do(tick=True)
        order = broker.find_order(intent().client_order_id)
        assert shut.outcome is SubmitOutcome.ACCEPTED
        assert order is not None
        assert order.status is OrderStatus.ACCEPTED
        fake.do(shut=False, asset={"symbol": "SPY", "halted": True}, quotes={"SPY": [100, 101]})
        order = broker.find_order(intent().client_order_id)
        assert order is not None
        assert order.is_open, "a halted asset does not trade"
        fake.do(asset={"symbol": "SPY", "halted": False}, tick=True)
        assert broker.positions() == {"SPY": Decimal(10)}
        fake.do(asset={"symbol": "SPY", "tradable": False})
        assert broker.assets(["SPY"])["SPY"].halted
        denied = send(broker, numbered(1))
        assert denied.outcome is SubmitOutcome.REJECTED


def test_B29_not_shortable_is_refused_and_shown() -> None:
    with traded() as (fake, broker):
        fake.do(asset={"symbol": "SPY", "easy_to_borrow": False})

        assert not broker.assets(["SPY"])["SPY"].shortable
        report = send(broker, intent(side=Side.SELL))

        assert report.outcome is SubmitOutcome.REJECTED
        assert "sold short" in (report.reason or "")


def test_without_a_seal_nothing_is_sent() -> None:
    with traded() as (fake, broker):
        with pytest.raises(TradingError, match="seal"):
            broker.submit(Approval(intent(), b"forged"))
        assert "submit" not in fake.state()["requests"]


@pytest.mark.parametrize("units", ["0.3", "0.000000001", "12345678.123456789", "1"])
def test_units_and_prices_travel_as_exact_text(units: str) -> None:
    with traded(VenueOptions(start_cash=Decimal("1e12"))) as (fake, broker):
        wanted = intent(units, order_type=OrderType.LIMIT, limit_price=Decimal("99.10"))

        assert send(broker, wanted).outcome is SubmitOutcome.ACCEPTED

        (row,) = orders_of(fake, wanted)
        assert (row["qty"], row["limit_price"]) == (units, "99.1")
        found = broker.find_order(wanted.client_order_id)
        assert found is not None
        assert found.quantity_units == Decimal(units)


def test_share_classes_are_spelt_as_the_venue_does() -> None:
    with traded() as (fake, broker):
        fake.do(quotes={"BRK.B": [400, 401]})

        send(broker, intent(symbol="BRK-B"))

        assert broker.positions() == {"BRK-B": Decimal(10)}
        assert broker.fills(AT)[0].symbol == "BRK-B"
        assert broker.assets(["BRK-B"])["BRK-B"].tradable


RATES = {
    **dict.fromkeys(("drop_before", "drop_after", "500", "500_after", "502_html"), 0.03),
    **dict.fromkeys(("502_html_after", "504_before", "504_after", "cut_after"), 0.025),
    **dict.fromkeys(("empty_after", "html_200_after", "hang_before", "hang_after"), 0.01),
    "late_accept": 0.01,
}


@pytest.mark.parametrize(
    "count", [500, pytest.param(10_000, marks=pytest.mark.slow, id="ten-thousand")]
)
def test_submits_with_thirty_percent_faults_make_each_order_once(count: int) -> None:
    """0 duplicates, 0 lost: every approval is one order at the venue, or known to be none."""
    assert sum(RATES.values()) == pytest.approx(0.3)
    schedule = FaultSchedule(RATES, ("submit", "find"), seed=1)
    plan = FaultPlan(requests_per_minute=None, schedule=schedule, late_s=0.06)
    options = VenueOptions(start_cash=Decimal("1e12"))
    with traded(options, plan, timeout_s=0.04, submit_attempts=6, lookup_attempts=12) as (
        fake,
        broker,
    ):
        wanted = [numbered(k) for k in range(count)]
        reports = {each.client_order_id: send(broker, each) for each in wanted}
        time.sleep(0.1)  # what arrives late has arrived
        unknown = [each for each in wanted if _is_unknown(reports[each.client_order_id])]
        fake.do(faults={"schedule": None})
        for each in unknown:  # a session asks again with the same approval
            reports[each.client_order_id] = send(broker, each)

        state = fake.state()
        asked = state["requests"]["submit"] + state["requests"]["find"]
        by_id = {row["client_order_id"]: row["id"] for row in state["orders"]}
        assert sum(state["faults"].values()) / asked == pytest.approx(0.3, abs=0.05)
        assert len(unknown) <= count // 20
        assert len(state["orders"]) == count, "duplicates, or lost"
        assert {key: each.venue_order_id for key, each in reports.items()} == by_id
        assert state["positions"] == {"SPY": str(count)}
        broker._wire._session._settings = settings_of(fake, timeout_s=10.0)
        filled = [each.client_order_id for each in broker.fills(AT - timedelta(days=1))]
        assert sorted(filled) == sorted(reports), "every fill is accounted for, once"


def _is_unknown(report: SubmitReport) -> bool:
    return report.outcome is SubmitOutcome.UNKNOWN


def _strike(fault: str, operation: str = "submit", times: int = 1) -> dict[str, object]:
    return {"operation": operation, "fault": fault, "times": times}


def _next(*faults: str, times: int = 1) -> dict[str, object]:
    return {"next": [_strike(each, times=times) for each in faults]}
