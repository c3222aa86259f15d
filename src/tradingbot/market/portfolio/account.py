"""The one account of a portfolio: lanes of the simulator that share their capital, and cash.

Lane n holds what the portfolio has of symbol n, and as much cash as makes the lane worth its
sleeve's capital; the rest of the cash is in none. It moves between lanes with the capital, never to
a venue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import SentOrder, settle_bar
from tradingbot.market.bars import UNSEEN_STALE_BARS, Bar
from tradingbot.market.costs import CostRates, fill_price
from tradingbot.market.exits import is_beyond_loss
from tradingbot.market.fills import volume_cap
from tradingbot.market.ledger import FillBatch
from tradingbot.market.params import NEVER_BARS, SimulatorParams
from tradingbot.market.portfolio.accounting import settle_net
from tradingbot.market.portfolio.inputs import portfolio_bounds, see_portfolio
from tradingbot.market.portfolio.net_orders import (
    PortfolioHoldings,
    SleeveBars,
    fill_net,
    order_net,
)
from tradingbot.market.quantity import truncate_units

_HALF_STEP = 0.5e-9
"""Half of the least units of a venue: an order that misses a number of them by rounding is it."""


_ROUNDING = 1e-12
"""Share of an order that sums of floats may miss it by."""


class PortfolioAccount(NamedTuple):
    """One account of N symbols at the close of a bar; money in account currency, float64."""

    lanes: Account
    """N, each worth its sleeve's capital."""
    capital: Tensor
    """(N + 1,) of the value, cash last."""
    cash: Tensor
    """(1,) of all lanes, and what is in none."""
    peak: Tensor
    """(1,) highest equity so far."""
    growth: Tensor
    """(1,) equity ÷ equity before, over the last bar."""
    halted: Tensor
    """(1,) 1 after it lost `portfolio_loss_frac`: all is wanted in cash."""

    @property
    def units(self) -> Tensor:
        """(N,) signed holdings."""
        return self.lanes.units

    @property
    def mark(self) -> Tensor:
        """(N,) last closes seen."""
        return self.lanes.mark

    @property
    def entry(self) -> Tensor:
        """(N,) average prices of positions."""
        return self.lanes.entry

    @property
    def stale_bars(self) -> Tensor:
        """(N,) bars since each symbol traded."""
        return self.lanes.stale_bars

    @property
    def smoothed(self) -> Tensor:
        """(N,) capital of the sleeves as it is: what is wanted where nothing is decided."""
        return self.capital[:-1]

    @property
    def repeats(self) -> Tensor:
        """(N,) int32."""
        return self.lanes.repeats

    @property
    def equity(self) -> Tensor:
        """(1,) what the portfolio is worth."""
        return self.cash + (self.units * self.mark).sum(0, keepdim=True)

    @property
    def holdings(self) -> PortfolioHoldings:
        """Capital (1, N + 1) and positions (1, N), of the value."""
        held = self.units * self.mark / self.equity.clamp_min(torch.finfo(torch.float64).tiny)
        return PortfolioHoldings(self.capital[None], held[None])

    def payable(self, order: Tensor) -> Tensor:
        """Return cash (N,) that buys may use beside orders (N,) in units: sales pay for buys."""
        sales = (-order * self.mark).clamp_min(0.0).sum(0, keepdim=True)
        return (self.cash + sales).expand_as(self.units)


def open_portfolio(rules: SimulatorParams, close: Tensor, stale_bars: Tensor) -> PortfolioAccount:
    """Open an account, all in cash, at the closes (N,) of a bar."""
    row = torch.zeros(len(close), dtype=torch.int32)
    lanes = open_accounts(0.0, row, close)._replace(stale_bars=stale_bars)
    capital = close.new_zeros(len(close) + 1)
    capital[-1] = 1.0
    cash, one = close.new_tensor([rules.account.initial_cash_ccy]), close.new_ones(1)
    return PortfolioAccount(lanes, capital, cash, cash, one, row[:1])


def observe_portfolio(rules: SimulatorParams, account: PortfolioAccount) -> Tensor:
    """Return what a master sees of its account, (2 N + 4,) float32."""
    cash = rules.account.initial_cash_ccy
    value, peak = account.equity / cash, account.peak / cash
    bounds = portfolio_bounds(account.capital)
    return see_portfolio(account.holdings, value, peak, account.growth, bounds)[0]


def send_net(
    rules: SimulatorParams, account: PortfolioAccount, wanted: Tensor, target_frac: Tensor
) -> SentOrder:
    """Say what is sent at a close: one net order per symbol, in units that a venue takes.

    Args:
        rules: Of the account.
        account: At the close.
        wanted: (N + 1,) capital, on the simplex.
        target_frac: (N,) what agents ask for, of their sleeves' capital.

    Returns:
        (N,); `decision.smoothed` is the capital that is wanted of each sleeve.
    """
    stale = account.stale_bars.clamp_max(NEVER_BARS)[None].to(wanted.dtype)
    given = (wanted[None], target_frac[None], stale, account.equity)
    net = order_net(rules, account.holdings, *given)
    order, asked = (_in_units(rules, account, each[0]) for each in (net.order, net.asked))
    none = torch.zeros_like(account.repeats)
    # Stops of sessions: backtests of portfolios have none, their rules say so.
    is_lost = is_beyond_loss(rules.account, account.lanes) & (account.units != 0.0)
    order, asked = (torch.where(is_lost, -account.units, each) for each in (order, asked))
    decision = Decision(asked, none, none, none.bool(), wanted[:-1], none)
    forced = torch.where(is_lost, int(ExitReason.POSITION_LOSS), int(ExitReason.NONE)).int()
    denial = torch.where(is_lost | (asked == 0.0), int(Denial.NONE), net.denial[0])
    return SentOrder(decision, order, denial, forced, torch.zeros_like(order))


