"""Orders of one bar before the gate: intents, what is known of each, approvals and denials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.market.advance import SentOrder
from tradingbot.market.portfolio.account import PortfolioAccount
from tradingbot.risk.gate import OrderDenial
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.order_facts import OrderContext
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.decision import Proposal
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.facts import MarketFacts
from tradingbot.runtime.session.venue_facts import VenueFacts

_STEP = Decimal(1).scaleb(-MAX_DECIMALS)


@dataclass(frozen=True)
class JudgedOrders:
    """What became of the proposals of one bar."""

    sent: SentOrder
    """(N,) as the simulator's accounts are told: units that were denied are 0."""
    intents: tuple[OrderIntent | None, ...]
    """N; None where nothing is wanted."""
    approvals: tuple[Approval, ...]
    denials: dict[str, str]
    """Client order id → code of the rule with its numbers."""


def find_wanted(symbols: Sequence[str], sent: SentOrder) -> list[str]:
    """Return the symbols with an order that the gate must judge."""
    is_wanted = (sent.order != 0.0) & (sent.denial == int(Denial.NONE))
    return [symbol for symbol, wanted in zip(symbols, is_wanted.tolist(), strict=True) if wanted]


def intent_of(
    what: tuple[str, datetime, str], sent: SentOrder, proposal: Proposal, lane: int
) -> OrderIntent | None:
    """Return the order that follows from a decision, also where its own account denies it.

    Args:
        what: Symbol, close of the bar, hash of the model.
        sent: (N,) what the simulator would send.
        proposal: (N,) what was wanted.
        lane: Which of N.
    """
    is_denied = int(sent.denial[lane]) != Denial.NONE
    units = float((sent.decision.order if is_denied else sent.order)[lane])
    size = Decimal(abs(units)).quantize(_STEP) if math.isfinite(units) else Decimal(0)
    if not size:
        return None
    symbol, at, sha256 = what
    side = Side.BUY if units > 0.0 else Side.SELL
    confidence = float(proposal.confidence[lane])
    return OrderIntent(symbol, side, size, at, sha256, confidence=confidence)


def judge_orders(
    desk: Desk,
    model: tuple[str, tuple[str, ...]],
    at: datetime,
    account: SessionAccount,
    sent: SentOrder,
    proposal: Proposal,
    facts: tuple[MarketFacts, VenueFacts],
) -> JudgedOrders:
    """Put every order of a bar before the gate, one after another.

    Args:
        desk: With the gate.
        model: Hash, and N symbols.
        at: Close of the bar.
        account: N accounts at that close, or one.
        sent: What the simulator would send.
        proposal: What was wanted, with its confidence.
        facts: Of the market and of the venue.
    """
    sha256, symbols = model
    held = _held_values(symbols, account)
    after = dict(held)  # with the orders of this bar
    money = _money(account, sent.order)
    facts = (facts[0], _with_sales(facts[1], account, money[0]))
    order, denial = sent.order.clone(), sent.denial.clone()
    intents: list[OrderIntent | None] = []
    approvals: list[Approval] = []
    denials: dict[str, str] = {}
    for lane, symbol in enumerate(symbols):
        intent = intent_of((symbol, at, sha256), sent, proposal, lane)
        intents.append(intent)
        if intent is None:
            continue
        if int(sent.denial[lane]) != Denial.NONE:
            name = Denial(int(sent.denial[lane])).name
            denials[intent.client_order_id] = f"{name}: by the rules of the symbol's own account"
            continue
        known = _context(desk, lane, intent, account, money, (held, after), facts)
        verdict = desk.gate.judge(intent, known)
        if isinstance(verdict, Approval):
            approvals.append(verdict)
            units = intent.side.sign * float(intent.quantity_units)
            after[symbol] = after.get(symbol, 0.0) + units * float(account.mark[lane])
        else:
            order[lane], denial[lane] = 0.0, int(verdict.code)
            denials[intent.client_order_id] = verdict.words
    approvals.sort(key=lambda each: not _reduces(desk, each.intent))  # exits leave first
    judged = sent._replace(order=order, denial=denial)
    return JudgedOrders(judged, tuple(intents), tuple(approvals), denials)


def _reduces(desk: Desk, intent: OrderIntent) -> bool:
    return intent.reduces(desk.holdings.units(intent.symbol))


