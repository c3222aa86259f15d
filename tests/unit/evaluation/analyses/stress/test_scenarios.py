"""Disasters do what they say, leave the past alone, and every bar stays a bar."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tradingbot.data.bar_moves import BarArrays, moves_from, rebuilt
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.stress.scenarios import gap, shake, slide, thin_volume

FIRST = 60
ALL: list[Callable[[BarArrays, int], BarArrays]] = [
    partial(slide, move_frac=-0.2, over_bars=5),
    partial(slide, move_frac=0.2, over_bars=40),
    partial(gap, move_frac=-0.08),
    partial(gap, move_frac=0.08),
    partial(thin_volume, divisor=20.0),
    partial(shake, factor=3.0),
]


def _bars(seed: int = 1) -> BarArrays:
    """Random walks of three symbols; the second lists at bar 70, the third has holes."""
    draw = stream(seed, "stress")
    shape = (150, 3)
    close = 50.0 * np.exp(np.cumsum(draw.normal(0.0, 0.01, shape), axis=0))
    open_ = close * np.exp(draw.normal(0.0, 0.005, shape))
    high = np.maximum(open_, close) * np.exp(np.abs(draw.normal(0.0, 0.004, shape)))
    low = np.minimum(open_, close) * np.exp(-np.abs(draw.normal(0.0, 0.004, shape)))
    volume = draw.uniform(1e3, 1e6, shape)
    absent = np.zeros(shape, dtype=bool)
    absent[:70, 1] = True
    absent[[58, 59, 60, 63, 90], 2] = True
    columns = (open_, high, low, close, volume, (high + low + close) / 3.0)
    return BarArrays(*(np.where(absent, np.nan, column) for column in columns))


@pytest.mark.parametrize("change", ALL)
def test_bars_stay_bars_and_the_past_stays_to_the_bit(
    change: Callable[[BarArrays, int], BarArrays],
) -> None:
    bars = _bars()
    made = change(bars, FIRST)
    for before, after in zip(bars, made, strict=True):
        np.testing.assert_array_equal(before[:FIRST], after[:FIRST])
        np.testing.assert_array_equal(np.isnan(before), np.isnan(after))
    there = np.isfinite(made.close)
    open_, high, low, close, volume, vwap = (column[there] for column in made)
    assert (high >= np.maximum(open_, close)).all()
    assert (low <= np.minimum(open_, close)).all()
    assert (low > 0.0).all()
    assert (volume > 0.0).all()
    assert ((low <= vwap * (1 + 1e-12)) & (vwap <= high * (1 + 1e-12))).all()
    assert not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(bars, made, strict=True))


def test_moves_put_together_again_give_the_same_bars() -> None:
    bars = _bars()
    again = rebuilt(bars, FIRST, moves_from(bars, FIRST))
    for before, after in zip(bars, again, strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-12)


def test_crash_takes_its_share_within_its_bars_and_for_good() -> None:
    bars = _bars()
    made = slide(bars, FIRST, move_frac=-0.2, over_bars=5)
    ratio = made.close / bars.close
    np.testing.assert_allclose(ratio[FIRST : FIRST + 5, 0], 0.8 ** (np.arange(1, 6) / 5))
    np.testing.assert_allclose(ratio[FIRST + 5 :, 0], 0.8)
    # The low of a falling bar goes with its close.
    np.testing.assert_allclose((made.low / made.close)[FIRST:], (bars.low / bars.close)[FIRST:])
    # It falls on bars that are there: symbol 2 has none at bars 60 and 63, symbol 1 lists later.
    np.testing.assert_allclose(ratio[[61, 62, 64], 2], 0.8 ** (np.array([1, 2, 3]) / 5))
    np.testing.assert_allclose(ratio[100:, 1:], 0.8)


def test_rally_lifts_highs_with_closes_and_leaves_lows() -> None:
    bars = _bars()
    made = slide(bars, FIRST, move_frac=0.2, over_bars=40)
    ratio = made.close / bars.close
    np.testing.assert_allclose(ratio[FIRST + 40 :, 0], 1.2)
    np.testing.assert_allclose((made.high / made.close)[FIRST:], (bars.high / bars.close)[FIRST:])
    np.testing.assert_allclose((made.low / made.open)[FIRST:], (bars.low / bars.open)[FIRST:])


@pytest.mark.parametrize("move", [-0.08, 0.08])
def test_gap_is_overnight_and_leaves_moves_within_bars_alone(move: float) -> None:
    bars = _bars()
    made = gap(bars, FIRST, move_frac=move)
    np.testing.assert_allclose((made.open / bars.open)[FIRST:, 0], 1.0 + move)
    np.testing.assert_allclose((made.open / bars.open)[91:, 2], 1.0 + move)
    assert (made.open / bars.open)[61, 2] == pytest.approx(1.0 + move)
    np.testing.assert_allclose(
        made.close[FIRST:] / made.open[FIRST:], bars.close[FIRST:] / bars.open[FIRST:]
    )


def test_volume_falls_and_prices_do_not() -> None:
    bars = _bars()
    made = thin_volume(bars, FIRST, divisor=20.0)
    np.testing.assert_allclose(made.volume[FIRST:] * 20.0, bars.volume[FIRST:])
    assert made.close is bars.close


def test_shaking_triples_deviations_and_keeps_the_mean() -> None:
    bars = _bars()
    made = shake(bars, FIRST, factor=3.0)
    before, after = (
        np.diff(np.log(bars.close[FIRST - 1 :, 0])),
        np.diff(np.log(made.close[FIRST - 1 :, 0])),
    )
    assert after.std() == pytest.approx(3.0 * before.std())
    assert after.mean() == pytest.approx(before.mean(), abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        partial(slide, move_frac=-1.0, over_bars=5),
        partial(slide, move_frac=0.0, over_bars=5),
        partial(slide, move_frac=-0.2, over_bars=0),
        partial(gap, move_frac=-1.0),
        partial(thin_volume, divisor=0.5),
        partial(shake, factor=0.0),
    ],
)
def test_disasters_that_are_none_are_refused(
    change: Callable[[BarArrays, int], BarArrays],
) -> None:
    with pytest.raises(ConfigError):
        change(_bars(), FIRST)


def test_bar_off_the_grid_is_refused() -> None:
    with pytest.raises(DataError, match="on the grid"):
        gap(_bars(), 150, move_frac=0.1)
