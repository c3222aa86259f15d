"""Splits of the fake: announced, and done overnight to positions and open orders."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import Any

from fakes.alpaca.records import Quote, write_number
from fakes.alpaca.venue import Venue

_STEP, _CENT = Decimal("1e-9"), Decimal("0.01")


def announce_split(venue: Venue, what: dict[str, Any]) -> None:
    """Announce a split: symbol, new, old, ex_date."""
    kind = "forward_splits" if what["new"] > what["old"] else "reverse_splits"
    row = {"symbol": what["symbol"], "new_rate": what["new"], "old_rate": what["old"]}
    days = {"ex_date": what["ex_date"], "process_date": what["ex_date"]}
    venue.announce(kind, {**row, **days})


def do_split(venue: Venue, what: dict[str, Any]) -> None:
    """Do it: `orders` "adjust" or "cancel"; `whole`: fractions are paid in cash."""
    symbol, ratio = what["symbol"], Decimal(what["new"]) / Decimal(what["old"])
    price = (venue.last_price(symbol) / ratio).quantize(_STEP)
    venue.quotes[symbol], venue.last_prices[symbol] = Quote(price, price), price
    if symbol in venue.positions:
        units = (venue.positions[symbol] * ratio).quantize(_STEP, ROUND_DOWN)
        kept = units.quantize(Decimal(1), ROUND_DOWN) if what.get("whole") else units
        cash = ((units - kept) * price).quantize(_CENT)
        venue.hold(symbol, kept, cash)
        if cash:
            told = {"symbol": symbol, "date": what["ex_date"], "qty": write_number(units - kept)}
            venue.pay({"activity_type": "CIL", "net_amount": write_number(cash), **told})
    for order in venue.open_of(symbol):
        left = (order.remaining * ratio).quantize(_STEP, ROUND_DOWN)
        if what.get("whole"):
            left = left.quantize(Decimal(1), ROUND_DOWN)
        if what.get("orders") == "cancel" or not left:
            venue.end(order, "canceled")
        else:
            order.qty = order.filled_qty + left
            if order.limit_price is not None:
                order.limit_price = (order.limit_price / ratio).quantize(_CENT)
            venue.restate(order)
