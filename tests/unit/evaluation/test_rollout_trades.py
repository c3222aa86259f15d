"""Trades rebuilt from a handful of fills."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.rollout_trades import FillLog, trades_of
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import Advanced
from tradingbot.market.ledger import Fill, no_fill

CLOSED_AT = np.arange(10, dtype=np.int64) * 1_000


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def accounts(units: torch.Tensor, mark: torch.Tensor) -> Account:
    opened = open_accounts(1_000.0, torch.zeros(len(units), dtype=torch.int32), mark)
    return opened._replace(units=units)


def advanced(
    before: torch.Tensor,
    fill: torch.Tensor,
    price: torch.Tensor,
    *,
    stopped: torch.Tensor | None = None,
    reason: int = 0,
) -> Advanced:
    """One step in which `fill` is executed at `price`, 1 % of it a fee, bases 1 below the price."""
    nothing = no_fill(fill)

    def executed(units: torch.Tensor) -> Fill:
        filled = units != 0
        return Fill(
            units,
            torch.where(filled, price, 0.0),
            torch.where(filled, price - 1.0, 0.0),
            0.01 * units.abs() * price,
        )

    later = nothing if stopped is None else executed(stopped)
    after = before + fill + later.units
    count = len(fill)
    return Advanced(
        accounts(before, price), accounts(after, price), None, fill, executed(fill), later,  # type: ignore[arg-type]
        exit_reason=torch.full((count,), reason, dtype=torch.int32),
        denial=torch.zeros(count, dtype=torch.int32),
        terminated=torch.zeros(count, dtype=torch.bool),
        truncated=torch.zeros(count, dtype=torch.bool),
    )  # fmt: skip


def test_trade_runs_from_flat_to_flat_over_several_fills() -> None:
    log, zero = FillLog(), 0.0
    log.add(1, advanced(numbers(0, 0), numbers(2, zero), numbers(10, 50)))
    log.add(3, advanced(numbers(2, 0), numbers(2, 1), numbers(12, 50)))
    log.add(4, advanced(numbers(4, 1), numbers(-1, zero), numbers(15, 50)))
    log.add(6, advanced(numbers(3, 1), numbers(-3, zero), numbers(13, 50)))
    log.add(8, advanced(numbers(0, 1), numbers(1, zero), numbers(20, 50)))

    trades = trades_of(log, accounts(numbers(1, 1), numbers(25, 40)), CLOSED_AT, n_symbols=1)

    assert len(trades) == 3
    assert trades.policy.tolist() == [0, 0, 1]
    assert trades.symbol.tolist() == [0, 0, 0]
    assert trades.is_open.tolist() == [False, True, True]
    assert trades.entered_at.tolist() == [1_000, 8_000, 3_000]
    assert trades.left_at.tolist() == [6_000, 9_000, 9_000]
    assert trades.bars.tolist() == [5, 2, 7]
    assert trades.units.tolist() == [4.0, 1.0, 1.0]
    assert trades.entry_price.tolist() == [11.0, 20.0, 50.0]
    assert trades.exit_price.tolist() == [13.5, 25.0, 40.0]  # (15 + 3 · 13) / 4
    assert trades.commission_ccy == pytest.approx([0.98, 0.2, 0.5])
    assert trades.slippage_ccy == pytest.approx([8.0, 1.0, 1.0])
    assert trades.pnl_ccy == pytest.approx([54.0 - 44.0 - 0.98, 5.0 - 0.2, -10.0 - 0.5])


def test_stop_in_the_bar_of_entry_is_a_trade_of_one_bar() -> None:
    log = FillLog()
    stop = int(ExitReason.STOP_LOSS)
    bought = advanced(numbers(0), numbers(1), numbers(10), stopped=numbers(-1), reason=stop)
    log.add(2, bought)
    log.add(3, advanced(numbers(0), numbers(1), numbers(10)))
    log.add(5, advanced(numbers(1), numbers(-1), numbers(11)))

    trades = trades_of(log, accounts(numbers(0), numbers(9)), CLOSED_AT, n_symbols=1)

    assert trades.reason.tolist() == [stop, 0]
    assert trades.bars.tolist() == [1, 2]
    assert trades.is_open.tolist() == [False, False]


def test_no_fills_make_no_trades() -> None:
    trades = trades_of(FillLog(), accounts(numbers(0), numbers(9)), CLOSED_AT, n_symbols=1)

    assert len(trades) == 0
    assert trades.pnl_ccy.sum() == 0.0


def test_select_keeps_rows_of_every_column() -> None:
    log = FillLog()
    log.add(1, advanced(numbers(0, 0), numbers(1, 2), numbers(10, 20)))
    trades = trades_of(log, accounts(numbers(1, 2), numbers(10, 20)), CLOSED_AT, n_symbols=2)

    second = trades.select(trades.symbol == 1)

    assert len(second) == 1
    assert (second.units[0], second.entry_price[0], second.policy[0]) == (2.0, 20.0, 0)