def _in_units(rules: SimulatorParams, account: PortfolioAccount, order_frac: Tensor) -> Tensor:
    units = order_frac * account.equity / account.mark
    decimals = rules.account.quantity_decimals
    if decimals is None:
        return units
    return truncate_units(units + torch.sign(units) * _HALF_STEP, decimals)


def lanes_for_fills(
    rules: SimulatorParams, rates: CostRates, account: PortfolioAccount, bar: Bar, order: Tensor
) -> Account:
    """Return lanes whose cash is what each order (N,), in units, may use at the open of a bar.

    Sales pay for buys; what all cash together does not pay for is taken off all buys in
    proportion. A simulator that executes each lane by itself then comes to that.
    """
    bars = _sleeve_bars(account, bar)
    equity, mark = account.equity, account.mark
    asked = order * mark / equity
    filled = fill_net(rules, rates, account.holdings.held, asked[None], bars, equity)
    units = filled.order[0] * equity / mark
    size = torch.minimum(order.abs(), volume_cap(bar, rules.account.max_participation_frac))
    price = fill_price(rates, bar.open, torch.sign(order) * size, bar.volume, bar.volatility)
    needed = units.clamp_min(0.0) * price * (1.0 + rates.commission_frac)
    is_cut = units < size * (1.0 - _ROUNDING)
    spare = torch.where(is_cut, 0.0, needed + equity)  # what was not cut is not bound
    reserve = rules.limits.reserve_frac
    cash = (needed + spare + reserve * account.units * mark) / (1.0 - reserve)
    return account.lanes._replace(cash=cash)


def settle_portfolio(
    rules: SimulatorParams,
    rates: CostRates,
    account: PortfolioAccount,
    bar: Bar,
    sent: SentOrder,
    fill: FillBatch,
) -> PortfolioAccount:
    """Book what was filled (N,), go to the close of the bar, and divide the capital."""
    equity = account.equity
    wanted = torch.cat([sent.decision.smoothed, 1.0 - sent.decision.smoothed.sum(0, keepdim=True)])
    filled = fill.units * account.mark / equity
    fees = (fill.units * (fill.price - bar.open) + fill.fee) / equity
    parts = (wanted[None], _sleeve_bars(account, bar), filled[None], fees[None])
    _, _, after = settle_net(rates, account.holdings, *parts)
    lanes = settle_bar(rules, rates, account.lanes, bar, sent, fill).after
    # What lanes paid, not what they have: moved capital must not round the money that is there.
    cash = account.cash + (lanes.cash - account.lanes.cash).sum(0, keepdim=True)
    worth = cash + (lanes.units * lanes.mark).sum(0, keepdim=True)
    least = (1.0 - rules.account.portfolio_loss_frac) * rules.account.initial_cash_ccy
    halted = account.halted | (worth <= least).int()
    capital = after.capital[0]
    lanes = lanes._replace(
        cash=capital[:-1] * worth - lanes.units * lanes.mark,
        halted=halted.expand_as(lanes.halted),
    )
    return PortfolioAccount(
        lanes=lanes,
        capital=capital,
        cash=cash,
        peak=torch.maximum(account.peak, worth),
        growth=worth / equity,
        halted=halted,
    )


def _sleeve_bars(account: PortfolioAccount, bar: Bar) -> SleeveBars:
    """Return a bar (1, N) beside the close before it; there is no gap to the first price of all."""
    seen = account.stale_bars < UNSEEN_STALE_BARS
    gap = torch.where(seen, bar.open / account.mark - 1.0, 0.0)
    has_market = ((bar.tradable > 0.0) & (bar.volume > 0.0)).to(gap.dtype)
    none = torch.zeros_like(gap)
    parts = (gap, bar.close / bar.open - 1.0, none, has_market, none)
    return SleeveBars(*(each[None] for each in (*parts, bar.volume * bar.open, bar.volatility)))


def write_portfolio(account: PortfolioAccount) -> dict[str, Any]:
    """Return what an account has beside its lanes as plain numbers; JSON keeps every digit."""
    return {name: getattr(account, name).tolist() for name in PortfolioAccount._fields[1:]}


def read_portfolio(lanes: Account, plain: Mapping[str, Any]) -> PortfolioAccount:
    """Return the account that `write_portfolio` wrote."""
    halted = torch.tensor(plain["halted"], dtype=torch.int32)
    numbers = {
        name: torch.tensor(plain[name], dtype=torch.float64)
        for name in PortfolioAccount._fields[1:-1]
    }
    return PortfolioAccount(lanes, **numbers, halted=halted)
