"""What is known of an order when it is judged, as the facts that rules compare.

None is unknown, and becomes NaN, which every rule denies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.order_intent import OrderIntent, require_zone
from tradingbot.domain.trading_state import TradingState
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.breaker import BreakerState, count_messages, sum_window_value
from tradingbot.runtime.brokers.protocol import BrokerAccount, BrokerAsset

_LOT, _FRACTION = Decimal(1), Decimal("1e-9")
_STATES = {TradingState.ACTIVE: 0.0, TradingState.REDUCING: 1.0, TradingState.HALTED: 2.0}


@dataclass(frozen=True)
class OrderContext:
    """What is known at the moment of judging, beside the book and the breakers.

    None is unknown, and unknown is denied. Money in account currency; the account is the whole one,
    not that of one symbol.
    """

    at: datetime
    mark: float | None = None
    """Price that the symbol is valued at."""
    cash_ccy: float | None = None
    equity_ccy: float | None = None
    held_units: float | None = None
    entry_price: float | None = None
    """Of what is held; 0 when flat."""
    stale_bars: float | None = None
    held_values_ccy: Mapping[str, float] | None = None
    """Symbol → signed value of its position."""
    last_price: float | None = None
    """Last price that was traded or quoted."""
    venue_price: float | None = None
    """What a market order would trade at now, as far as is known."""
    quote_is_crossed: bool | None = None
    """Whether the bid reaches the ask, or a side is missing; False where no quote is needed."""
    spread_frac: float | None = None
    """Ask less bid, of the price between them; 0 where no quote is needed."""
    quote_age_s: float | None = None
    """Seconds since the quote was made; 0 where no quote is needed."""
    last_price_age_s: float | None = None
    previous_price: float | None = None
    """The one before the last."""
    day_volume_units: float | None = None
    market_is_closed: bool | None = None
    seconds_to_close: float | None = None
    correlated_exposure_frac: float | None = None
    account: BrokerAccount | None = None
    asset: BrokerAsset | None = None
    disconnected_s: float | None = None
    clock_skew_s: float | None = None
    position_drift_units: float | None = None
    model_is_unhealthy: bool | None = None
    journal_is_down: bool | None = None

    def __post_init__(self) -> None:
        require_zone(self.at, "at", "OrderContext")


def facts_of_venue(known: OrderContext) -> dict[str, object]:
    """Return what the venue says, by the names of the facts."""
    asset, account = known.asset, known.account
    return {
        "account_is_blocked": None if account is None else account.is_blocked,
        "asset_is_untradable": None if asset is None else not asset.tradable,
        "asset_is_halted": None if asset is None else asset.halted,
        "asset_is_unshortable": None if asset is None else not asset.shortable,
        "market_is_closed": known.market_is_closed,
        "seconds_to_close": math.inf if known.market_is_closed else known.seconds_to_close,
        "disconnected_s": known.disconnected_s,
        "clock_skew_s": known.clock_skew_s,
        "position_drift_units": known.position_drift_units,
        "model_is_unhealthy": known.model_is_unhealthy,
        "journal_is_down": known.journal_is_down,
    }


def power_left(known: OrderContext, working: list[tuple[Order, float]]) -> float:
    """Return buying power less what approved orders open that the venue does not know yet."""
    if known.account is None or known.held_values_ccy is None:
        return math.nan
    opened = [0.0]
    for order, value in working:
        if order.status is OrderStatus.APPROVED:
            closed = -known.held_values_ccy.get(order.intent.symbol, 0.0) * order.intent.side.sign
            opened.append(max(0.0, value - closed) if closed > 0.0 else value)
    return float(known.account.buying_power_ccy) - math.fsum(opened)


def facts_of_prices(intent: OrderIntent, known: OrderContext) -> dict[str, object]:
    """Return what follows from prices, by the names of the facts."""
    last, before = as_number(known.last_price), as_number(known.previous_price)
    held, entry = as_number(known.held_units), as_number(known.entry_price)
    loss = 0.0
    if held != 0.0:
        loss = math.copysign(1.0, held) * (entry - as_number(known.mark)) / entry if entry else 1.0
    price = intent.limit_price
    tick = Decimal("0.01") if price is None or price >= 1 else Decimal("0.0001")
    return {
        "limit_price": known.venue_price if price is None else price,
        "last_price": known.last_price,
        # A limit bounds what an order costs whatever is quoted.
        "quote_is_crossed": known.quote_is_crossed if price is None else False,
        "spread_frac": known.spread_frac if price is None else 0.0,
        "quote_age_s": known.quote_age_s if price is None else 0.0,
        "last_price_age_s": known.last_price_age_s,
        "price_jump_frac": abs(last / before - 1.0) if before else math.nan,
        "price_remainder_ccy": Decimal(0) if price is None else price % tick,
        "position_loss_frac": loss,
        "day_volume_units": known.day_volume_units,
        "correlated_exposure_frac": known.correlated_exposure_frac,
    }


def facts_of_breakers(
    state: BreakerState, limits: SessionLimits, at: datetime
) -> dict[str, object]:
    """Return what breakers remember, by the names of the facts."""
    return {
        "kill_switch": state.kill_reason is not None,
        "trading_state": _STATES[state.trading_state],
        "messages_used": count_messages(state, limits, at),
        "drawdown_frac": state.drawdown_frac,
        "loss_today_frac": state.loss_frac,
        "start_equity_ccy": state.start_ccy,
        "repeated_executions": state.is_repeating,
        "rejects_in_a_row": state.rejects,
        "overfills": state.overfills,
        "window_value_ccy": sum_window_value(state, limits, at),
    }


def lot_remainder(intent: OrderIntent, asset: BrokerAsset | None) -> Decimal | None:
    """Return by how much the units miss the venue's lot: one unit, or nine decimals."""
    if asset is None:
        return None
    return intent.quantity_units % (_FRACTION if asset.fractionable else _LOT)


def as_number(value: object) -> float:
    """Return a fact as a number; NaN where it is unknown."""
    return math.nan if value is None else float(value)  # type: ignore[arg-type]


def as_scalars(numbers: Iterable[float]) -> list[Any]:
    """Return numbers as rules of arrays take them."""
    return [np.float64(number) for number in numbers]
