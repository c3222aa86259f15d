"""Which orders the venue takes (RELIABILITY §3.3): the rules in the order in which they are asked.

Each rule raises a `Refusal` with the venue's own status, code and words.
"""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fakes.alpaca.groups import read_legs
from fakes.alpaca.market_hours import NEW_YORK
from fakes.alpaca.records import VenueAsset, VenueOrder, read_number
from fakes.alpaca.refusals import Refusal, duplicate_id

if TYPE_CHECKING:
    from fakes.alpaca.venue import Venue

MAX_ID_LENGTH = 48
_TYPES = ("market", "limit", "stop", "stop_limit", "trailing_stop")
_TIMES_IN_FORCE = ("day", "gtc", "opg", "cls", "ioc", "fok")
_AT_ONCE = ("market", "stop", "trailing_stop")
_CLOSING_ONLY = 6  # times the equity
_EVENING = time(19, 0)


def read_order_request(venue: Venue, body: dict[str, Any]) -> tuple[VenueOrder, list[VenueOrder]]:
    """Return the order that a body asks for and its legs, if the venue takes them.

    Raises:
        Refusal: With what the venue answers instead.
    """
    client_id = _client_order_id(venue, body)
    asset = _asset(venue, body)
    side = _choice(body, "side", ("buy", "sell"))
    kind = _choice(body, "type", _TYPES)
    force = _choice(body, "time_in_force", _TIMES_IN_FORCE)
    qty, notional = _size(body)
    order = VenueOrder(
        id=venue.new_id(),
        client_order_id=client_id,
        asset_id=asset.id,
        symbol=asset.symbol,
        side=side,
        type=kind,
        time_in_force=force,
        created_at=venue.clock.now(),
        qty=qty,
        notional=notional,
        extended_hours=bool(body.get("extended_hours")),
        **{name: read_number(body, name) for name in ("limit_price", "stop_price")},
        **{name: read_number(body, name) for name in ("trail_percent", "trail_price")},
    )
    legs = read_legs(venue, order, body)
    for each in (order, *legs):
        check_prices(each)
    _check_time_in_force(venue, order)
    _check_fractions(venue, order, asset)
    check_account(venue, order)
    return order, legs


def _client_order_id(venue: Venue, body: dict[str, Any]) -> str:
    client_id = body.get("client_order_id")
    if client_id in (None, ""):
        return venue.new_id()
    if not isinstance(client_id, str) or len(client_id) > MAX_ID_LENGTH:
        raise Refusal.invalid(f"client_order_id must be at most {MAX_ID_LENGTH} characters")
    if client_id in venue.by_client_id:
        raise duplicate_id()
    return client_id


def _asset(venue: Venue, body: dict[str, Any]) -> VenueAsset:
    symbol = body.get("symbol")
    asset = venue.assets.get(str(symbol))
    if asset is None:
        raise Refusal.unprocessable(f'asset "{symbol}" not found')
    if not asset.tradable or asset.status != "active":
        raise Refusal.unprocessable(f'asset "{symbol}" is not tradable')
    return asset


