from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.synthetic import regimes
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.synthetic.registry import generate
from tradingbot.domain.timeframe import BarGrid

NAMES = tuple(f"S{k:02d}" for k in range(40))
FIELDS = ("opens", "highs", "lows", "closes", "volumes", "vwaps")
STILL = {"market_volatility": 0, "sector_volatility": 0, "idio_volatility": 0}


def made(
    symbols: int = 6, end: date = date(2024, 6, 28), seed: int = 7, **choices: object
) -> SyntheticMarket:
    return generate(
        "regimes", symbols=NAMES[:symbols], start=date(2024, 1, 2), end=end, seed=seed, **choices
    )


def test_regimes_same_seed_is_equal_bit_for_bit():
    first, second = made(), made()
    for name in FIELDS:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert np.array_equal(
        first.covariates["sentiment"], second.covariates["sentiment"], equal_nan=True
    )


def test_regimes_other_seed_changes_every_symbol():
    assert not (made(seed=7).closes[-1] == made(seed=8).closes[-1]).any()


@pytest.mark.parametrize("block", [96, 4])
def test_regimes_more_symbols_leave_the_first_unchanged(block, monkeypatch):
    few = made(symbols=5)
    monkeypatch.setattr(regimes, "_BLOCK", block)
    many = made(symbols=11)
    for name in FIELDS:
        assert np.array_equal(getattr(few, name), getattr(many, name)[:, :5]), name
    for name in ("regime", "transition"):
        assert np.array_equal(few.latent[name], many.latent[name]), name


def test_regimes_longer_period_leaves_the_past_unchanged():
    short, long = made(end=date(2024, 3, 28)), made()
    bars = len(short.closed_at)
    assert bars < len(long.closed_at)
    for name in FIELDS:
        assert np.array_equal(getattr(short, name), getattr(long, name)[:bars]), name


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"grid": BarGrid.CLOCK},
        {"timeframe": "15m", "end": date(2024, 2, 2)},
        {"timeframe": "1d"},
        {"calendar": "24/7"},
        {"calendar": "24/7", "timeframe": "1d"},
        {"calendar": "XTKS"},
        {"end": date(2024, 1, 2)},
        {"idio_volatility": 3.0, "jump_size": 20, "jumps_per_year": 100, "idio_freedom": 2.2},
        STILL,
    ],
    ids=str,
)
def test_regimes_bars_on_any_grid_are_consistent(choices):
    market = made(**choices)
    body_top = np.maximum(market.opens, market.closes)
    body_bottom = np.minimum(market.opens, market.closes)
    assert (market.lows > 0).all()
    assert (market.lows <= body_bottom).all()
    assert (market.highs >= body_top).all()
    assert (market.vwaps >= market.lows).all()
    assert (market.vwaps <= market.highs).all()
    assert (market.volumes >= 1).all()
    assert all(np.isfinite(getattr(market, name)).all() for name in FIELDS)


def test_regimes_still_market_moves_by_the_drift_of_its_own_bar():
    """Without volatility, close-to-close returns are the drift of the regime at that bar."""
    market = made(**STILL, bull_sessions=2, bear_sessions=2, sideways_sessions=2)
    latent = market.latent
    drift = latent["drift_total"][latent["regime"]]
    returns = market.closes[1:] / market.closes[:-1] - 1
    np.testing.assert_allclose(returns, drift[1:], atol=1e-13)
    gaps = market.opens[1:] / market.closes[:-1] - 1
    night = latent["after_night"][1:]
    np.testing.assert_allclose(gaps[~night], 0, atol=1e-13)
    np.testing.assert_allclose(
        gaps[night], latent["drift_gap"][latent["regime"]][1:][night], atol=1e-13
    )
    inside = market.closes / market.opens - 1
    np.testing.assert_allclose(
        inside[1:][night], latent["drift_bar"][latent["regime"]][1:][night], atol=1e-13
    )
    assert len(np.unique(latent["regime"])) == 4


