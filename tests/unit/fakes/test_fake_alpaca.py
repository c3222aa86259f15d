"""The fake Alpaca against RELIABILITY §3, asked by the real client and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests

from fakes.alpaca import FAULTS, FakeAlpaca, FaultPlan, NewYorkHours, VenueOptions
from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from tradingbot.runtime.brokers.alpaca.wire import TradingClient

KEYS = {"APCA-API-KEY-ID": KEY_ID, "APCA-API-SECRET-KEY": SECRET_KEY}


GAIN, LOSS = {"limit_price": "110"}, {"stop_price": "95"}
BRACKET = {"order_class": "bracket", "take_profit": GAIN, "stop_loss": LOSS}


@pytest.fixture
def fake() -> Iterator[FakeAlpaca]:
    with FakeAlpaca() as venue:
        venue.do(quotes={"SPY": ["100", "100.1"], "AAPL": ["40", "40.1"]})
        yield venue


def post(fake: FakeAlpaca, **body: Any) -> requests.Response:
    wanted = {
        "symbol": "SPY",
        "qty": "1",
        "side": "buy",
        "type": "market",
        "time_in_force": "day",
        **body,
    }
    wanted = {key: value for key, value in wanted.items() if value is not None}
    return requests.post(f"{fake.url}/v2/orders", json=wanted, headers=KEYS, timeout=5)


def ask(fake: FakeAlpaca, method: str, path: str) -> requests.Response:
    return requests.request(method, f"{fake.url}/v2{path}", headers=KEYS, timeout=5)


def client(fake: FakeAlpaca) -> TradingClient:
    return TradingClient(KEY_ID, SECRET_KEY, paper=True, url_override=fake.url)


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"notional": 5}, 400, 40010001, "only one of qty or notional"),
        ({"qty": None}, 422, 40010001, "required"),
        ({"qty": 0}, 422, 40010001, "must be > 0"),
        ({"qty": -1}, 422, 40010001, "must be > 0"),
        ({"qty": 0.30000000000000004}, 422, 40010001, "9 decimals"),
        ({"qty": "many"}, 422, 40010001, "number"),
        ({"client_order_id": "x" * 49}, 422, 40010001, "48"),
        ({"symbol": "NONE"}, 422, 42210000, "not found"),
        ({"type": "maybe"}, 422, 40010001, "invalid type"),
        ({"type": "limit"}, 422, 40010001, "require limit price"),
        ({"type": "limit", "limit_price": "290.123"}, 422, 42210000, "sub-penny"),
        ({"type": "limit", "limit_price": "0.12345"}, 422, 42210000, "sub-penny"),
        ({"limit_price": "9"}, 422, 40010001, "must not have"),
        ({"type": "trailing_stop"}, 422, 40010001, "trail"),
        ({"extended_hours": True}, 422, 42210000, "extended hours"),
        ({"qty": "0.5", "time_in_force": "gtc"}, 422, 42210000, "DAY"),
        ({"qty": "0.5", "side": "sell"}, 403, 40310000, "sold short"),
        ({"qty": "1950"}, 403, 40310000, "insufficient buying power"),
        ({"qty": "4796", "symbol": "AAPL"}, 403, 40310000, "insufficient buying power"),
        ({"order_class": "mleg"}, 422, 42210000, "order_class"),
        ({"order_class": "bracket", "take_profit": GAIN}, 422, 42210000, "require"),
        ({**BRACKET, "stop_loss": {"stop_price": "111"}}, 422, 42210000, "must be > stop_loss"),
        ({**BRACKET, "stop_loss": {"stop_price": "100.045"}}, 422, 42210000, "base_price"),
        ({**BRACKET, "qty": "1.5"}, 422, 42210000, "fractional"),
        ({**BRACKET, "time_in_force": "ioc"}, 422, 42210000, "DAY or GTC"),
        ({"take_profit": GAIN}, 422, 42210000, "complex order_class"),
        ({"order_class": "oto"}, 422, 42210000, "one of"),
    ],
)
def test_orders_are_refused_with_the_venues_code(
    fake: FakeAlpaca, body: dict[str, Any], status: int, code: int, words: str
) -> None:
    reply = post(fake, **body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert words in reply.json()["message"]
    assert fake.state()["orders"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"qty": 1.0},
        {"qty": 1e-09},
        {"qty": "1949"},
        {"qty": "4795", "symbol": "AAPL"},
        {"qty": None, "notional": "250.5"},
        {"type": "limit", "limit_price": "0.1234"},
        {"client_order_id": "x" * 48},
        {"type": "stop", "stop_price": "101"},
        {"side": "sell"},
    ],
)
def test_orders_at_the_limit_are_taken(fake: FakeAlpaca, body: dict[str, Any]) -> None:
    assert post(fake, **body).status_code == 200


def test_ids_are_unique_for_ever_over_cancels_and_restarts(tmp_path: Path) -> None:
    store = tmp_path / "venue.jsonl"
    options = VenueOptions(fills="by_hand")
    with FakeAlpaca(options, store=store) as fake:
        made = post(fake, client_order_id="one").json()
        assert ask(fake, "DELETE", f"/orders/{made['id']}").status_code == 204
        again = post(fake, client_order_id="one")
        assert (again.status_code, again.json()["code"]) == (422, 40010001)
        post(fake, client_order_id="two")
        fake.do(execute={"client_order_id": "two", "qty": "0.4", "price": "100"})
        before = fake.state()
    with store.open("a") as file:
        file.write('["order", {"id": "cut of')  # as a kill leaves it
    with FakeAlpaca(options, store=store) as fake:
        after = fake.state()
        for name in ("orders", "activities", "positions", "cash"):
            assert after[name] == before[name], name
        assert post(fake, client_order_id="one").status_code == 422
        assert post(fake, client_order_id="three").status_code == 200
    with FakeAlpaca(options, store=store) as fake:
        assert len(fake.state()["orders"]) == 3


def test_fills_at_the_next_open_for_replay() -> None:
    with FakeAlpaca(VenueOptions(fills="at_next_open")) as fake:
        bar = {"o": 100, "h": 103, "l": 97, "c": 101, "v": 1000}
        fake.do(time="2026-01-05T14:30:00Z", bars={"SPY": {"t": "2026-01-05T14:30:00Z", **bar}})
        post(fake, client_order_id="market", qty="0.123456789")
        post(fake, client_order_id="touched", type="limit", limit_price="98.5")
        post(fake, client_order_id="missed", type="limit", limit_price="90")
        post(fake, client_order_id="better", type="limit", limit_price="105")
        post(fake, client_order_id="stopped", type="stop", stop_price="103.5")
        assert fake.state()["activities"] == [], "nothing fills within the bar of the decision"
        later = {"o": "102.25", "h": 104, "l": 98, "c": 99, "v": 1000}
        fake.do(time="2026-01-05T15:30:00Z", bars={"SPY": {"t": "2026-01-05T15:30:00Z", **later}})
        state = fake.state()
        prices = {row["client_order_id"]: row["filled_avg_price"] for row in state["orders"]}
        assert prices == {
            "market": "102.25",
            "touched": "98.5",
            "missed": None,
            "better": "102.25",
            "stopped": "103.5",
        }
        assert {row["transaction_time"][:19] for row in state["activities"]} == {
            "2026-01-05T15:30:00"
        }
        ask_bid = {"o": "100", "h": 100, "l": 100, "c": 100, "bid": "99.9", "ask": "100.05"}
        assert ask(fake, "DELETE", "/orders").status_code == 207  # the one that was missed
        post(fake, client_order_id="sold", side="sell")
        fake.do(bars={"SPY": {"t": "2026-01-05T16:30:00Z", **ask_bid}})
        assert fake.venue.find_by_client_id("sold").average_price == Decimal("99.9")


def test_a_cost_model_may_price_the_fills() -> None:
    with FakeAlpaca(VenueOptions(fills="at_next_open")) as fake:
        fake.venue.price_fill = lambda order, price: price * (1 + order.sign * Decimal("0.001"))
        post(fake, client_order_id="a")
        fake.do(bars={"SPY": {"t": "2026-01-05T15:30:00Z", "o": 100, "h": 1, "l": 1, "c": 100}})
        assert fake.venue.find_by_client_id("a").average_price == Decimal("100.1")


def test_money_and_positions_add_up(fake: FakeAlpaca) -> None:
    post(fake, qty="10")
    post(fake, qty="4", side="sell")
    fake.do(quotes={"SPY": ["110", "110"]})
    account, (position,) = client(fake).get_account(), client(fake).get_all_positions()
    assert Decimal(account.cash) == Decimal(100_000) - 10 * Decimal("100.1") + 4 * 100
    assert Decimal(account.equity) == Decimal(account.cash) + 6 * 110
    assert (position.qty, Decimal(position.avg_entry_price)) == ("6", Decimal("100.1"))
    flat = post(fake, qty="6", side="sell").status_code, client(fake).get_all_positions()
    assert flat == (200, [])
    assert ask(fake, "GET", "/positions/SPY").json()["code"] == 40410000


def test_a_position_is_not_turned_in_one_order(fake: FakeAlpaca) -> None:
    post(fake, qty="10")
    body = post(fake, qty="11", side="sell").json()
    assert body["code"] == 40310000
    assert (body["available"], body["existing_qty"], body["symbol"]) == ("10", "10", "SPY")


def test_replace_makes_a_new_order(fake: FakeAlpaca) -> None:
    made = post(fake, type="limit", limit_price="90", client_order_id="first").json()
    reply = requests.patch(
        f"{fake.url}/v2/orders/{made['id']}", json={"limit_price": "91"}, headers=KEYS, timeout=5
    )
    old = client(fake).get_order_by_client_id("first")
    assert reply.json()["replaces"] == made["id"]
    assert (old.status.value, str(old.replaced_by)) == ("replaced", reply.json()["id"])
    assert ask(fake, "DELETE", f"/orders/{made['id']}").status_code == 422


def statuses(fake: FakeAlpaca) -> list[tuple[str, str, str]]:
    rows = fake.state()["orders"]
    return [(row["type"], row["status"], row["filled_qty"]) for row in rows]


def test_bracket_wakes_its_exits_and_one_ends_the_other(fake: FakeAlpaca) -> None:
    fake.do(quotes={"SPY": ["100.5", "101"]})
    made = post(fake, **BRACKET, qty="10", type="limit", limit_price="100").json()
    assert [leg["status"] for leg in made["legs"]] == ["held", "held"]
    fake.do(quotes={"SPY": ["94", "101"]})
    assert fake.state()["activities"] == [], "exits wait for the entry"
    fake.do(quotes={"SPY": ["99.8", "99.9"]})
    waiting = [("limit", "filled", "10"), ("limit", "new", "0"), ("stop", "held", "0")]
    assert statuses(fake) == waiting
    assert post(fake, qty="1", side="sell").json()["message"].startswith("insufficient qty")
    nested = ask(fake, "GET", f"/orders/{made['id']}?nested=true").json()
    gain = nested["legs"][0]["client_order_id"]
    fake.do(execute={"client_order_id": gain, "qty": 4, "price": 110})
    assert nested["legs"][1]["qty"] == "10"
    assert ask(fake, "GET", f"/orders/{nested['legs'][1]['id']}").json()["qty"] == "6"
    fake.do(quotes={"SPY": ["94", "94.5"]})
    ended = [("limit", "filled", "10"), ("limit", "canceled", "4"), ("stop", "filled", "6")]
    assert statuses(fake) == ended
    assert fake.state()["positions"] == {}


def test_a_cancel_of_one_cancels_its_group(fake: FakeAlpaca) -> None:
    made = post(fake, **BRACKET, type="limit", limit_price="99").json()
    assert ask(fake, "DELETE", f"/orders/{made['legs'][1]['id']}").status_code == 204
    assert {status for _, status, _ in statuses(fake)} == {"canceled"}
    assert ask(fake, "DELETE", "/orders").json() == []


def test_one_cancels_other_exits_a_position(fake: FakeAlpaca) -> None:
    post(fake, qty="5")
    exits = {**BRACKET, "order_class": "oco", "side": "sell", "type": "limit", "qty": "5"}
    assert post(fake, **exits).status_code == 200
    fake.do(quotes={"SPY": ["110", "110.1"]})
    assert statuses(fake)[1:] == [("limit", "filled", "5"), ("stop", "canceled", "0")]


def test_one_triggers_other_and_trails(fake: FakeAlpaca) -> None:
    post(fake, order_class="oto", stop_loss=LOSS)
    assert statuses(fake) == [("market", "filled", "1"), ("stop", "held", "0")]
    ask(fake, "DELETE", "/orders")
    assert post(fake, side="sell", type="trailing_stop", trail_price="2").status_code == 200
    for bid, is_filled in ((101, False), (105, False), (103.5, False), (102.9, True)):
        fake.do(quotes={"SPY": [bid, bid]})
        assert (statuses(fake)[-1][1] == "filled") is is_filled


def test_orders_are_listed_by_status_time_and_page(fake: FakeAlpaca) -> None:
    for k in range(6):
        post(fake, client_order_id=f"o{k}", type="limit", limit_price="90" if k % 2 else "101")
    listed = {
        status: [row["client_order_id"] for row in ask(fake, "GET", f"/orders?{query}").json()]
        for status, query in (
            ("open", ""),
            ("closed", "status=closed&direction=asc"),
            ("page", "status=all&limit=2"),
        )
    }
    assert listed == {
        "open": ["o5", "o3", "o1"],
        "closed": ["o0", "o2", "o4"],
        "page": ["o5", "o4"],
    }
    assert ask(fake, "GET", "/orders?limit=501").status_code == 422
    parts = ask(fake, "DELETE", "/orders")
    assert (parts.status_code, len(parts.json())) == (207, 3)


def test_rate_limit_answers_429() -> None:
    with FakeAlpaca(plan=FaultPlan(requests_per_minute=5, rate_window_s=0.2)) as fake:
        codes = [ask(fake, "GET", "/clock").status_code for _ in range(7)]
        assert codes == [200] * 5 + [429] * 2
        body = ask(fake, "GET", "/clock").json()
        assert body == {"code": 42910000, "message": "rate limit exceeded"}


def test_keys_are_asked_for(fake: FakeAlpaca) -> None:
    for headers in ({}, {**KEYS, "APCA-API-SECRET-KEY": "wrong"}):
        assert requests.get(f"{fake.url}/v2/account", headers=headers, timeout=5).status_code == 401
    fake.do(faults={"is_revoked": True})
    assert ask(fake, "GET", "/account").status_code == 403


def test_half_day_and_closed_hours_by_the_calendar() -> None:
    hours = NewYorkHours(date(2025, 11, 24), date(2025, 12, 5))
    with FakeAlpaca(VenueOptions(hours=hours)) as fake:
        fake.do(time="2025-11-28T17:59:00Z", quotes={"SPY": [100, 100]})
        assert client(fake).get_clock().is_open
        post(fake, client_order_id="limit", type="limit", limit_price="90")
        fake.do(time="2025-11-28T18:01:00Z")  # 13:01 in New York: shut at 13:00
        assert not client(fake).get_clock().is_open
        assert fake.venue.find_by_client_id("limit").status == "expired"
        queued = post(fake, client_order_id="queued").json()
        assert queued["status"] == "accepted"
        fake.do(time="2025-12-01T14:30:01Z", quotes={"SPY": [101, 101]})
        assert fake.venue.find_by_client_id("queued").status == "filled"
        days = ask(fake, "GET", "/calendar?start=2025-11-27&end=2025-12-01").json()
        assert days == [
            {"date": "2025-11-28", "open": "09:30", "close": "13:00"},
            {"date": "2025-12-01", "open": "09:30", "close": "16:00"},
        ]
        fake.do(time="2025-12-01T14:29:00Z")
        assert post(fake, time_in_force="opg").status_code == 422


def test_partial_fills_come_at_their_share() -> None:
    options = VenueOptions(partial_share=0.1, start_cash=Decimal("1e9"), seed=5)
    with FakeAlpaca(options) as fake:
        fake.do(quotes={"SPY": [100, 100]})

        def trade() -> None:
            body = {"symbol": "SPY", "side": "buy", "type": "market", "time_in_force": "day"}
            for _ in range(400):
                fake.venue.submit({**body, "qty": "1000"})

        fake.call(trade)
        kinds = [row["type"] for row in fake.state()["activities"]]
        assert 20 <= kinds.count("partial_fill") <= 80


def test_admin_path_does_what_the_handle_does(fake: FakeAlpaca) -> None:
    reply = requests.post(
        f"{fake.url}/admin/do",
        json={"quotes": {"SPY": [50, 51]}, "faults": {"latency_s": 0.0}},
        timeout=5,
    )
    assert reply.json() == {"done": ["quotes", "faults"]}
    assert requests.get(f"{fake.url}/admin/state", timeout=5).json()["cash"] == "100000"
    wrong = requests.post(f"{fake.url}/admin/do", json={"nonsense": 1}, timeout=5)
    assert wrong.status_code == 400
    bad = {"faults": {"schedule": {"rates": {"meteor": 1.0}}}}
    assert requests.post(f"{fake.url}/admin/do", json=bad, timeout=5).status_code == 400


def test_every_fault_says_whether_the_venue_acted(fake: FakeAlpaca) -> None:
    for name, fault in FAULTS.items():
        if fault.answer == "late":
            continue
        fake.do(faults={"next": [{"operation": "submit", "fault": name}]})
        try:
            requests.post(
                f"{fake.url}/v2/orders",
                json={
                    "symbol": "SPY",
                    "qty": 1,
                    "side": "buy",
                    "type": "market",
                    "time_in_force": "day",
                    "client_order_id": name,
                },
                headers=KEYS,
                timeout=0.05 if fault.answer == "hang" else 5,
            )
        except requests.RequestException:
            assert fault.answer in ("drop", "hang")
        assert (name in fake.venue.by_client_id) is fault.acts, name