def judge_order(
    desk: Desk,
    lane: int,
    intent: OrderIntent,
    symbols: Sequence[str],
    account: SessionAccount,
    facts: tuple[MarketFacts, VenueFacts],
    at: datetime | None = None,
) -> Approval | OrderDenial:
    """Put one order before the gate, at the close that was decided on unless a moment is given."""
    money = _money(account)
    values = _held_values(symbols, account)
    known = _context(desk, lane, intent, account, money, (values, values), facts)
    return desk.gate.judge(intent, known if at is None else replace(known, at=at))


def _money(account: SessionAccount, order: Tensor | None = None) -> tuple[float, float]:
    """Return cash that orders (N,) may use, and equity; in one account its sales pay for buys."""
    cash = account.cash
    if isinstance(account, PortfolioAccount) and order is not None:
        cash = account.payable(order)[:1]
    return float(cash.sum()), float(account.equity.sum())


def _with_sales(venue: VenueFacts, account: SessionAccount, cash_ccy: float) -> VenueFacts:
    """Count what sales of one account bring at the open as power to buy there."""
    sales = cash_ccy - float(account.cash.sum())
    if not isinstance(account, PortfolioAccount) or sales <= 0.0:
        return venue
    power = venue.account.buying_power_ccy + Decimal(sales).quantize(_STEP)
    return replace(venue, account=replace(venue.account, buying_power_ccy=power))


def _held_values(symbols: Sequence[str], account: SessionAccount) -> dict[str, float]:
    worth = zip(symbols, (account.units * account.mark).tolist(), strict=True)
    return {symbol: value for symbol, value in worth if value}


def _context(
    desk: Desk,
    lane: int,
    intent: OrderIntent,
    account: SessionAccount,
    money: tuple[float, float],
    values: tuple[dict[str, float], dict[str, float]],
    facts: tuple[MarketFacts, VenueFacts],
) -> OrderContext:
    (market, venue), (held, after) = facts, values
    mark, units = float(account.mark[lane]), float(account.units[lane])
    is_crossed, spread_frac, quote_age_s = _quoted(venue, intent.symbol)
    last_at = market.last_at[lane]
    return OrderContext(
        at=intent.decided_at,
        mark=mark,
        cash_ccy=money[0],
        equity_ccy=money[1],
        held_units=units,
        entry_price=float(account.entry[lane]),
        stale_bars=float(account.stale_bars[lane]),
        held_values_ccy=held,
        last_price=(last := _known(market.last[lane])),
        venue_price=last if venue.prices is None else venue.prices.get(intent.symbol),
        quote_is_crossed=is_crossed,
        spread_frac=spread_frac,
        quote_age_s=quote_age_s,
        last_price_age_s=None if last_at is None else (intent.decided_at - last_at).total_seconds(),
        previous_price=_known(market.previous[lane]),
        day_volume_units=float(market.day_volume[lane]),
        market_is_closed=venue.is_closed,
        seconds_to_close=venue.seconds_to_close,
        correlated_exposure_frac=_correlated(lane, intent, mark, money[1], after, market),
        account=venue.account,
        asset=venue.assets.get(intent.symbol),
        disconnected_s=desk.broker.disconnected_s(),
        clock_skew_s=venue.clock_skew_s,
        position_drift_units=venue.drift_units,
        model_is_unhealthy=desk.health.problem is not None,
        journal_is_down=desk.journal_is_down,
    )


def _quoted(venue: VenueFacts, symbol: str) -> tuple[bool | None, float | None, float | None]:
    """Return whether a quote is crossed, its spread and its age; None where one should be known."""
    if venue.quotes is None:
        return False, 0.0, 0.0
    quote = venue.quotes.get(symbol)
    if quote is None:
        return None, None, None
    age_s = None if quote.at is None else (venue.quoted_at - quote.at).total_seconds()
    return quote.is_crossed, quote.spread_frac, age_s


def _correlated(
    lane: int,
    intent: OrderIntent,
    mark: float,
    equity: float,
    values: dict[str, float],
    market: MarketFacts,
) -> float:
    """Return the gross exposure, of equity, that the order leaves in symbols that move with it."""
    after = values.get(intent.symbol, 0.0) + float(intent.signed_units) * mark
    together = market.correlated_with(lane)
    others = math.fsum(
        abs(value)
        for symbol, value in values.items()
        if symbol != intent.symbol and together[market.lanes[symbol]]
    )
    return (abs(after) + others) / equity if equity > 0.0 else math.inf


def _known(price: float) -> float | None:
    return float(price) if math.isfinite(price) else None
