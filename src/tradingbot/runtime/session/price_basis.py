"""Which units and prices a session counts in: those after the last split that it knows of.

Bars are taken in the prices of their own day, as they were traded. Whatever closed before a split
is turned into prices after it before features, model or accounts see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import torch
from torch import Tensor

from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import SentOrder
from tradingbot.market.portfolio.account import PortfolioAccount
from tradingbot.market.quantity import truncate_units
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.stock_split import SplitSource

VOLUME = "volume"
_DECIMALS = 9


@dataclass
class PriceBasis:
    """Splits of a session."""

    source: SplitSource | None = None
    """Who announces them; None: no one does."""
    day: date = date.min
    """The last one of the exchange up to which it was asked: its bars and history are of this."""
    splits: list[StockSplitApplied] = field(default_factory=list)
    """That were applied, in their order; the journal holds them."""
    sent_is_rebased: bool = False
    """Whether one was applied since the last turn: its orders are not those that it decided."""

    def turn(self, bar: MarketBar, symbols: Sequence[str]) -> MarketBar:
        """Return a bar of M symbols in the prices of now."""
        return rebase_bar(bar, symbols, self.splits)


def rebase_bar(
    bar: MarketBar, symbols: Sequence[str], splits: Iterable[StockSplitApplied]
) -> MarketBar:
    """Return a bar of M symbols in prices after splits; one of their days or later is as it is."""
    later = [each for each in splits if bar.closed_at <= each.at and each.symbol in symbols]
    if not later:
        return bar
    fields = {name: values.copy() for name, values in bar.fields.items()}
    for split in later:
        place = symbols.index(split.symbol)
        for name, values in fields.items():
            old, new = split.denominator, split.numerator
            if name == VOLUME:
                old, new = new, old
            values[place] = values[place] * old / new
    return replace(bar, fields=fields)


def rebase_account(account: SessionAccount, lane: int, split: StockSplitApplied) -> SessionAccount:
    """Return accounts (N,) whose lane counts in units and prices after a split."""
    if isinstance(account, PortfolioAccount):
        lanes = rebase_account(account.lanes, lane, split)
        assert isinstance(lanes, Account)
        return account._replace(lanes=lanes)
    prices = {name: _in_prices(getattr(account, name), lane, split) for name in ("entry", "mark")}
    return account._replace(units=_in_units(account.units, lane, split, _DECIMALS), **prices)


def rebase_sent(
    sent: SentOrder, lane: int, split: StockSplitApplied, decimals: int | None
) -> SentOrder:
    """Return what was sent (N,), in units after a split."""
    decimals = _DECIMALS if decimals is None else decimals
    order, wanted = (
        _in_units(each, lane, split, decimals) for each in (sent.order, sent.decision.order)
    )
    return sent._replace(order=order, decision=sent.decision._replace(order=wanted))


def _in_units(units: Tensor, lane: int, split: StockSplitApplied, decimals: int) -> Tensor:
    after = units.clone()
    exact = units[lane] * split.numerator / split.denominator
    # A product that misses a number of the venue's least parts by rounding is that number.
    nearest = torch.round(exact * 10.0**decimals) / 10.0**decimals
    is_it = (exact - nearest).abs() <= exact.abs() * 1e-12
    after[lane] = torch.where(is_it, nearest, truncate_units(exact, decimals))
    return after


def _in_prices(prices: Tensor, lane: int, split: StockSplitApplied) -> Tensor:
    after = prices.clone()
    after[lane] = prices[lane] * split.denominator / split.numerator
    return after


def write_sent(sent: SentOrder) -> dict[str, Any]:
    """Return what was sent as lists of numbers; JSON keeps every digit of them."""
    own = {name: each.tolist() for name, each in sent.decision._asdict().items()}
    rest = {name: getattr(sent, name).tolist() for name in SentOrder._fields[1:]}
    return {"decision": own, **rest}


def read_sent(plain: dict[str, Any]) -> SentOrder:
    """Return what `write_sent` wrote."""
    decision = Decision(**{name: _tensor(each) for name, each in plain["decision"].items()})
    rest = {name: _tensor(plain[name]) for name in SentOrder._fields[1:]}
    return SentOrder(decision, **rest)


def _tensor(values: list[Any]) -> Tensor:
    if values and isinstance(values[0], bool):
        return torch.tensor(values)
    is_whole = bool(values) and isinstance(values[0], int)
    return torch.tensor(values, dtype=torch.int32 if is_whole else torch.float64)
