"""The tear sheet of a backtest, beside pandas on the same numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fixtures.example_backtest import example_backtest
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.trades import Fills, trades_of
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.metrics import returns
from tradingbot.evaluation.performance.tear_sheet.measure import (
    Reference,
    exposure_course,
    price_reference,
    tear_sheet_of,
)
from tradingbot.evaluation.performance.tear_sheet.price_course import price_course
from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.performance.tear_sheet.trades import trade_log


@pytest.fixture(scope="module")
def played() -> Backtest:
    return example_backtest(n_bars=1_400)


@pytest.fixture(scope="module")
def sheet(played: Backtest) -> TearSheet:
    return tear_sheet_of(played)


def test_months_compound_to_the_whole_return_beside_the_reference(
    played: Backtest, sheet: TearSheet
) -> None:
    market = price_reference(played)
    assert market is not None

    mine = math.prod(1 + month.return_frac for month in sheet.months)
    theirs = math.prod(1 + month.reference_frac for month in sheet.months)

    assert mine == pytest.approx(played.portfolio[-1])
    assert theirs == pytest.approx((played.close[-1] / played.close[0]).mean())  # type: ignore[index]
    assert sum(month.bars for month in sheet.months) == played.n_bars
    assert sheet.reference == market.name


def test_bars_belong_to_the_day_and_month_of_their_close(
    played: Backtest, sheet: TearSheet
) -> None:
    closes = pd.to_datetime(played.closed_at[1:], unit="us")
    grown = pd.Series(1 + played.portfolio_returns, closes)
    months = grown.groupby(closes.strftime("%Y-%m"))
    days = grown.groupby(closes.strftime("%Y-%m-%d")).prod() - 1

    assert [month.bars for month in sheet.months] == months.size().tolist()
    np.testing.assert_allclose(
        [month.return_frac for month in sheet.months], months.prod() - 1, atol=1e-12
    )
    assert (sheet.first_day, sheet.last_day) == (days.index[0], days.index[-1])
    assert sheet.tails.best[0].day == days.idxmax()
    assert sheet.tails.best[0].return_frac == pytest.approx(days.max())


def test_drawdown_is_over_on_the_first_day_at_its_peak_again(played: Backtest) -> None:
    """Two falls, each made up for by the first bar of a later day."""
    growth = np.ones((played.n_bars, 1))
    growth[[9, 13, 30, 34]] = [[0.9], [1.2], [0.8], [1.3]]
    worth = np.concatenate([np.ones((1, 1)), np.cumprod(growth, axis=0)])
    stamps = pd.to_datetime(played.closed_at, unit="us")

    found = tear_sheet_of(replace(played, equity=np.repeat(worth, 3, axis=1))).drawdowns

    for row, fell, rose in zip(found, (31, 10), (35, 14), strict=True):
        assert stamps[rose].date() > stamps[rose - 1].date()
        assert row.recovered_day == str(stamps[rose].date())
        assert (row.trough_day, row.recovery_bars) == (str(stamps[fell].date()), rose - fell)


def test_deepest_drawdown_is_the_maximum_and_its_days_are_those_of_pandas(
    played: Backtest, sheet: TearSheet
) -> None:
    worth = pd.Series(played.portfolio, pd.to_datetime(played.closed_at, unit="us"))
    fallen = 1 - worth / worth.cummax()

    first = sheet.drawdowns[0]

    assert first.depth_frac == pytest.approx(returns.max_drawdown(played.portfolio_returns))
    assert first.trough_day == str(fallen.idxmax().date())
    assert first.peak_day == str(worth[: fallen.idxmax()].idxmax().date())
    assert sheet.under_water_frac == pytest.approx((fallen[1:] > 0).mean())
    depths = [row.depth_frac for row in sheet.drawdowns]
    assert depths == sorted(depths, reverse=True)


def test_band_of_unchanged_windows_holds_most_windows_of_unchanged_returns() -> None:
    inside = []
    for seed in range(8):
        found = tear_sheet_of(example_backtest(("AAA",), n_bars=900, seed=seed)).rolling
        assert found is not None
        assert found.unchanged_sharpe.covers(found.unchanged_sharpe.estimate)
        inside += [found.unchanged_sharpe.covers(each) for each in found.sharpe_annual]

    assert np.mean(inside) > 0.85  # 95 % in the long run; windows overlap, so that luck is coarse


def test_exposure_weighs_accounts_by_their_worth(played: Backtest, sheet: TearSheet) -> None:
    days = pd.to_datetime(played.closed_at[1:], unit="us").date
    money = pd.DataFrame(played.position_frac * played.equity[1:]).groupby(days).last()
    worth = pd.DataFrame(played.equity[1:]).groupby(days).last().sum(axis=1)

    np.testing.assert_allclose(sheet.exposure.net_frac, money.sum(axis=1) / worth)
    np.testing.assert_allclose(sheet.exposure.gross_frac, money.abs().sum(axis=1) / worth)
    np.testing.assert_allclose(sheet.exposure.held_frac, (money != 0).mean(axis=1))
    assert sheet.exposure.days == tuple(str(day) for day in money.index)
    before = played.equity[:-1]
    traded = pd.Series((played.turnover_frac * before).sum(1) / before.sum(1)).groupby(days).sum()
    np.testing.assert_allclose(sheet.exposure.turnover_frac, traded, atol=1e-12)


def test_shorts_add_to_gross_and_take_from_net_exposure(played: Backtest) -> None:
    sides = np.broadcast_to([0.5, -0.25, 0.0], played.position_frac.shape)
    even = replace(played, position_frac=sides, equity=np.ones_like(played.equity))

    found = exposure_course(even)

    np.testing.assert_allclose(found.gross_frac, 0.25)
    np.testing.assert_allclose(found.net_frac, 0.25 / 3)


def test_hours_and_weekdays_divide_all_bars_by_the_clock_of_the_exchange(
    played: Backtest, sheet: TearSheet
) -> None:
    stamps = pd.to_datetime(played.closed_at[1:] - 1, unit="us", utc=True)
    local = stamps.tz_convert("America/New_York")
    by_hour = pd.Series(1e4 * played.portfolio_returns).groupby(local.hour).mean()
    by_day = pd.Series(1e4 * played.portfolio_returns).groupby(local.day_of_week).mean()

    hours = [row.net_bps.estimate for row in sheet.clock.hours]
    np.testing.assert_allclose(hours, by_hour)
    np.testing.assert_allclose([row.net_bps.estimate for row in sheet.clock.weekdays], by_day)
    assert [row.name for row in sheet.clock.weekdays] == ["Mon", "Tue", "Wed", "Thu", "Fri"]
    for rows in (sheet.clock.hours, sheet.clock.weekdays):
        assert sum(row.bars for row in rows) == played.n_bars
        assert sum(row.total_frac for row in rows) == pytest.approx(played.portfolio_returns.sum())
        assert all(row.net_bps.low <= row.net_bps.estimate <= row.net_bps.high for row in rows)


def test_holding_times_count_every_closed_trade_once(played: Backtest, sheet: TearSheet) -> None:
    closed = played.trades.select(~played.trades.is_open)
    found = sheet.holding

    assert sum(found.won) == int((closed.pnl_ccy > 0).sum())
    assert sum(found.won) + sum(found.lost) == len(closed)
    assert sum(found.pnl_ccy) == pytest.approx(closed.pnl_ccy.sum())
    assert found.median_bars == np.median(closed.bars)
    assert found.edges_bars[-1] > found.longest_bars == closed.bars.max()


def test_trade_list_beyond_its_size_keeps_the_latest_and_the_largest(played: Backtest) -> None:
    every, some = trade_log(played), trade_log(played, most=20)

    assert len(every.rows) == every.n_trades == some.n_trades == len(played.trades)
    assert len(some.rows) == 20
    largest = max(every.rows, key=lambda row: abs(row.pnl_ccy))
    latest = max(every.rows, key=lambda row: row.exited_at)
    assert {largest, latest} <= set(some.rows) <= set(every.rows)
    assert every.won_ccy + every.lost_ccy == pytest.approx(
        played.trades.pnl_ccy[~played.trades.is_open].sum()
    )


def test_won_and_lost_are_those_of_closed_trades_alone(played: Backtest) -> None:
    pnl = np.where(np.arange(len(played.trades)) % 2 == 0, -3.0, 5.0)
    is_open = np.arange(len(played.trades)) < 4  # two that lose, two that win
    log = trade_log(replace(played, trades=replace(played.trades, pnl_ccy=pnl, is_open=is_open)))

    assert log.n_open == 4
    assert log.won_ccy == 5.0 * (log.n_trades // 2 - 2)
    assert log.lost_ccy == -3.0 * ((log.n_trades + 1) // 2 - 2)


def test_price_course_keeps_the_extremes_and_marks_entry_and_exit(played: Backtest) -> None:
    found = price_course(played, 1)
    close = played.close[:, 1]  # type: ignore[index]

    first = found.places[0]
    assert min(found.price) == close[first:].min()
    assert max(found.price) == close[first:].max()
    assert found.symbol == "BBB"
    assert 2 * found.n_trades - 1 <= len(found.marks) == found.n_fills <= 2 * found.n_trades
    entry, exit_ = found.marks[:2]
    assert (entry.part, exit_.part) == ("entry", "exit")
    assert entry.buys
    assert not exit_.buys
    assert entry.price == pytest.approx(close[int(entry.place) - 1])  # filled at the next open


def scaled_in(played: Backtest, pieces: int) -> Backtest:
    """One long of BBB that is bought by `pieces` fills and sold by as many, and a short after."""
    assert played.close is not None
    step = np.append(np.arange(1, 2 * pieces + 1), [2 * pieces + 5])
    units = np.append(np.repeat([1.0, -1.0], pieces), [-3.0])
    units[pieces // 2] = 2.0  # the largest add
    units[pieces + 1] = -2.0
    nothing = np.zeros(len(step))
    fills = Fills(
        *(step, np.ones(len(step), np.int64), units, 100.0 + step),
        *(nothing, nothing, np.cumsum(units), nothing.astype(np.int64)),
    )
    trades = trades_of(fills, played.close[-1], played.closed_at, n_symbols=3)
    return replace(played, fills=fills, trades=trades)


def test_price_course_marks_every_fill_at_its_bar_and_price(played: Backtest) -> None:
    found = price_course(scaled_in(played, 3), 1)

    drawn = [(each.place, each.price, each.units, each.part, each.buys) for each in found.marks]
    assert drawn == [
        (1, 101.0, 1.0, "entry", True),
        (2, 102.0, 2.0, "add", True),
        (3, 103.0, 1.0, "add", True),
        (4, 104.0, 1.0, "partial exit", False),
        (5, 105.0, 2.0, "partial exit", False),
        (6, 106.0, 1.0, "exit", False),
        (11, 111.0, 3.0, "entry", False),
    ]
    assert (found.n_fills, found.n_trades, found.of_trades) == (7, 2, 2)
    assert found.marks[1].hint.endswith("long add, bought 2 at 102.00")
    assert "long exit, sold 1 at 106.00; the trade made +" in found.marks[5].hint


def test_price_course_of_very_many_fills_keeps_ends_of_trades_and_the_largest(
    played: Backtest,
) -> None:
    found = price_course(scaled_in(played, 400), 1)

    parts = [each.part for each in found.marks]
    assert found.n_fills == 801
    assert len(parts) == 300
    assert (parts.count("entry"), parts.count("exit")) == (2, 1)
    assert [each.units for each in found.marks if each.units == 2.0] == [2.0, 2.0]
    assert [each.place for each in found.marks] == sorted(each.place for each in found.marks)


def test_return_of_a_trade_is_on_the_most_that_was_in_it_at_once(played: Backtest) -> None:
    churned = scaled_in(played, 3)

    first = trade_log(churned).rows[0]

    assert first.committed_ccy == pytest.approx(101 + 2 * 102 + 103)
    assert first.return_frac == pytest.approx(first.pnl_ccy / first.committed_ccy)


def test_tear_sheet_is_read_back_as_it_was_written(sheet: TearSheet) -> None:
    plain = json.loads(json.dumps(to_plain(sheet)))

    assert to_plain(from_plain(TearSheet, plain)) == plain


def test_account_that_never_trades_has_a_sheet_without_risk(played: Backtest) -> None:
    idle = replace(
        played,
        equity=np.ones_like(played.equity),
        position_frac=np.zeros_like(played.position_frac),
        turnover_frac=np.zeros_like(played.turnover_frac),
        trades=played.trades.select(np.zeros(len(played.trades), dtype=bool)),
    )

    found = tear_sheet_of(idle)

    assert found.drawdowns == ()
    assert found.tails.counts == ()
    assert found.prices == ()
    assert found.trades.rows == ()
    assert found.rolling is not None
    assert math.isnan(found.rolling.unchanged_sharpe.estimate)
    assert {row.net_bps.estimate for row in found.clock.hours} == {0.0}


def test_short_period_has_no_windows_and_a_given_reference_is_kept() -> None:
    played = example_backtest(n_bars=50)
    market = Reference("SPY", np.full(50, 1e-4))

    found = tear_sheet_of(played, market)

    assert found.rolling is None
    assert found.reference == "SPY"
    assert found.months[0].reference_frac == pytest.approx(1.0001 ** found.months[0].bars - 1)
