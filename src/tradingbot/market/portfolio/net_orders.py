"""Net orders of B portfolios: what is sent at a close, and what of it fills at the next open.

All amounts are fractions of the portfolio's value at the close of the decision unless they say
another unit.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.market.costs import CostRates, fill_price
from tradingbot.market.params import SimulatorParams
from tradingbot.risk.gate import judge
from tradingbot.risk.rule import OrderView

_LEAST_SUM = 1e-12


class SleeveBars(NamedTuple):
    """What the next bar holds for sleeves, (B, N) each."""

    gap_frac: Tensor
    """Open ÷ close before − 1 of the symbol."""
    within_frac: Tensor
    """Close ÷ open − 1 of the symbol."""
    target_frac: Tensor
    """Position that the sleeve's agent asks for at the open, of its capital, at the close before:
    with all of its order, whatever of that fills."""
    has_market: Tensor
    """1 where the symbol trades at the open."""
    stale_bars: Tensor
    """Bars since it last traded, at the close of the decision."""
    depth_ccy: Tensor
    """Value that trades in the bar."""
    volatility: Tensor
    """Standard deviation of log returns per bar; what impact grows with."""


class PortfolioHoldings(NamedTuple):
    """How B portfolios are divided at a close."""

    capital: Tensor
    """(B, N + 1) of each sleeve, cash last; they sum to 1. Cash is below 0 where a sleeve left a
    debt that it could not pay."""
    held: Tensor
    """(B, N) position in each symbol, part of its sleeve's capital."""


class NetOrders(NamedTuple):
    """What B portfolios send at a close, (B, N) each."""

    order: Tensor
    """Signed, 0 where it was denied."""
    denial: Tensor
    """int32 `Denial`."""
    asked: Tensor
    """Signed, before the gate."""


def order_net(
    rules: SimulatorParams,
    before: PortfolioHoldings,
    wanted: Tensor,
    target_frac: Tensor,
    stale_bars: Tensor,
    value_ccy: Tensor,
) -> NetOrders:
    """Say what is sent: capital of each sleeve × what its agent asks for − what is held.

    Args:
        rules: Limits that the gate judges by.
        before: At the close of the decision.
        wanted: (B, N + 1) capital, on the simplex.
        target_frac: (B, N); see `SleeveBars`.
        stale_bars: (B, N) bars since each symbol traded.
        value_ccy: (B,) what portfolios are worth.
    """
    capital, held = before
    divided = attainable(capital, wanted, capital[:, :-1] >= 0.0)
    order = divided[:, :-1] * target_frac - held
    return _gated(rules, before, order, stale_bars, value_ccy)


class NetFills(NamedTuple):
    """What fills of net orders at the open."""

    order: Tensor
    """(B, N) signed, at the close of the decision."""
    fees: Tensor
    """(B, N) slippage, spread, impact and commission."""
    turnover: Tensor
    """(B,) notional, at the prices of the fills."""
    paid_frac: Tensor
    """(B, N) price of each fill ÷ price at the open."""


def fill_net(
    rules: SimulatorParams,
    rates: CostRates,
    held: Tensor,
    order: Tensor,
    bars: SleeveBars,
    value_ccy: Tensor,
) -> NetFills:
    """Execute orders (B, N) at the open, as far as the bar and cash reach."""
    filled, paid_frac = _filled(rules, rates, held, order, bars, value_ccy)
    traded = filled.abs() * (1.0 + bars.gap_frac)
    fees = _fee_frac(rates, paid_frac) * traded
    return NetFills(filled, fees, (traded * paid_frac).sum(-1), paid_frac)


def read_weights(given: Tensor, halted: Tensor) -> Tensor:
    """Read weights (B, N + 1): divided by their sum; all zeros, or a halt (B,), is all cash."""
    total = given.sum(-1, keepdim=True)
    idle = (total <= _LEAST_SUM) | (halted > 0.0)[:, None]
    cash = torch.zeros_like(given)
    cash[:, -1] = 1.0
    return torch.where(idle, cash, given / total.clamp_min(_LEAST_SUM))


