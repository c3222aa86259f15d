"""The observable markets are what they say: timing, strength, persistence, no look-ahead."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.synthetic import registry
from tradingbot.data.synthetic.bar_frames import to_frames
from tradingbot.data.synthetic.market import GridSpec, SyntheticMarket
from tradingbot.domain.errors import ConfigError

NAMES = ("planted", "opposed", "cost_trap", "noise")


def make_grid(bars: int, symbols: int) -> GridSpec:
    closed_at = np.datetime64("2024-01-02T15:30", "us") + np.arange(bars) * np.timedelta64(1, "h")
    return GridSpec(
        tuple(f"S{number:03d}" for number in range(symbols)),
        ("unknown",) * symbols,
        closed_at - np.timedelta64(1, "h"),
        closed_at,
        np.arange(bars, dtype=np.int64) // 7,
    )


def make(
    name: str, *, bars: int = 2000, symbols: int = 40, seed: int = 3, **params
) -> SyntheticMarket:
    spec = registry.market(name)
    return spec.generate(registry.parse_params(spec, params), make_grid(bars, symbols), seed)


def next_returns(market: SyntheticMarket) -> np.ndarray:
    return (market.closes / market.opens - 1.0)[1:]


@pytest.mark.parametrize("name", NAMES)
def test_bars_of_planted_markets_are_sane_and_have_no_gaps(name):
    market = make(name)

    assert np.array_equal(market.opens[1:], market.closes[:-1])
    assert np.all(market.lows > 0)
    assert np.all(market.lows <= np.minimum(market.opens, market.closes))
    assert np.all(market.highs >= np.maximum(market.opens, market.closes))
    assert np.all((market.lows <= market.vwaps) & (market.vwaps <= market.highs))
    assert np.all(market.volumes > 0)


def test_planted_signal_at_close_explains_the_next_bar_and_no_other():
    market = make("planted", kappa=0.3, phi=0.0, bars=4000)
    signal, returns = market.covariates["signal"], next_returns(market) / 0.006

    next_slope = np.mean(signal[:-1] * returns)
    same_slope = np.mean(signal[1:] * returns)

    assert next_slope == pytest.approx(0.3, abs=0.012)
    assert same_slope == pytest.approx(0.0, abs=0.012)


def test_planted_residual_is_standard_normal_noise_without_memory():
    market = make("planted", kappa=0.3)

    noise = next_returns(market) / 0.006 - 0.3 * market.covariates["signal"][:-1]

    assert noise.std() == pytest.approx(1.0, abs=0.01)
    assert np.mean(noise[1:] * noise[:-1]) == pytest.approx(0.0, abs=0.015)
    assert np.mean(noise**4) == pytest.approx(3.0, abs=0.15)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_signal_is_stationary_with_unit_variance_and_persistence_phi(phi):
    signal = make("planted", phi=phi, bars=6000).covariates["signal"]

    assert signal.var() == pytest.approx(1.0, abs=0.05)
    assert signal[:200].var() == pytest.approx(1.0, abs=0.15)
    assert np.mean(signal[1:] * signal[:-1]) / signal.var() == pytest.approx(phi, abs=0.02)


def test_opposed_half_of_symbols_have_the_opposite_sign():
    market = make("opposed", kappa=0.3, symbols=41)
    signal, returns = market.covariates["signal"][:-1], next_returns(market) / 0.006

    slopes = np.mean(signal * returns, axis=0)

    assert np.sum(market.latent["kappa"] < 0) == 20
    assert np.array_equal(np.sign(slopes), np.sign(market.latent["kappa"]))
    other = make("opposed", symbols=41, seed=4).latent["kappa"]
    assert not np.array_equal(np.sign(other), np.sign(market.latent["kappa"]))


def test_strengths_that_differ_are_normal_around_kappa_and_are_what_returns_show():
    market = make("planted", kappa=0.2, kappa_spread=0.3, symbols=400)
    signal, returns = market.covariates["signal"][:-1], next_returns(market) / 0.006

    slopes = np.mean(signal * returns, axis=0) / np.mean(signal**2, axis=0)

    kappa = market.latent["kappa"]
    assert kappa.mean() == pytest.approx(0.2, abs=0.05)
    assert kappa.std() == pytest.approx(0.3, abs=0.04)
    assert np.abs(slopes - kappa).max() < 0.1


def test_a_share_of_symbols_is_reversed_and_the_rest_is_as_without():
    plain, market = make("planted"), make("planted", reversed_frac=0.3)

    assert np.sum(market.latent["kappa"] < 0) == 12
    kept = market.latent["kappa"] > 0
    assert np.array_equal(market.closes[:, kept], plain.closes[:, kept])
    assert not np.isclose(market.closes[-1, ~kept], plain.closes[-1, ~kept]).any()


def test_signs_turn_at_the_bar_that_is_named_and_not_before():
    plain, market = make("planted", kappa=0.3), make("planted", kappa=0.3, turn_frac=0.4)
    signal, returns = market.covariates["signal"][:-1], next_returns(market) / 0.006

    before, after = (
        np.mean((signal * returns)[part]) for part in (slice(0, 799), slice(799, None))
    )

    assert np.array_equal(market.closes[:800], plain.closes[:800])
    assert not np.isclose(market.closes[800], plain.closes[800]).any()
    assert (before, after) == pytest.approx((0.3, -0.3), abs=0.03)


def test_noise_decoy_explains_nothing():
    market = make("noise", bars=6000)

    slope = np.mean(market.covariates["signal"][:-1] * next_returns(market)) / 0.006

    assert slope == pytest.approx(0.0, abs=0.008)
    with pytest.raises(ConfigError, match="kappa"):
        make("noise", kappa=0.1)


@pytest.mark.parametrize("field", ["highs", "lows", "volumes", "vwaps"])
def test_range_and_volume_say_nothing_about_the_next_return(field):
    market = make("planted", kappa=0.0, bars=6000)
    hints = np.log(getattr(market, field) / (market.closes if field != "volumes" else 1.0))[:-1]
    hints = (hints - hints.mean(axis=0)) / hints.std(axis=0)

    assert np.mean(hints * next_returns(market)) / 0.006 == pytest.approx(0.0, abs=0.008)


@pytest.mark.parametrize("name", NAMES)
def test_longer_market_begins_with_the_shorter_one(name):
    short, long = make(name, bars=300), make(name, bars=500)

    for field in ("opens", "highs", "lows", "closes", "volumes", "vwaps"):
        assert np.array_equal(getattr(long, field)[:300], getattr(short, field)), field
    assert np.array_equal(long.covariates["signal"][:300], short.covariates["signal"])


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_repeats_and_another_differs(name):
    assert np.array_equal(make(name).closes, make(name).closes)
    assert not np.array_equal(make(name).closes, make(name, seed=4).closes)


def test_correlation_links_symbols_and_leaves_the_noise_scale():
    returns = next_returns(make("planted", kappa=0.0, correlation=0.4, bars=6000))

    correlations = np.corrcoef(returns.T)[np.triu_indices(40, 1)]

    assert correlations.mean() == pytest.approx(0.4, abs=0.03)
    assert returns.std() == pytest.approx(0.006, rel=0.02)


def test_planted_frames_carry_the_signal_from_its_close_on():
    market = make("planted", bars=20, symbols=2)

    bars, covariates = to_frames(market)

    assert bars.height == covariates.height == 40
    first = covariates.filter(covariates["symbol"] == "S000")
    assert np.array_equal(first["value"].to_numpy(), market.covariates["signal"][:, 0])


@pytest.mark.parametrize(
    ("key", "value"), [("kappa", -0.1), ("phi", 1.0), ("vol_frac", 0.0), ("kapa", 0.1)]
)
def test_planted_parameter_out_of_range_is_refused_by_name(key, value):
    with pytest.raises(ConfigError, match=key):
        make("planted", **{key: value})
