"""What one bar does to B portfolios of N sleeves: pure, exact, differentiable.

A portfolio is one account. Its capital is divided among sleeves and cash; a sleeve keeps a share of
its capital in its symbol. At the close everything is decided: how capital is divided anew, what
sleeves want of their symbols, and so one net order per symbol, which the risk gate judges. Orders
fill at the next open; each pays its costs once, whether capital moved, an agent traded, or both.
An order is decided by what is known at the close: not by whether its symbol will trade, nor by what
of it will fill. `order_net`, `fill_net` and `settle_net` are what a session does one after the
other, with the venue's fills in between.
All amounts are fractions of the portfolio's value at the close of the decision unless they say
another unit.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.market.costs import CostRates
from tradingbot.market.params import SimulatorParams
from tradingbot.market.portfolio.net_orders import (
    PortfolioHoldings,
    SleeveBars,
    attainable,
    fill_net,
    order_net,
)

LOWEST_FACTOR = 1e-6
"""Growth below this, ruin and debt too, is rewarded as this: a logarithm must be finite."""
_LEAST_VALUE = 1e-12
"""A portfolio that is worth less than this share of itself has nothing left to divide."""


class Rebalanced(NamedTuple):
    """What one bar did to B portfolios; (B,) unless it says another shape."""

    gross: Tensor
    """Value at the close ÷ value before, without costs; below 0 where a debt is left."""
    cost: Tensor
    """Commission, slippage, spread, impact and borrowing of all net orders."""
    turnover: Tensor
    """Traded notional, at the prices of the fills."""
    order: Tensor
    """(B, N) net orders that filled, at the close of the decision."""
    paid_frac: Tensor
    """(B, N) price of each fill ÷ price at the open."""
    denial: Tensor
    """(B, N) int32 `Denial` of what the gate refused."""
    after: PortfolioHoldings
    """Of the value at the close."""

    @property
    def total(self) -> Tensor:
        """Value at the close ÷ value before, net of costs."""
        return self.gross - self.cost

    @property
    def reward_terms(self) -> Tensor:
        """Return log growth in two parts, (2, B): of what was held, and what orders cost."""
        growth = self.gross.clamp_min(LOWEST_FACTOR)
        return torch.stack([growth.log(), self.total.clamp_min(LOWEST_FACTOR).log() - growth.log()])


def rebalance(
    rules: SimulatorParams,
    rates: CostRates,
    before: PortfolioHoldings,
    wanted: Tensor,
    bars: SleeveBars,
    value_ccy: Tensor,
) -> Rebalanced:
    """Carry portfolios over one bar: order at the close, fill at the open, mark at the close.

    Args:
        rules: Limits that the gate judges net orders by, and how much of a bar one may take.
        rates: Costs, ().
        before: At the close of the decision.
        wanted: (B, N + 1) capital, on the simplex.
        bars: The next bar.
        value_ccy: (B,) what portfolios are worth.
    """
    sent = order_net(rules, before, wanted, bars.target_frac, bars.stale_bars, value_ccy)
    filled = fill_net(rules, rates, before.held, sent.order, bars, value_ccy)
    gross, cost, after = settle_net(rates, before, wanted, bars, filled.order, filled.fees)
    made = (filled.turnover, filled.order, filled.paid_frac, sent.denial)
    return Rebalanced(gross, cost, *made, after)


def settle_net(
    rates: CostRates,
    before: PortfolioHoldings,
    wanted: Tensor,
    bars: SleeveBars,
    order: Tensor,
    fees: Tensor,
) -> tuple[Tensor, Tensor, PortfolioHoldings]:
    """Bring portfolios to the close of the bar in which orders filled, and divide their capital.

    Args:
        rates: Costs, of which that of borrowing is read.
        before: At the close of the decision.
        wanted: (B, N + 1) capital, on the simplex.
        bars: Of `gap_frac`, `within_frac` and `has_market`.
        order: (B, N) what filled.
        fees: (B, N) what it cost.

    Returns:
        Value at the close ÷ value before without costs, (B,); costs, (B,); what is held.
    """
    capital, held = before
    movable = ((bars.has_market > 0.0) | (held == 0.0)) & (capital[:, :-1] >= 0.0)
    position = (held + order) * (1.0 + bars.gap_frac)
    at_open = capital[:, :-1] + held * bars.gap_frac
    gain = position * bars.within_frac
    closing = position + gain
    borrowed = rates.borrow_frac_per_bar * (-closing).clamp_min(0.0)
    gross = 1.0 + (held * bars.gap_frac + gain).sum(-1)
    cost = (fees + borrowed).sum(-1)
    opened = (1.0 + (held * bars.gap_frac - fees).sum(-1))[:, None]
    at_open = torch.cat([at_open, capital[:, -1:]], dim=-1)
    paid = attainable(_share(at_open, opened), wanted, movable) * opened
    sleeves = paid[:, :-1] + gain - borrowed
    debts = sleeves.clamp_max(0.0).sum(-1, keepdim=True)
    left = torch.cat([sleeves.clamp_min(0.0), paid[:, -1:] + debts], dim=-1)
    return gross, cost, _divide(left, closing, gross - cost)


def _share(amounts: Tensor, whole: Tensor) -> Tensor:
    return amounts / torch.where(whole > _LEAST_VALUE, whole, 1.0)


def _divide(left: Tensor, closing: Tensor, value: Tensor) -> PortfolioHoldings:
    """Return capital (B, N + 1) and positions (B, N) as shares of the value; ruin is all cash."""
    whole = value[:, None]
    lives = whole > _LEAST_VALUE
    cash = torch.zeros_like(left)
    cash[:, -1] = 1.0
    capital = torch.where(lives, _share(left, whole), cash)
    return PortfolioHoldings(capital, torch.where(lives, _share(closing, whole), 0.0))