def test_regimes_mean_return_in_each_regime_is_its_drift():
    """Fat tails, jumps and gaps leave the mean where `drift_total` says."""
    market = made(
        symbols=40,
        end=date(2025, 6, 30),
        market_volatility=0.0,
        sector_volatility=0.0,
        beta_spread=0.0,
        bull_drift=3.0,
        bear_drift=-3.0,
        bull_sessions=5,
        bear_sessions=5,
        sideways_sessions=5,
        turbulent_sessions=5,
        jumps_per_year=50,
    )
    returns = market.closes[1:] / market.closes[:-1] - 1
    for k, drift in enumerate(market.latent["drift_total"][:, 0]):
        own = returns[market.latent["regime"][1:] == k].ravel()
        error = own.std() / np.sqrt(len(own))
        assert abs(own.mean() - drift) < 4 * error, k
        assert error < 1.5e-4  # 4 errors tell ±3 a year (±17 bp a bar) and biased jumps (12 bp)


def test_regimes_expected_next_return_averages_over_the_next_regime():
    latent = made().latent
    assert latent["expected_next_return"].shape == (len(latent["regime"]), 6)
    bar, symbol = 100, 2
    chances = latent["transition"][latent["regime"][bar]]
    by_hand = sum(chances[k] * latent["drift_total"][k, symbol] for k in range(4))
    assert latent["expected_next_return"][bar, symbol] == pytest.approx(by_hand, rel=1e-12)


def test_regimes_sentiment_echoes_the_past_and_knows_no_future():
    market = made(symbols=40, end=date(2025, 6, 30), market_volatility=0, sector_volatility=0)
    sentiment = market.covariates["sentiment"]
    published = np.isfinite(sentiment)
    assert ((sentiment[published] >= 0) & (sentiment[published] <= 1)).all()
    assert 0.8 < published.sum() / (40 * market.latent["after_night"].sum()) < 1.5
    log_closes = np.log(market.closes)
    past, future = np.full(market.shape, np.nan), np.full(market.shape, np.nan)
    past[14:] = log_closes[14:] - log_closes[:-14]
    future[:-14] = log_closes[14:] - log_closes[:-14]
    use = published & np.isfinite(past) & np.isfinite(future)
    spread = np.std(past, axis=0, where=np.isfinite(past))
    score = sentiment[use]
    assert np.corrcoef(score, (past / spread)[use])[0, 1] > 0.2
    assert abs(np.corrcoef(score, (future / spread)[use])[0, 1]) < 4 / np.sqrt(use.sum())


def test_regimes_sentiment_is_never_silent_for_a_week():
    market = made(symbols=40)
    for column in np.isfinite(market.covariates["sentiment"]).T:
        silence = np.diff(market.closed_at[column]).max()
        assert silence < np.timedelta64(7, "D")
    assert not np.isfinite(made(sentiment_per_session=0).covariates["sentiment"]).any()


def test_regimes_sentiment_switched_off_leaves_bars_unchanged():
    without = made(sentiment=False)
    assert not without.covariates
    assert np.array_equal(without.closes, made().closes)


def test_regimes_round_the_clock_has_no_night():
    market = made(calendar="24/7")
    assert not market.latent["after_night"].any()
    np.testing.assert_allclose(market.latent["drift_bar"], market.latent["drift_total"], atol=1e-15)
    gaps = np.log(market.opens[1:] / market.closes[:-1])
    inside = np.log(market.closes / market.opens)
    assert gaps.std() < 0.05 * inside.std()


def test_regimes_unknown_sector_is_assigned_by_symbol_alone():
    alone = generate(
        "regimes", symbols=["S03"], start=date(2024, 1, 2), end=date(2024, 6, 28), seed=7
    )
    assert np.array_equal(alone.closes[:, 0], made().closes[:, 3])


def test_regimes_named_sectors_bind_their_members_together():
    sectors = ["red", "blue"] * 6
    market = made(symbols=12, sectors=sectors, sector_volatility=0.4, market_volatility=0.05)
    correlation = np.corrcoef(np.diff(np.log(market.closes), axis=0).T)
    same = np.equal.outer(sectors, sectors) & ~np.eye(12, dtype=bool)
    assert correlation[same].mean() > 0.3
    assert abs(correlation[~same & ~np.eye(12, dtype=bool)].mean()) < 0.15