def _choice(body: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = body.get(name)
    if value not in known:
        raise Refusal.invalid(f"invalid {name}")
    return str(value)


def _size(body: dict[str, Any]) -> tuple[Decimal | None, Decimal | None]:
    qty, notional = read_number(body, "qty"), read_number(body, "notional")
    if qty is not None and notional is not None:
        raise Refusal.of(400, 40010001, "only one of qty or notional is accepted")
    if qty is None and notional is None:
        raise Refusal.invalid("qty or notional is required")
    for name, value in (("qty", qty), ("notional", notional)):
        if value is not None and value <= 0:
            raise Refusal.invalid(f"{name} must be > 0")
    return qty, notional


def check_prices(order: VenueOrder) -> None:
    """Refuse prices that are missing, out of place, or finer than a tick."""
    wanted = {
        "market": (),
        "limit": ("limit_price",),
        "stop": ("stop_price",),
        "stop_limit": ("limit_price", "stop_price"),
        "trailing_stop": (),
    }[order.type]
    for name in ("limit_price", "stop_price"):
        price = getattr(order, name)
        if (price is not None) != (name in wanted):
            need = "require" if name in wanted else "must not have a"
            raise Refusal.invalid(f"{order.type} orders {need} {name.replace('_', ' ')}")
        if price is None:
            continue
        tick = Decimal("0.01") if price >= 1 else Decimal("0.0001")
        if price <= 0 or price % tick:
            raise Refusal.unprocessable(
                f"invalid {name} {format(price, 'f')}. sub-penny increment does not fulfill "
                "minimum pricing criteria"
            )
    trails = [each for each in (order.trail_percent, order.trail_price) if each is not None]
    if order.type == "trailing_stop" and (len(trails) != 1 or trails[0] <= 0):
        raise Refusal.invalid("one of trail_price or trail_percent must be > 0")
    if order.type != "trailing_stop" and trails:
        raise Refusal.invalid(f"{order.type} orders must not have a trail")


def _check_time_in_force(venue: Venue, order: VenueOrder) -> None:
    local = venue.clock.now().astimezone(NEW_YORK).time()
    if order.time_in_force == "opg" and time(9, 28) <= local < _EVENING:
        raise Refusal.unprocessable("opg orders must be submitted after 7:00pm and before 9:28am")
    if order.time_in_force == "cls" and time(15, 50) <= local < _EVENING:
        raise Refusal.unprocessable("cls orders must be submitted after 7:00pm and before 3:50pm")
    if order.extended_hours and (order.type, order.time_in_force) != ("limit", "day"):
        raise Refusal.unprocessable("extended hours order must be DAY limit orders")
    if order.type == "trailing_stop" and order.time_in_force not in ("day", "gtc"):
        raise Refusal.unprocessable("trailing stop orders must be DAY or GTC")


def _check_fractions(venue: Venue, order: VenueOrder, asset: VenueAsset) -> None:
    is_whole = order.notional is None and order.qty == (order.qty or Decimal(0)).to_integral_value()
    if is_whole:
        return
    if not asset.fractionable:
        raise Refusal.forbidden("requested asset is not fractionable")
    if order.time_in_force != "day":
        raise Refusal.unprocessable("fractional orders must be DAY orders")
    held = venue.positions.get(order.symbol, Decimal(0))
    if order.side == "sell" and held <= 0:
        raise Refusal.forbidden("fractional orders cannot be sold short")
    closing = any(each.sign * held < 0 for each in venue.open_of(order.symbol))
    if order.notional is not None and order.side == "sell" and closing:
        raise Refusal.forbidden(
            "unable to open new notional orders while having open closing position orders"
        )


def check_account(venue: Venue, order: VenueOrder, *, replaced: VenueOrder | None = None) -> None:
    """Refuse what the account may not do, and reserve the buying power of what it may."""
    if venue.is_blocked:
        raise Refusal.forbidden("account is not authorized to trade")
    others = [each for each in venue.open_of(order.symbol) if each is not replaced]
    _check_wash(order, others)
    held = venue.positions.get(order.symbol, Decimal(0))
    if held * order.sign < 0:
        _check_available(order, others, held)
        return  # it closes: nothing is reserved
    if order.side == "sell":
        _check_short(venue, order)
    _check_buying_power(venue, order, replaced)


def _check_wash(order: VenueOrder, others: list[VenueOrder]) -> None:
    for other in others:
        if other.side == order.side:
            continue
        at_once = order.type in _AT_ONCE or other.type in _AT_ONCE
        buy, sell = (order, other) if order.side == "buy" else (other, order)
        if at_once or (buy.limit_price or 0) >= (sell.limit_price or 0):
            kind = "market/stop" if at_once else "limit"
            raise Refusal.forbidden(
                "potential wash trade detected. use complex orders",
                existing_order_id=other.id,
                reject_reason=f"opposite side {kind} order exists",
            )


def _check_available(order: VenueOrder, others: list[VenueOrder], held: Decimal) -> None:
    # Of a pair of exits one fills: its units are held once.
    exits = (each for each in others if each.sign == order.sign and not _is_second_exit(each))
    waiting = sum((each.remaining for each in exits), Decimal(0))
    available = abs(held) - waiting
    if order.qty is not None and order.qty > available:
        raise Refusal.forbidden(
            f"insufficient qty available for order (requested: {format(order.qty, 'f')}, "
            f"available: {format(available, 'f')})",
            available=str(available),
            existing_qty=str(abs(held)),
            held_for_orders=str(waiting),
            symbol=order.symbol,
        )


def _is_second_exit(order: VenueOrder) -> bool:
    return order.parent_id is not None and order.stop_price is not None


def _check_short(venue: Venue, order: VenueOrder) -> None:
    asset = venue.assets[order.symbol]
    if not venue.configuration["no_shorting"] and asset.shortable and asset.easy_to_borrow:
        return
    if venue.configuration["no_shorting"]:
        raise Refusal.forbidden("account is not allowed to short")
    raise Refusal.unprocessable(f'asset "{order.symbol}" cannot be sold short')


def _check_buying_power(venue: Venue, order: VenueOrder, replaced: VenueOrder | None) -> None:
    price = _reserve_price(venue, order)
    cost = order.notional if order.notional is not None else price * (order.qty or Decimal(0))
    freed = replaced.reserved_ccy * replaced.remaining if replaced is not None else Decimal(0)
    power = venue.buying_power() + freed
    if cost > power:
        raise Refusal.forbidden(
            "insufficient buying power", buying_power=str(power), cost_basis=str(cost)
        )
    held = venue.positions.get(order.symbol, Decimal(0))
    if abs(held) * venue.last_price(order.symbol) + cost > _CLOSING_ONLY * venue.equity():
        raise Refusal.forbidden("position exceeds 600% of equity: only closing orders are accepted")
    order.reserved_ccy = price


def _reserve_price(venue: Venue, order: VenueOrder) -> Decimal:
    quote = venue.quotes.get(order.symbol)
    ask = quote.ask if quote is not None else Decimal(0)
    if order.side == "sell":
        return max(order.limit_price or Decimal(0), ask * Decimal("1.03"))
    limit = order.limit_price or order.stop_price
    if limit is not None:
        return limit
    collar = Decimal("1.04") if ask < 50 else Decimal("1.025")
    return ask * collar
