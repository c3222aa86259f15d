"""Figures of returns: hand-made answers, the zoo, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixtures.return_series import degenerate_series
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.metrics import returns as m

YEAR = {"bars_per_year": 252}
OF_RETURNS = [
    m.total_return,
    lambda r: m.annual_return(r, **YEAR),
    lambda r: m.annual_volatility(r, **YEAR),
    lambda r: m.annual_sharpe(r, **YEAR),
    lambda r: m.annual_sortino(r, **YEAR),
    lambda r: m.annual_calmar(r, **YEAR),
    m.max_drawdown,
    m.max_drawdown_bars,
    m.hit_rate,
    m.value_at_risk,
    m.expected_shortfall,
]


def test_hand_made_path_has_its_figures() -> None:
    returns = [0.10, -0.50, 0.20, 0.60, 0.30]  # worth 1.1, 0.55, 0.66, 1.056, 1.3728

    assert m.wealth_of(returns) == pytest.approx([1, 1.1, 0.55, 0.66, 1.056, 1.3728])
    assert m.total_return(returns) == pytest.approx(0.3728)
    assert m.annual_return(returns, bars_per_year=10) == pytest.approx(1.3728**2 - 1)
    assert m.max_drawdown(returns) == pytest.approx(0.5)
    assert m.max_drawdown_bars(returns) == 3
    assert m.hit_rate(returns) == 0.8
    assert m.annual_calmar(returns, bars_per_year=5) == pytest.approx(0.3728 / 0.5)


def test_drawdown_counts_from_the_start_and_until_the_end() -> None:
    assert m.max_drawdown([-0.1, 0.05]) == pytest.approx(0.1)
    assert m.max_drawdown_bars([-0.1, 0.05, 0.01]) == 3
    assert m.max_drawdown_bars([0.1, 0.0, 0.0]) == 0


@pytest.mark.parametrize("measure", OF_RETURNS)
def test_no_bar_has_no_figure(measure) -> None:
    assert math.isnan(measure([]))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("measure", OF_RETURNS)
def test_number_that_is_not_finite_is_refused(measure, bad: float) -> None:
    with pytest.raises(DataError, match=r"returns must be finite.* at 2"):
        measure([0.1, 0.2, bad, 0.1])


@pytest.mark.parametrize("measure", OF_RETURNS)
@pytest.mark.parametrize("name", [name for name in degenerate_series() if name != "huge"])
def test_figure_of_the_zoo_is_never_infinite(measure, name: str) -> None:
    assert not math.isinf(measure(degenerate_series()[name]))


def test_ruin_is_the_end() -> None:
    ruined = degenerate_series()["ruin"]

    assert m.total_return(ruined) == -1.0
    assert m.annual_return(ruined, **YEAR) == -1.0
    assert m.max_drawdown(ruined) == 1.0
    assert m.wealth_of([0.5, -1.2, 9.0]).tolist() == [1.0, 1.5, 0.0, 0.0]
    assert m.annual_calmar(ruined, **YEAR) == -1.0
    assert m.max_drawdown_bars(ruined) == 6


def test_nothing_moving_has_volatility_zero_and_no_ratio() -> None:
    for name in ("zeros", "constant"):
        still = degenerate_series()[name]
        assert m.annual_volatility(still, **YEAR) == 0.0
        assert math.isnan(m.annual_sharpe(still, **YEAR))
        assert math.isnan(m.annual_sortino(still, **YEAR))
    assert math.isnan(m.annual_volatility([0.1], **YEAR))


def test_wins_only_have_no_sortino_and_losses_only_a_negative_one() -> None:
    zoo = degenerate_series()
    assert math.isnan(m.annual_sortino(zoo["all_wins"], **YEAR))
    assert math.isnan(m.annual_calmar(zoo["all_wins"], **YEAR))
    assert m.annual_sortino(zoo["all_losses"], **YEAR) < 0.0
    assert m.hit_rate(zoo["all_losses"]) == 0.0


def test_ratios_grow_with_the_root_of_the_year() -> None:
    returns = [0.01, -0.005, 0.007]
    for measure in (m.annual_sharpe, m.annual_sortino, m.annual_volatility):
        one, four = (measure(returns, bars_per_year=bars) for bars in (100, 400))
        assert four == pytest.approx(2.0 * one)


def test_target_of_sortino_and_cash_of_sharpe_are_per_bar() -> None:
    returns = np.array([0.01, -0.005, 0.007])
    assert m.annual_sharpe(returns, risk_free_frac=0.002, **YEAR) == pytest.approx(
        m.annual_sharpe(returns - 0.002, **YEAR)
    )
    assert m.annual_sortino(returns, target_frac=0.002, **YEAR) == pytest.approx(
        m.annual_sortino(returns - 0.002, **YEAR)
    )


def test_few_huge_bars_do_not_overflow_a_year() -> None:
    assert math.isnan(m.annual_return([5.0], bars_per_year=1764))


def test_tail_holds_the_bar_at_its_quantile() -> None:
    returns = np.arange(-5.0, 6.0) / 100.0
    assert m.value_at_risk(returns, level=0.9) == pytest.approx(0.04)
    assert m.expected_shortfall(returns, level=0.9) == pytest.approx(0.045)
    assert m.value_at_risk([0.01] * 30) == pytest.approx(-0.01)
    uneven = [-0.0237, -0.0111, -0.0053, 0.0, 0.0029, 0.0151]
    assert m.expected_shortfall(uneven, level=0.8) == pytest.approx((0.0237 + 0.0111) / 2.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_level_of_the_tail_is_a_share(level: float) -> None:
    with pytest.raises(ConfigError, match="level must lie between 0 and 1"):
        m.value_at_risk([0.1], level=level)


@pytest.mark.parametrize("bars", [0.0, -252.0, math.inf, math.nan])
def test_year_without_bars_is_refused(bars: float) -> None:
    for measure in (m.annual_return, m.annual_volatility, m.annual_sharpe, m.annual_sortino):
        with pytest.raises(ConfigError, match="bars_per_year must be above 0"):
            measure([0.1, 0.2], bars_per_year=bars)


def test_returns_of_equity_end_with_ruin() -> None:
    equity = np.array([[1.0, 1.0], [1.1, 0.0], [0.55, 0.0]])
    assert m.simple_returns(equity) == pytest.approx(np.array([[0.1, -1.0], [-0.5, 0.0]]))
    assert m.drawdown_of(equity) == pytest.approx(np.array([[0, 0], [0, 1.0], [0.5, 1.0]]))
    assert m.simple_returns([1.0]).shape == (0,)


@pytest.mark.parametrize("equity", [[1.0, math.nan], [1.0, math.inf], [], 1.0])
def test_equity_that_is_not_finite_is_refused(equity) -> None:
    for measure in (m.simple_returns, m.drawdown_of):
        with pytest.raises(DataError, match="equity must have a finite worth"):
            measure(equity)


def test_drawdown_from_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="begin above 0"):
        m.drawdown_of([0.0, 1.0])


def test_alpha_and_beta_are_those_of_a_line() -> None:
    market = np.array([0.01, -0.02, 0.03, 0.005, -0.01])
    mine = 0.0002 + 1.5 * market

    assert m.beta(mine, market) == pytest.approx(1.5)
    assert m.annual_alpha(mine, market, **YEAR) == pytest.approx(0.0002 * 252)
    assert m.information_ratio(market + 0.001, market, **YEAR) != 0.0
    assert math.isnan(m.information_ratio(market, market, **YEAR))
    assert m.annual_excess_return(market, market, **YEAR) == 0.0
    assert m.beta(mine * 1e-170, market * 1e-170) == pytest.approx(1.5)


def test_reference_that_does_not_move_has_no_beta() -> None:
    assert math.isnan(m.beta([0.1, 0.2], [0.1, 0.1]))
    assert math.isnan(m.annual_alpha([0.1, 0.2], [0.0, 0.0], **YEAR))
    with pytest.raises(DataError, match="same bars, was 2 and 3"):
        m.beta([0.1, 0.2], [0.1, 0.1, 0.2])
