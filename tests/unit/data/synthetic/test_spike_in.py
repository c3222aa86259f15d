"""A signal planted in given bars has the strength that was asked for, and moves nothing else."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.synthetic.registry import generate
from tradingbot.data.synthetic.spike_in import causal_volatility, plant_signal
from tradingbot.domain.errors import ConfigError

NAMES = ("opens", "highs", "lows", "closes", "volumes", "vwaps")
SYMBOLS = tuple(f"S{number}" for number in range(12))


@pytest.fixture(scope="module")
def bars() -> BarArrays:
    """Realistic bars with an absent stretch and a symbol that is listed later."""
    made = generate(
        "regimes", symbols=SYMBOLS, start=date(2023, 1, 3), end=date(2023, 12, 29), seed=5
    )
    columns = BarArrays(*(getattr(made, name).copy() for name in NAMES))
    for column in columns:
        column[300:320, 3] = np.nan
        column[:200, 4] = np.nan
    return columns


def plant(bars: BarArrays, kappa: float = 0.2, seed: int = 1, symbols=SYMBOLS):
    return plant_signal(bars, symbols, kappa=kappa, phi=0.9, seed=seed)


def test_no_strength_returns_the_same_bars_to_the_bit_with_a_signal(bars):
    spiked = plant(bars, kappa=0.0)

    for before, after in zip(bars, spiked.bars, strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(np.isfinite(spiked.signal), np.isfinite(bars.close))


def test_return_of_the_next_bar_moves_by_strength_times_volatility_times_signal(bars):
    spiked = plant(bars)
    moved = spiked.bars.close / spiked.bars.open - bars.close / bars.open
    wanted = 0.2 * spiked.volatility[:-1] * spiked.signal[:-1]

    known = np.isfinite(wanted) & np.isfinite(moved[1:])
    np.testing.assert_allclose(moved[1:][known], wanted[known], atol=1e-13)
    assert np.abs(wanted[known]).max() > 0.001
    assert np.isnan(wanted[319, 3])  # not seen at an absent bar: nothing is planted after it
    assert abs(moved[320, 3]) < 1e-13


def test_gaps_volume_absence_and_reach_beyond_the_body_stay(bars):
    new = plant(bars).bars
    is_next = np.isfinite(bars.close[1:]) & np.isfinite(bars.close[:-1])

    np.testing.assert_array_equal(new.volume, bars.volume)
    np.testing.assert_array_equal(np.isfinite(new.close), np.isfinite(bars.close))
    gaps = [(each.open[1:] / each.close[:-1])[is_next] for each in (bars, new)]
    np.testing.assert_allclose(gaps[1], gaps[0], rtol=1e-12)
    tops = [each.high / np.maximum(each.open, each.close) for each in (bars, new)]
    np.testing.assert_allclose(tops[1], tops[0], rtol=1e-12)
    known = np.isfinite(new.close)
    assert np.all((new.high >= np.maximum(new.open, new.close))[known])
    assert np.all((new.low <= np.minimum(new.open, new.close))[known])
    assert np.all(((new.low <= new.vwap) & (new.vwap <= new.high))[known])
    assert np.all(new.low[known] > 0)


def test_volatility_and_correlation_stay_but_for_the_square_of_the_strength(bars):
    def moments(each: BarArrays) -> tuple[float, float]:
        returns = (each.close[400:] / each.open[400:] - 1.0)[:, [0, 1, 2, 5, 6, 7]]
        correlations = np.corrcoef(returns.T)[np.triu_indices(6, 1)]
        return float(returns.std()), float(correlations.mean())

    before, after = moments(bars), moments(plant(bars).bars)

    assert after[0] == pytest.approx(before[0], rel=0.05)
    assert after[1] == pytest.approx(before[1], abs=0.03)
    assert before[1] > 0.15


def test_signal_has_unit_variance_and_persistence_and_is_its_symbols_own(bars):
    signal = plant(bars).signal[:, [0, 1, 2, 5, 6, 7, 8, 9, 10, 11]]

    assert signal.std() == pytest.approx(1.0, abs=0.1)
    assert np.mean(signal[1:] * signal[:-1]) == pytest.approx(0.9, abs=0.1)
    assert abs(np.corrcoef(signal.T)[np.triu_indices(10, 1)].mean()) < 0.1


def test_a_symbol_gets_the_same_signal_alone_at_another_strength_and_with_fewer_bars(bars):
    whole = plant(bars)
    alone = plant(BarArrays(*(column[:500, [7]] for column in bars)), 0.4, symbols=("S7",))

    np.testing.assert_array_equal(alone.signal[:, 0], whole.signal[:500, 7])
    assert not np.array_equal(plant(bars, seed=2).signal[:, 0], whole.signal[:, 0])


def test_what_is_planted_by_a_bar_does_not_depend_on_later_bars(bars):
    shorter = plant(BarArrays(*(column[:500] for column in bars)))
    whole = plant(bars)

    np.testing.assert_array_equal(shorter.bars.close, whole.bars.close[:500])
    np.testing.assert_array_equal(shorter.volatility, whole.volatility[:500])


def test_causal_volatility_finds_a_known_one_and_says_nothing_before_twenty_returns():
    returns = 0.01 * np.random.default_rng(0).standard_normal((3000, 4))
    found = causal_volatility(100.0 * np.cumprod(1.0 + returns, axis=0))

    assert not found[:20].any()
    assert found[20:].min() > 0.0
    assert found[500:].mean() == pytest.approx(0.01, rel=0.03)


@pytest.mark.parametrize(("kappa", "phi"), [(-0.1, 0.9), (1.1, 0.9), (0.1, 1.0), (np.nan, 0.9)])
def test_strength_or_persistence_out_of_range_is_refused(bars, kappa, phi):
    with pytest.raises(ConfigError, match="kappa must lie in"):
        plant_signal(bars, SYMBOLS, kappa=kappa, phi=phi, seed=0)


def test_planted_regimes_without_strength_are_regimes_with_a_decoy():
    same = {"symbols": ["A", "B"], "start": date(2024, 1, 2), "end": date(2024, 3, 28), "seed": 2}
    plain, decoy = generate("regimes", **same), generate("planted_regimes", kappa=0.0, **same)

    for name in NAMES:
        np.testing.assert_array_equal(getattr(decoy, name), getattr(plain, name))
    assert set(decoy.covariates) == {"sentiment", "signal"}