def attainable(at_open: Tensor, wanted: Tensor, movable: Tensor) -> Tensor:
    """Return the division (B, N + 1) nearest to the wanted one that can be had.

    What cannot move (B, N) stays. What was meant to join it waits in cash; where it keeps more than
    was wanted, cash gives way first, then the other sleeves in proportion.
    """
    if _on_host(movable) and bool(movable.all()):
        return wanted  # what the rest comes to, and nearly every bar
    sleeves = torch.where(movable, wanted[:, :-1], at_open[:, :-1])
    fixed = torch.where(movable, 0.0, sleeves).sum(-1, keepdim=True)
    asked = torch.where(movable, sleeves, 0.0).sum(-1, keepdim=True)
    room = (1.0 - fixed).clamp_min(0.0)
    scale = torch.where(asked > room, room / asked.clamp_min(_LEAST_SUM), 1.0)
    sleeves = torch.where(movable, sleeves * scale, sleeves)
    stays = torch.where(movable.all(-1, keepdim=True), wanted[:, -1:], 1.0 - sleeves.sum(-1, True))
    return torch.cat([sleeves, stays], dim=-1)


def _on_host(mask: Tensor) -> bool:
    """Whether a question costs nothing: on the CPU, where it may save work."""
    return mask.device.type == "cpu"


def _gated(
    rules: SimulatorParams,
    before: PortfolioHoldings,
    asked: Tensor,
    stale_bars: Tensor,
    value_ccy: Tensor,
) -> NetOrders:
    """Return the orders (B, N) that may be sent, and why the others may not.

    Of several buys each is judged by the cash that sales and the other buys leave: what all of them
    want beyond it is taken off in proportion first.
    """
    cash = 1.0 - before.held.sum(-1, keepdim=True) - rules.limits.reserve_frac
    order = _within_cash(asked, cash, 1.0, 0.0)
    buys = order.clamp_min(0.0)
    left = cash + rules.limits.reserve_frac - order.sum(-1, keepdim=True) + buys
    with torch.no_grad():
        money = [each * value_ccy[:, None] for each in (order, before.held, left)]
        equity = value_ccy[:, None].expand_as(order)
        whole = torch.zeros(order.shape, dtype=torch.int32, device=order.device)
        one = torch.ones_like(order)
        view = OrderView(
            *(money[0], money[1], one, money[2], equity), stale_bars.to(torch.int32), whole
        )
        denial = judge(rules.limits, view)
    sent = torch.where(denial == int(Denial.NONE), order, 0.0)
    return NetOrders(sent, denial, order)


def _filled(
    rules: SimulatorParams,
    rates: CostRates,
    held: Tensor,
    order: Tensor,
    bars: SleeveBars,
    value_ccy: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return what fills of orders (B, N) at the open, and price with slippage ÷ price there."""
    price, value = 1.0 + bars.gap_frac, value_ccy[:, None]
    most = rules.account.max_participation_frac * bars.depth_ccy / (value * price)
    order = torch.where(bars.has_market > 0.0, order.clamp(-most, most), 0.0)
    paid = _paid_frac(rates, order, bars, value)
    cash = 1.0 - held.sum(-1, keepdim=True) - rules.limits.reserve_frac
    filled = _within_cash(order, cash, price, _fee_frac(rates, paid))
    if rules.account.quantity_decimals is not None:  # as `market.advance.fill_order` has it
        paid = _paid_frac(rates, filled, bars, value)
    return filled, paid


def _paid_frac(rates: CostRates, order: Tensor, bars: SleeveBars, value: Tensor) -> Tensor:
    """Return the price of orders (B, N) with slippage ÷ price at the open."""
    price = 1.0 + bars.gap_frac
    notional = order * value * price
    return fill_price(rates, torch.ones_like(price), notional, bars.depth_ccy, bars.volatility)


def _fee_frac(rates: CostRates, paid_frac: Tensor) -> Tensor:
    """Return slippage, spread, impact and commission of an order, of its notional at the open."""
    return (paid_frac - 1.0).abs() + rates.commission_frac * paid_frac


def _within_cash(
    order: Tensor, cash: Tensor, price: Tensor | float, fee_frac: Tensor | float
) -> Tensor:
    """Make buys (B, N) smaller, in proportion, where cash (B, 1) and sales do not pay for them."""
    buys, sells = order.clamp_min(0.0), (-order).clamp_min(0.0)
    needed = (buys * price * (1.0 + fee_frac)).sum(-1, keepdim=True)
    room = (cash + (sells * price * (1.0 - fee_frac)).sum(-1, keepdim=True)).clamp_min(0.0)
    scale = torch.where(needed > room, room / needed.clamp_min(_LEAST_SUM), 1.0)
    return torch.where(order > 0.0, order * scale, order)
