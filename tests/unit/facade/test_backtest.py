"""`tb.backtest`: own strategies and rules on bars, figures with intervals, a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tradingbot as tb
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs import synthetic_world


def crossing(view: tb.MarketView, *, fast: int = 20, slow: int = 50) -> np.ndarray:
    if view.n_bars < slow:
        return np.zeros(len(view.symbols))
    return np.sign(view.close[:, -fast:].mean(axis=1) - view.close[:, -slow:].mean(axis=1))


def test_own_strategy_earns_what_the_rule_of_the_package_does(hourly: tb.Bars) -> None:
    result = tb.backtest(crossing, hourly, against=["sma_cross"], allow_short=True)

    (rule,) = result.against
    assert result.total_return != 0.0
    np.testing.assert_array_equal(result.played.equity, rule.played.equity)
    assert result.sharpe == rule.sharpe


@pytest.mark.parametrize("text", ["sma_cross:fast=5,slow=30", "sma_cross:fast_bars=5,slow_bars=30"])
def test_parameters_of_rules_act(text: str, hourly: tb.Bars) -> None:
    usual, short = tb.backtest("sma_cross", hourly), tb.backtest(text, hourly)

    assert short.figures.bars == usual.figures.bars + 20
    assert short.figures.performance.n_trades > usual.figures.performance.n_trades


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("sma_cross:fast=60", "fast must be below slow"),
        ("sma_cross:quick=3", "a parameter of rule sma_cross must be known, was 'quick'"),
        ("sma_cross:fast=3.5", "must be of kind int"),
        ("flat:x=1", "It has none"),
        ("sma_cros", "Did you mean 'sma_cross'"),
    ],
)
def test_wrong_names_and_parameters_are_refused(name: str, complaint: str, hourly: tb.Bars) -> None:
    with pytest.raises(ConfigError, match=complaint):
        tb.backtest(name, hourly)


def test_a_rule_loses_only_the_bars_it_needs(daily: tb.Bars) -> None:
    bars = len(daily)

    assert tb.backtest("buy_and_hold", daily).figures.bars == bars - 1
    assert tb.backtest("sma_cross:fast=5,slow=30", daily).figures.bars == bars - 30
    assert tb.backtest("trend_follower", daily).figures.bars == bars - 192
    assert tb.backtest("expert", daily).figures.bars == bars - 34
    together = tb.backtest("buy_and_hold", daily, against=["sma_cross:fast=5,slow=30"])
    assert {each.figures.bars for each in (together, *together.against)} == {bars - 30}


def test_strategy_sees_prices_features_and_its_position_until_the_bar(hourly: tb.Bars) -> None:
    seen: list[tb.MarketView] = []
    frame = hourly.frame.filter(hourly.frame["symbol"] == "SPY")

    def look(view: tb.MarketView) -> float:
        row = frame.row(view.bar, named=True)
        place = view.symbols.index("SPY")
        for name in ("open", "high", "low", "close", "volume", "vwap"):
            assert getattr(view, name).shape == (2, view.n_bars)
            assert getattr(view, name)[place, -1] == row[name]
        assert view.features["rsi_14"].shape == (2, view.n_bars)
        if view.bar > 200:
            assert 0.0 <= view.features["rsi_14"][place, -1] <= 100.0
            scaled = hourly.world.features[place, view.bar]
            assert view.scaled["signal"][place, -1] == np.float64(scaled[-1])
        seen.append(view)
        return 1.0 if view.bar % 2 else 0.0

    tb.backtest(look, hourly)

    assert [view.bar for view in seen[:3]] == [0, 1, 2]
    assert seen[0].position.tolist() == [0.0, 0.0]
    assert seen[2].position == pytest.approx([1.0, 1.0], abs=0.05)
    with pytest.raises(ValueError, match="read-only"):
        seen[-1].close[0, 0] = 1.0


def test_nothing_later_is_in_the_memory_of_a_view(hourly: tb.Bars) -> None:
    def peek(view: tb.MarketView) -> float:
        memory = view.close.base if view.close.base is not None else view.close
        assert np.isnan(memory[:, view.bar + 1 :]).all()
        return 0.0

    tb.backtest(peek, hourly, end="2025-05-01")


def tomorrow(view: tb.MarketView) -> np.ndarray:
    return np.sign(np.roll(view.close, -1, axis=1) - view.close)


def yesterday(view: tb.MarketView) -> np.ndarray:
    before = np.concatenate([view.close[:, :1], view.close[:, :-1]], axis=1)
    return np.where(view.close > before, 1.0, 0.0)


def test_vectorised_strategy_that_looks_ahead_is_refused(hourly: tb.Bars) -> None:
    tb.strategy(vectorised=True, name="ahead")(tomorrow)
    tb.strategy(vectorised=True, name="behind")(yesterday)

    with pytest.raises(DataError, match=r"strategy ahead must not look ahead.* at bar"):
        tb.backtest("ahead", hourly)
    assert tb.backtest("behind", hourly).figures.performance.n_trades > 10


def test_declared_function_is_traded_as_it_was_declared(hourly: tb.Bars) -> None:
    tb.strategy(vectorised=True, name="ahead")(tomorrow)
    tb.strategy(vectorised=True, name="behind", warm_up_bars=40)(yesterday)

    with pytest.raises(DataError, match=r"strategy ahead must not look ahead"):
        tb.backtest(tomorrow, hourly)
    with pytest.raises(DataError, match=r"strategy ahead must not look ahead"):
        tb.check_strategy(tomorrow, hourly)
    given, named = tb.backtest(yesterday, hourly), tb.backtest("behind", hourly)
    assert given.figures.bars == named.figures.bars == len(hourly) // 2 - 41
    assert given.sharpe == named.sharpe


class Breakout:
    """Remembers the highest close that it has seen."""

    def __init__(self, bars: int = 20) -> None:
        self.warm_up_bars, self.highest = bars, np.nan

    def __call__(self, view: tb.MarketView) -> np.ndarray:
        self.highest = np.fmax(self.highest, view.close[:, -2])
        return np.where(view.close[:, -1] > self.highest, 1.0, np.nan)


def test_class_begins_anew_in_every_backtest(hourly: tb.Bars) -> None:
    once, again = tb.backtest(Breakout, hourly), tb.backtest(Breakout, hourly)
    mine = Breakout(bars=20)
    given = tb.backtest(mine, hourly)

    assert np.isnan(mine.highest)
    assert once.figures.bars == len(hourly) // 2 - 21
    for other in (again, given):
        np.testing.assert_array_equal(once.played.equity, other.played.equity)


def test_state_that_outlives_a_backtest_is_found(hourly: tb.Bars) -> None:
    calls: list[int] = []

    def counts(view: tb.MarketView) -> float:
        calls.append(view.bar)
        return 1.0 if len(calls) % 100 < 50 else 0.0

    with pytest.raises(DataError, match="nor change from call to call"):
        tb.check_strategy(counts, hourly)
    tb.check_strategy(crossing, hourly)
    tb.check_strategy(Breakout, hourly)


def fails(view: tb.MarketView) -> float:
    return 1.0 / (view.bar - 5)


@pytest.mark.parametrize(
    ("strategy", "complaint"),
    [
        (
            fails,
            r"strategy fails must decide at bar 5, was ZeroDivisionError.*test_backtest.py:\d+",
        ),
        (lambda view: 2.0, r"targets must lie in \[-1, 1\].*was 2"),
        (lambda view: [0.0] * 3, "or numbers of shape"),
        (lambda view: "buy", "targets must be one number"),
        (lambda view: view.features["rsi_15"], "Did you mean 'rsi_14'"),
        (lambda view, other: 0.0, "a strategy must take one argument"),
        (lambda: 0.0, "a strategy must take one argument"),
    ],
)
def test_strategy_that_cannot_be_used_is_refused_in_one_line(
    strategy: object, complaint: str, hourly: tb.Bars
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        tb.backtest(strategy, hourly, end="2025-05-01")  # type: ignore[arg-type]


def test_costs_delay_days_and_seed_act(hourly: tb.Bars) -> None:
    usual = tb.backtest("random", hourly)

    assert tb.backtest("random", hourly, costs="free").total_return > usual.total_return
    assert tb.backtest("random", hourly, costs=50.0).total_return < usual.total_return
    assert tb.backtest("random", hourly, delay_bars=3).total_return != usual.total_return
    assert tb.backtest("random", hourly, seed=5).total_return != usual.total_return
    part = tb.backtest("random", hourly, start="2025-06-02", end="2025-06-30")
    assert (part.figures.first_day, part.figures.last_day) == ("2025-06-02", "2025-06-30")
    with pytest.raises(ConfigError, match="0 to 500 basis points"):
        tb.backtest("random", hourly, costs=501)


def test_world_of_the_library_needs_no_bars_per_year(hourly: tb.Bars) -> None:
    world = synthetic_world("planted", n_symbols=2, n_bars=700, seed=1)

    result = tb.backtest("sma_cross", world)

    assert result.figures.bars_per_year == pytest.approx(7 * 5 * 365.25 / 7, rel=0.03)
    assert result.figures.synthetic


def test_too_few_bars_are_refused(daily: tb.Bars) -> None:
    with pytest.raises(DataError, match="bars after the warm-up"):
        tb.backtest("sma_cross:fast=5,slow=600", daily)


def test_summary_repr_trades_and_pictures(hourly: tb.Bars, tmp_path: Path) -> None:
    result = tb.backtest("macd", hourly, against=["buy_and_hold", "buy_and_hold"])

    lines = result.summary().splitlines()
    assert [line.split("  ")[0] for line in lines[1:4]] == [
        "macd",
        "buy_and_hold",
        "buy_and_hold 3",
    ]
    assert "synthetic" in lines[-1]
    assert repr(result).startswith("<Backtest macd: Sharpe ")
    assert repr(result).endswith("synthetic>")
    closed = result.trades.filter(~result.trades["is_open"])
    assert closed.height == result.figures.performance.n_trades
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.html", b"<!doctype html>")):
        path = result.plot(tmp_path / name)
        assert path.read_bytes().startswith(start)
    page = (tmp_path / "a.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "synthetic" in page
    with pytest.raises(ConfigError, match=r"the file must end in .png, .svg, .html"):
        result.plot(tmp_path / "a.pdf")
