"""The market factor: who it is made of, what betas may see, and what missing bars do."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.factor import BarReturns, bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError

NAMES = ("AAA", "BBB", "CCC", "SPY")
CLOSED_AT = np.arange(400, dtype=np.int64) * 3_600_000_000


def random_returns(n_symbols: int = 4, n_bars: int = 400, seed: int = 0) -> BarReturns:
    rng = np.random.default_rng(seed)
    market = 0.01 * rng.standard_normal(n_bars)
    beta = np.linspace(0.4, 1.6, n_symbols)[:, None]
    whole = beta * market + 0.004 * rng.standard_normal((n_symbols, n_bars))
    return BarReturns(0.3 * whole, whole)


def fit(returns: BarReturns, name: str = "equal_weight", stop: int = 300):
    names = NAMES[: len(returns.whole)]
    return fit_factor(returns, names, IndexRange(0, stop), CLOSED_AT, name)


def test_returns_are_from_the_close_before_and_known_after_a_missing_bar() -> None:
    prices = np.full((1, 4, 4), np.nan)
    prices[0, [0, 1, 3]] = [[10, 10, 10, 10], [11, 12, 11, 12], [15, 18, 15, 18]]
    found = bar_returns(prices, np.array([[True, True, False, True]]))
    np.testing.assert_allclose(found.gap[0], [np.nan, 0.1, np.nan, 0.25])
    np.testing.assert_allclose(found.whole[0], [np.nan, 0.2, np.nan, 0.5])


def test_equal_weight_leaves_the_symbol_itself_out() -> None:
    returns = random_returns()
    factor = fit(returns)
    np.testing.assert_allclose(factor.returns.whole[0], returns.whole[1:].mean(axis=0))
    np.testing.assert_allclose(factor.returns.gap[2], returns.gap[[0, 1, 3]].mean(axis=0))
    assert not factor.own.any()


def test_betas_to_equal_weight_have_a_mean_of_one_and_keep_their_order() -> None:
    factor = fit(random_returns())
    assert factor.beta.mean() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(factor.beta) > 0.1).all()


def test_betas_to_a_symbol_are_least_squares_and_it_stands_for_itself() -> None:
    rng = np.random.default_rng(1)
    whole = np.outer([0.5, 1.0, 1.5, 1.0], 0.01 * rng.standard_normal(400))
    factor = fit(BarReturns(0.0 * whole, whole), "SPY")
    np.testing.assert_allclose(factor.beta, [0.5, 1.0, 1.5, 1.0], rtol=1e-9)
    assert factor.own.tolist() == [False, False, False, True]
    np.testing.assert_array_equal(factor.returns.whole[0], whole[3])


def test_noisy_betas_are_drawn_towards_their_mean() -> None:
    rng = np.random.default_rng(2)
    market = 0.01 * rng.standard_normal(400)
    whole = market + 0.05 * rng.standard_normal((4, 400))
    whole[3] = market
    found = fit(BarReturns(0.0 * whole, whole), "SPY", stop=60).beta[:3]
    raw = [np.polyfit(market[:60], each[:60], 1)[0] for each in whole[:3]]
    assert np.ptp(found) < 0.5 * np.ptp(raw)


def test_nothing_after_the_bars_of_the_fit_changes_a_beta() -> None:
    returns = random_returns()
    later = BarReturns(*(part.copy() for part in returns))
    for part in later:
        part[:, 300:] *= -7.0
    np.testing.assert_array_equal(fit(returns).beta, fit(later).beta)
    assert not np.array_equal(fit(returns, stop=301).beta, fit(later, stop=301).beta)


def test_a_late_listing_has_the_mean_beta_and_no_market_before_it() -> None:
    returns = random_returns()
    for part in returns:
        part[0, :290] = np.nan
    factor = fit(returns)
    np.testing.assert_allclose(factor.beta[0], factor.beta[1:].mean(), atol=2e-3)
    assert (factor.returns.whole[0, :290] == 0.0).all()
    np.testing.assert_allclose(factor.returns.whole[1, :290], returns.whole[2:, :290].mean(axis=0))


def test_bars_at_which_nothing_else_trades_count_as_missing() -> None:
    returns = random_returns()
    for part in returns:
        part[1:, 50] = np.nan
    factor = fit(returns)
    assert factor.n_missing == 1
    assert factor.returns.whole[0, 50] == 0.0


def test_one_symbol_is_its_own_market() -> None:
    returns = random_returns(1)
    factor = fit(returns)
    assert factor.own.tolist() == [True]
    assert factor.beta.tolist() == [1.0]
    assert "itself" in factor.words


def test_without_a_factor_there_is_no_market() -> None:
    factor = fit(random_returns(), "none")
    assert not factor.returns.whole.any()
    assert not factor.beta.any()
    assert factor.words == "no market factor"


def test_an_unknown_factor_is_refused() -> None:
    with pytest.raises(DataError, match="factor must be equal_weight, none or a symbol"):
        fit(random_returns(), "SPX")


def test_some_symbols_and_bars_are_kept_with_the_market_of_all() -> None:
    factor = fit(random_returns())
    kept = factor.of(("SPY", "AAA")).during(IndexRange(300, 310))
    np.testing.assert_array_equal(kept.returns.whole, factor.returns.whole[[3, 0], 300:310])
    assert kept.beta.tolist() == factor.beta[[3, 0]].tolist()
    assert kept.days == factor.days == ("1970-01-01", "1970-01-13")


def test_holding_all_symbols_alike_has_no_alpha_at_any_bar() -> None:
    whole = random_returns().whole.copy()
    whole[0, :120] = np.nan  # listed later
    factor = fit(BarReturns(0.3 * whole, whole))

    for shared, own in zip(factor.shared, (0.3 * whole, whole), strict=True):
        left = np.where(np.isfinite(own), own - shared, 0.0)
        np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=1e-15)
        assert np.abs(left).max() > 1e-3
    assert np.ptp(factor.beta) > 0.3


def test_beside_a_symbol_what_is_shared_is_beta_times_its_return() -> None:
    factor = fit(random_returns(), "SPY")

    np.testing.assert_allclose(factor.shared.whole, factor.beta[:, None] * factor.returns.whole)
