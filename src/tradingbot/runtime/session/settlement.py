"""Fills of a venue as the simulator books them, and a bar on which nothing was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason, SessionDenial
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import SentOrder
from tradingbot.market.ledger import FillBatch
from tradingbot.runtime.session.account_record import SessionAccount

_DENIALS: dict[str, Denial | SessionDenial] = {
    **SessionDenial.__members__,
    **Denial.__members__,
}


def batch_fills(fills: Sequence[Fill], symbols: Sequence[str], base: Tensor) -> FillBatch:
    """Add up fills of one bar by symbol, at the mean price of their units.

    Args:
        fills: Of any of the symbols.
        symbols: N names.
        base: (N,) price before costs.

    Returns:
        (N,) float64; exact sums, rounded once.
    """
    units, value, fee = ([Decimal(0)] * len(symbols) for _ in range(3))
    prices: list[set[Decimal]] = [set() for _ in symbols]
    for fill in fills:
        lane = symbols.index(fill.symbol)
        units[lane] += fill.signed_units
        value[lane] += fill.signed_units * fill.price
        fee[lane] += fill.fee_ccy
        prices[lane].add(fill.price)
    mean = [
        0.0 if not total else float(next(iter(own)) if len(own) == 1 else paid / total)
        for total, paid, own in zip(units, value, prices, strict=True)
    ]
    made = torch.tensor([float(total) for total in units], dtype=base.dtype)
    return FillBatch(
        units=made,
        price=torch.tensor(mean, dtype=base.dtype),
        base=torch.where(made != 0.0, base, 0.0),
        fee=torch.tensor([float(each) for each in fee], dtype=base.dtype),
    )


def repeat_verdicts(sent: SentOrder, symbols: Sequence[str], orders: Iterable[Order]) -> SentOrder:
    """Return what is sent (N,) as it was judged when it was journaled, whatever holds now.

    Args:
        sent: What the simulator would send.
        symbols: N names.
        orders: Of the bar, as journaled; a denied one has the code before the colon of its reason.
    """
    order, denial = torch.zeros_like(sent.order), sent.denial.clone()
    for each in orders:
        lane = symbols.index(each.intent.symbol)
        if each.status is OrderStatus.DENIED:
            code = (each.reason or "").partition(":")[0]
            denial[lane] = int(_DENIALS.get(code, Denial.UNKNOWN_VALUE))
        else:
            order[lane] = sent.order[lane]
    return sent._replace(order=order, denial=denial)


def send_nothing(account: SessionAccount) -> SentOrder:
    """Return what is sent where nothing was decided: nothing, also by exits."""
    zeros, none = torch.zeros_like(account.units), torch.zeros_like(account.repeats)
    hold = torch.full_like(none, int(Action.HOLD))
    decision = Decision(zeros, hold, hold, none.bool(), account.smoothed, none)
    denial, forced = (torch.full_like(none, int(each)) for each in (Denial.NONE, ExitReason.NONE))
    return SentOrder(decision, zeros, denial, forced, zeros)
