"""The hidden markets: nothing to see but prices, and the edge is in them."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.synthetic import registry
from tradingbot.data.synthetic.market import GridSpec, SyntheticMarket

NAMES = ("hidden_trend", "hidden_reversion")


def make(
    name: str, *, bars: int = 4000, symbols: int = 40, seed: int = 3, **params
) -> SyntheticMarket:
    closed_at = np.datetime64("2024-01-02T15:30", "us") + np.arange(bars) * np.timedelta64(1, "h")
    grid = GridSpec(
        tuple(f"S{number:03d}" for number in range(symbols)),
        ("unknown",) * symbols,
        closed_at - np.timedelta64(1, "h"),
        closed_at,
        np.arange(bars, dtype=np.int64) // 7,
    )
    spec = registry.market(name)
    return spec.generate(registry.parse_params(spec, params), grid, seed)


def lag_correlation(returns: np.ndarray, lag: int) -> float:
    return float(np.mean(returns[lag:] * returns[:-lag]) / returns.var())


@pytest.mark.parametrize("name", NAMES)
def test_hidden_markets_show_no_covariate_unless_a_decoy_is_asked_for(name):
    assert make(name, bars=50).covariates == {}
    assert set(make(name, bars=50, decoy=True).covariates) == {"signal"}


@pytest.mark.parametrize("name", NAMES)
def test_decoy_changes_no_price_and_explains_nothing(name):
    plain, decoyed = make(name), make(name, decoy=True)
    returns = decoyed.closes / decoyed.opens - 1.0

    slope = np.mean(decoyed.covariates["signal"][:-1] * returns[1:]) / 0.006

    assert np.array_equal(plain.closes, decoyed.closes)
    assert slope == pytest.approx(0.0, abs=0.015)


def test_hidden_trend_latent_drift_explains_the_next_bar():
    market = make("hidden_trend", kappa=0.3, phi=0.5)
    returns = (market.closes / market.opens - 1.0) / 0.006

    assert np.mean(market.latent["drift"][:-1] * returns[1:]) == pytest.approx(0.3, abs=0.015)
    assert np.mean(market.latent["drift"][1:] * returns[1:]) == pytest.approx(0.15, abs=0.015)


@pytest.mark.parametrize("lag", [1, 5, 20])
def test_hidden_trend_returns_are_correlated_as_the_drift_dictates(lag):
    market = make("hidden_trend", kappa=0.3, phi=0.95)
    returns = market.closes / market.opens - 1.0

    expected = 0.09 * 0.95**lag / 1.09

    assert lag_correlation(returns, lag) == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("lag", [1, 2, 6])
def test_hidden_reversion_returns_are_anticorrelated_as_the_deviation_dictates(lag):
    market = make("hidden_reversion", share=0.5, phi=0.6)
    returns = np.log(market.closes / market.opens)

    expected = -0.5 * 0.5 * (1.0 - 0.6) * 0.6 ** (lag - 1)

    assert lag_correlation(returns, lag) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_hidden_reversion_volatility_does_not_depend_on_the_share(share):
    market = make("hidden_reversion", share=share)
    log_returns = np.log(market.closes / market.opens)

    assert log_returns.std() == pytest.approx(0.006, rel=0.01)


def test_hidden_reversion_mean_simple_return_is_zero():
    market = make("hidden_reversion", vol_frac=0.05, share=0.5, bars=6000)
    returns = market.closes / market.opens - 1.0

    # Without the drift that offsets the convexity the mean would be 12.5 bp.
    assert returns.mean() * 1e4 == pytest.approx(0.0, abs=3.0)


@pytest.mark.parametrize("name", NAMES)
def test_hidden_market_grows_without_changing_its_past(name):
    short, long = make(name, bars=300), make(name, bars=500)

    assert np.array_equal(long.closes[:300], short.closes)
    assert np.array_equal(long.opens[1:], long.closes[:-1])
    assert np.all(long.lows > 0)
