"""The length of a block: the published rule as a plain loop, short series included."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.evaluation.statistics.bootstrap import automatic_block_bars


def plain_length(series: np.ndarray, constant: float) -> float:
    """Politis & White's rule, one lag after the other."""
    count = len(series)
    deviation = [x - series.mean() for x in series]
    quiet = max(5, int(math.log10(count)))
    most = min(math.ceil(math.sqrt(count)) + quiet, count - 2)
    covariances, is_small = [], []
    for lag in range(most + 1):
        product = sum(a * b for a, b in zip(deviation[lag:], deviation[: count - lag], strict=True))
        later = sum(x * x for x in deviation[lag + 1 :])
        earlier = sum(x * x for x in deviation[: count - lag - 1])
        scale = math.sqrt(later * earlier)
        share = abs(product) / scale if scale > 0.0 else 0.0
        covariances.append(product / count)
        is_small.append(share < 2.0 * math.sqrt(math.log10(count) / count))
    width = most
    for lag in range(quiet, most + 1):
        if all(is_small[lag - quiet : lag]):
            width = min(2 * max(lag - quiet, 1), most)
            break
    trend, long_run = 0.0, covariances[0]
    for lag in range(1, width + 1):
        taper = 1.0 if lag / width <= 0.5 else 2.0 * (1.0 - lag / width)
        trend += 2.0 * taper * lag * covariances[lag]
        long_run += 2.0 * taper * covariances[lag]
    length = (2.0 * trend**2 / (constant * long_run**2) * count) ** (1.0 / 3.0)
    return max(1.0, min(length, math.ceil(min(3.0 * math.sqrt(count), count / 3.0))))


def dependent(count: int, rho: float, seed: int) -> np.ndarray:
    series = np.random.default_rng(seed).standard_normal(count)
    for bar in range(1, count):
        series[bar] += rho * series[bar - 1]
    return series


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.4, 0.8, 0.97])
@pytest.mark.parametrize("count", [8, 9, 13, 20, 60, 250])
def test_length_is_that_of_the_plain_loop(count: int, rho: float) -> None:
    for seed in range(4):
        series = dependent(count, rho, seed)
        for kind, constant in (("stationary", 2.0), ("circular", 4.0 / 3.0)):
            found = automatic_block_bars(series, kind=kind)  # type: ignore[arg-type]
            assert found == pytest.approx(plain_length(series, constant), rel=1e-9)


def test_series_whose_variance_over_time_cancels_has_the_longest_blocks() -> None:
    # What is gained is lost again: over time nothing varies, and no length could be divided by it.
    assert automatic_block_bars([-1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]) == 3.0


def test_length_of_many_series_is_that_of_the_longest() -> None:
    series = [dependent(60, rho, 1) for rho in (0.0, 0.8, 0.4)]
    lengths = [automatic_block_bars(each) for each in series]
    assert automatic_block_bars(np.stack(series, axis=1)) == max(lengths)


def test_length_does_not_depend_on_the_unit() -> None:
    series = dependent(60, 0.5, 2)
    for unit in (1e-150, 1e150):
        assert automatic_block_bars(series * unit) == pytest.approx(automatic_block_bars(series))
