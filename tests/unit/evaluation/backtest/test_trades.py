"""Trades rebuilt from a handful of fills."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.backtest.trades import Fills, Trades, executions, trades_of

CLOSED_AT = np.arange(10, dtype=np.int64) * 1_000
Row = tuple[int, int, float, float, float]
"""Step, lane, units, price, units left."""


def filled(rows: list[Row], *, reason: int = 0) -> Fills:
    """Fills of which 1 % is a fee and 1 per unit slippage."""
    step, lane, units, price, left = np.array(rows, dtype=float).reshape(-1, 5).T
    return Fills(
        step.astype(np.int64),
        lane.astype(np.int64),
        units,
        price,
        0.01 * np.abs(units) * price,
        np.abs(units),
        left,
        np.full(len(step), reason),
    )


def rebuilt(rows: list[Row], marks: list[float], *, n_symbols: int = 1, reason: int = 0) -> Trades:
    """Trades of such fills."""
    fills = filled(rows, reason=reason)
    return trades_of(fills, np.array(marks), CLOSED_AT, n_symbols=n_symbols)


def test_trade_runs_from_flat_to_flat_over_several_fills() -> None:
    trades = rebuilt(
        [
            *[(1, 0, 2, 10, 2), (3, 0, 2, 12, 4), (4, 0, -1, 15, 3), (6, 0, -3, 13, 0)],
            *[(8, 0, 1, 20, 1), (3, 1, 1, 50, 1)],
        ],
        [25, 40],
    )

    assert len(trades) == 3
    assert trades.policy.tolist() == [0, 0, 1]
    assert trades.symbol.tolist() == [0, 0, 0]
    assert trades.side.tolist() == [1, 1, 1]
    assert trades.is_open.tolist() == [False, True, True]
    assert trades.entered_at.tolist() == [1_000, 8_000, 3_000]
    assert trades.exited_at.tolist() == [6_000, 9_000, 9_000]
    assert trades.bars.tolist() == [5, 2, 7]
    assert trades.units.tolist() == [4.0, 1.0, 1.0]
    assert trades.entry_price.tolist() == [11.0, 20.0, 50.0]
    assert trades.exit_price.tolist() == [13.5, 25.0, 40.0]  # (15 + 3 · 13) / 4
    assert trades.commission_ccy == pytest.approx([0.98, 0.2, 0.5])
    assert trades.slippage_ccy == pytest.approx([8.0, 1.0, 1.0])
    assert trades.pnl_ccy == pytest.approx([54.0 - 44.0 - 0.98, 5.0 - 0.2, -10.0 - 0.5])


def test_short_earns_when_the_price_falls() -> None:
    trades = rebuilt([(1, 0, -2, 10, -2), (4, 0, 2, 7, 0), (5, 0, -1, 8, -1)], [9])

    assert trades.side.tolist() == [-1, -1]
    assert trades.units.tolist() == [2.0, 1.0]
    assert trades.entry_price.tolist() == [10.0, 8.0]
    assert trades.exit_price.tolist() == [7.0, 9.0]
    assert trades.pnl_ccy == pytest.approx([6.0 - 0.34, -1.0 - 0.08])
    assert trades.is_open.tolist() == [False, True]


def test_fill_that_turns_a_position_is_two_trades() -> None:
    trades = rebuilt([(1, 0, 2, 10, 2), (3, 0, -6, 12, -4), (5, 0, 4, 11, 0)], [9])

    assert trades.side.tolist() == [1, -1]
    assert trades.units.tolist() == [2.0, 4.0]
    assert trades.entered_at.tolist() == [1_000, 3_000]
    assert trades.exited_at.tolist() == [3_000, 5_000]
    # A third of the turning fill's fee of 0.72 closes the long, the rest opens the short.
    assert trades.commission_ccy == pytest.approx([0.2 + 0.24, 0.48 + 0.44])
    assert trades.slippage_ccy == pytest.approx([2.0 + 2.0, 4.0 + 4.0])
    assert trades.pnl_ccy == pytest.approx([4.0 - 0.44, 4.0 - 0.92])


@pytest.mark.parametrize(
    ("reason", "is_within_bar"),
    [
        *((ExitReason.STOP_LOSS, True), (ExitReason.TAKE_PROFIT, True)),
        *((ExitReason.DELISTED, True), (ExitReason.NONE, False)),
        *((ExitReason.POSITION_LOSS, False), (ExitReason.MAX_HOLDING, False)),
        *((ExitReason.EMERGENCY, False), (ExitReason.MARGIN_CALL, False)),
    ],
)
def test_bar_of_an_exit_counts_where_the_exit_is_within_it(
    reason: ExitReason, *, is_within_bar: bool
) -> None:
    at_once = rebuilt([(2, 0, 1, 10, 1), (2, 0, -1, 9, 0)], [9], reason=int(reason))
    later = rebuilt([(3, 0, 1, 10, 1), (5, 0, -1, 11, 0)], [9], reason=int(reason))

    assert (at_once.reason.tolist(), later.reason.tolist()) == ([int(reason)], [int(reason)])
    assert at_once.bars.tolist() == [int(is_within_bar)]
    assert later.bars.tolist() == [2 + is_within_bar]
    assert not at_once.is_open.any()


def test_capital_of_a_trade_is_the_most_that_was_in_it_at_once() -> None:
    trades = rebuilt(
        [
            # 20, then 20 + 24, then three quarters of 44, then nothing.
            *[(1, 0, 2, 10, 2), (3, 0, 2, 12, 4), (4, 0, -1, 15, 3), (6, 0, -3, 13, 0)],
            # 10 units in and out again and again: never more than 10 · 11 are in it.
            *[(1, 1, 10, 10, 10), (2, 1, -9, 12, 1), (3, 1, 9, 100 / 9, 10), (4, 1, -9, 12, 1)],
            *[(5, 1, 4, 12, 5), (6, 1, -5, 12, 0)],
            # A short by what it was sold for.
            *[(2, 2, -3, 10, -3), (4, 2, 3, 20, 0)],
        ],
        [1, 1, 1],
    )

    assert trades.committed_ccy == pytest.approx([44.0, 110.0, 30.0])
    assert trades.return_frac == pytest.approx(trades.pnl_ccy / [44.0, 110.0, 30.0])
    assert (trades.units * trades.entry_price)[1] == pytest.approx(248.0)


def test_capital_of_a_turned_position_is_that_of_each_side() -> None:
    trades = rebuilt([(1, 0, 2, 10, 2), (3, 0, -6, 12, -4), (5, 0, 4, 11, 0)], [9])

    assert trades.committed_ccy == pytest.approx([20.0, 48.0])


def test_executions_name_the_trade_of_every_fill() -> None:
    fills = filled(
        [(1, 0, 2, 10, 2), (3, 0, -6, 12, -4), (5, 0, 4, 11, 0), (2, 1, 1, 50, 1), (4, 1, 1, 9, 2)]
    )

    rows, trade = executions(fills)

    assert trade.tolist() == [0, 0, 1, 1, 2, 2]  # what turns a position ends one and begins one
    assert rows.units.tolist() == [2.0, -2.0, -4.0, 4.0, 1.0, 1.0]
    assert rows.price.tolist() == [10.0, 12.0, 12.0, 11.0, 50.0, 9.0]


def test_no_fills_make_no_trades() -> None:
    trades = rebuilt([], [9])

    assert len(trades) == 0
    assert len(trades.committed_ccy) == 0
    assert trades.pnl_ccy.sum() == 0.0


def test_select_keeps_rows_of_every_column() -> None:
    trades = rebuilt([(1, 0, 1, 10, 1), (1, 1, 2, 20, 2)], [10, 20], n_symbols=2)

    second = trades.select(trades.symbol == 1)

    assert len(second) == 1
    assert (second.units[0], second.entry_price[0], second.policy[0]) == (2.0, 20.0, 0)
