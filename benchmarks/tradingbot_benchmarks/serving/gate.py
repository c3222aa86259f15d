"""How long the gate of a session takes for one order, with the orders of a whole bar waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from time import perf_counter

from tradingbot.domain.errors import DataError
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.risk.limits import WIDEST_ORDER_LIMITS, WIDEST_SESSION_LIMITS
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import BreakerState, mark_equity
from tradingbot.runtime.brokers.protocol import BrokerAccount, BrokerAsset
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.order_book import OrderBook
from tradingbot.runtime.order_facts import OrderContext
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.serving.stretches import percentile

GATE_BUDGET_S = 200e-6
"""One decision in process, at the 99th percentile."""
_FIRST = datetime(2026, 1, 5, 15, 30, tzinfo=UTC)
_MONEY = 1e8


def measure_gate(n_symbols: int, *, stretches: int) -> BenchRecord:
    """Time every order of bars of all symbols, each of which all rules pass.

    Args:
        n_symbols: Orders of a bar: the last is judged beside all others.
        stretches: Bars.

    Raises:
        DataError: If an order is denied: then not all rules were asked.
    """
    taken = [_judge_bar(n_symbols, _FIRST + timedelta(hours=hour)) for hour in range(stretches)]
    p99 = percentile(taken, 0.99)
    return BenchRecord(
        *("gate_decision", p99.quiet, "s", GATE_BUDGET_S, "budget"),
        ratio=GATE_BUDGET_S / p99.quiet,
        note=f"p99 of the quietest of {stretches} bars (all: {p99.overall * 1e6:.0f} µs): one "
        f"order through every rule, sealed and counted, with up to {n_symbols - 1} others open",
    )


def _judge_bar(n_symbols: int, at: datetime) -> list[float]:
    symbols = [f"S{place:03d}" for place in range(n_symbols)]
    breakers = mark_equity(BreakerState(), Decimal(int(_MONEY)), at.date())
    gate = SessionGate(OrderBook(), breakers, WIDEST_ORDER_LIMITS, WIDEST_SESSION_LIMITS)
    held, taken = dict.fromkeys(symbols, 1000.0), []
    for symbol in symbols:
        known = _context(symbol, at, held)
        intent = OrderIntent(symbol, Side.BUY, Decimal("1.5"), at, "m" * 64, confidence=0.9)
        begin = perf_counter()
        verdict = gate.judge(intent, known)
        taken.append(perf_counter() - begin)
        if not isinstance(verdict, Approval):
            raise DataError("every order must pass the gate that is timed", was=verdict.words)
    return taken


def _context(symbol: str, at: datetime, held: dict[str, float]) -> OrderContext:
    money = Decimal(int(_MONEY))
    return OrderContext(
        at=at,
        mark=100.0,
        cash_ccy=_MONEY,
        equity_ccy=_MONEY,
        held_units=10.0,
        entry_price=100.0,
        stale_bars=0.0,
        held_values_ccy=held,
        last_price=100.0,
        venue_price=100.0,
        last_price_age_s=0.0,
        quote_is_crossed=False,
        spread_frac=0.0,
        quote_age_s=0.0,
        previous_price=100.0,
        day_volume_units=1e9,
        market_is_closed=False,
        seconds_to_close=3600.0,
        correlated_exposure_frac=0.0,
        account=BrokerAccount(money, money, money, is_blocked=False),
        asset=BrokerAsset(symbol, True, True, True, False),
        disconnected_s=0.0,
        clock_skew_s=0.0,
        position_drift_units=0.0,
        model_is_unhealthy=False,
        journal_is_down=False,
    )
