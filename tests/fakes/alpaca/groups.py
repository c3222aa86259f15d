"""Orders that belong together: bracket, one-triggers-other, one-cancels-other.

Legs wait until the first order is filled. Of a pair of exits what fills of one shrinks the other,
and the end of any order of a group ends the group.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fakes.alpaca.records import VenueOrder, read_number
from fakes.alpaca.refusals import Refusal

if TYPE_CHECKING:
    from fakes.alpaca.venue import Venue

CLASSES = ("bracket", "oto", "oco")
_CENT = Decimal("0.01")


def read_legs(venue: Venue, order: VenueOrder, body: dict[str, Any]) -> list[VenueOrder]:
    """Return the legs that a body asks for; none of a simple order.

    Raises:
        Refusal: If they do not go with the order.
    """
    kind = body.get("order_class") or "simple"
    gains, losses = body.get("take_profit"), body.get("stop_loss")
    if kind == "simple":
        if gains or losses:
            raise Refusal.unprocessable("take_profit and stop_loss require a complex order_class")
        return []
    if kind not in CLASSES:
        raise Refusal.unprocessable(f"order_class {kind} is not offered here")
    order.order_class = kind
    _check_form(order, gains, losses)
    gain = read_number(gains or {}, "limit_price")
    stop = read_number(losses or {}, "stop_price")
    _check_prices(venue, order, gain, stop)
    legs = []
    if kind == "oco":
        order.limit_price = gain
    elif gain is not None:
        legs.append(_leg(venue, order, "limit", limit_price=gain))
    if stop is not None:
        limit = read_number(losses or {}, "limit_price")
        exit_kind = "stop" if limit is None else "stop_limit"
        legs.append(_leg(venue, order, exit_kind, stop_price=stop, limit_price=limit))
    order.leg_ids = [leg.id for leg in legs]
    return legs


def _check_form(order: VenueOrder, gains: Any, losses: Any) -> None:
    kind = order.order_class
    if kind in ("bracket", "oco") and not (gains and losses):
        raise Refusal.unprocessable(f"{kind} orders require take_profit and stop_loss")
    if kind == "oto" and bool(gains) == bool(losses):
        raise Refusal.unprocessable("oto orders require one of take_profit and stop_loss")
    if order.time_in_force not in ("day", "gtc") or order.extended_hours:
        raise Refusal.unprocessable("complex orders must be DAY or GTC in regular hours")
    if order.qty is None or order.qty != order.qty.to_integral_value():
        raise Refusal.unprocessable("fractional orders must be simple orders")


def _check_prices(
    venue: Venue, order: VenueOrder, gain: Decimal | None, stop: Decimal | None
) -> None:
    # An OCO order is the exit itself; of the others the exits go the other way.
    sign = -order.sign if order.order_class == "oco" else order.sign
    if gain is not None and stop is not None and (gain - stop) * sign <= 0:
        side = ">" if sign > 0 else "<"
        raise Refusal.unprocessable(f"take_profit.limit_price must be {side} stop_loss.stop_price")
    base = order.limit_price or venue.last_price(order.symbol)
    if stop is not None and base and (base - stop) * sign < _CENT:
        relation = "<= base_price - 0.01" if sign > 0 else ">= base_price + 0.01"
        raise Refusal.unprocessable(f"stop_loss.stop_price must be {relation}")


def _leg(venue: Venue, parent: VenueOrder, kind: str, **prices: Decimal | None) -> VenueOrder:
    is_exit = parent.order_class == "oco"
    side = parent.side if is_exit else {"buy": "sell", "sell": "buy"}[parent.side]
    return VenueOrder(
        id=venue.new_id(),
        client_order_id=venue.new_id(),
        asset_id=parent.asset_id,
        symbol=parent.symbol,
        side=side,
        type=kind,
        time_in_force=parent.time_in_force,
        created_at=parent.created_at,
        qty=parent.qty,
        status="held",
        order_class=parent.order_class,
        parent_id=parent.id,
        is_waiting=not is_exit,
        expires_at=parent.expires_at,
        **prices,
    )


def group_of(venue: Venue, order: VenueOrder) -> list[VenueOrder]:
    """Return the other orders of its group."""
    first = venue.orders[order.parent_id] if order.parent_id else order
    ids = [first.id, *first.leg_ids]
    return [venue.orders[each] for each in ids if each != order.id]


def follow_fill(venue: Venue, order: VenueOrder) -> None:
    """Wake the legs of an order that is filled, or shrink the other exit of a pair."""
    if not order.order_class:
        return
    if order.parent_id is None and order.order_class != "oco":
        if order.status == "filled":
            for leg in group_of(venue, order):
                venue.wake(leg)
        return
    for other in group_of(venue, order):
        if not other.is_open or (other.parent_id is None and other.order_class != "oco"):
            continue
        left = (order.qty or Decimal(0)) - order.filled_qty
        if left <= 0:
            venue.end(other, "canceled")
        else:
            other.qty = left + other.filled_qty


def follow_end(venue: Venue, order: VenueOrder) -> None:
    """End the rest of a group of which one order ended unfilled."""
    if not order.order_class or order.status == "replaced":
        return
    for other in group_of(venue, order):
        if other.is_open:
            venue.end(other, "canceled")
