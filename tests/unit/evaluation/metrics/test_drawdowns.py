"""Drawdowns one by one, beside a plain walk over the worths."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.metrics.drawdowns import Drawdown, deepest, drawdowns_of
from tradingbot.evaluation.metrics.returns import max_drawdown, simple_returns


def walked(worths: list[float]) -> list[Drawdown]:
    """The same by hand: one bar after the other."""
    found: list[Drawdown] = []
    peak, peak_at, trough_at = worths[0], 0, None
    for at, worth in enumerate(worths):
        if worth >= peak:
            if trough_at is not None:
                found.append(Drawdown(peak_at, trough_at, at, 1 - worths[trough_at] / peak))
            peak, peak_at, trough_at = worth, at, None
        elif trough_at is None or worth < worths[trough_at]:
            trough_at = at
    if trough_at is not None:
        found.append(Drawdown(peak_at, trough_at, None, 1 - worths[trough_at] / peak))
    return found


def test_drawdowns_of_a_known_path_are_told_with_peak_trough_and_recovery() -> None:
    worths = [1.0, 0.9, 0.8, 0.95, 1.0, 1.2, 1.2, 0.6, 0.9]

    first, second = drawdowns_of(worths)

    assert first[:3] == (0, 2, 4)
    assert first.depth_frac == pytest.approx(0.2)
    assert second[:3] == (6, 7, None)  # the last place at the peak, not the first
    assert second.depth_frac == pytest.approx(0.5)
    assert deepest([first, second], 1) == [second]


@pytest.mark.parametrize("seed", range(5))
def test_drawdowns_equal_a_walk_over_the_worths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    worths = np.cumprod(1 + rng.normal(0, 0.01, 400)).round(3)

    found, expected = drawdowns_of(worths), walked(worths.tolist())

    assert [each[:3] for each in found] == [each[:3] for each in expected]
    depths = [each.depth_frac for each in expected]
    np.testing.assert_allclose([each.depth_frac for each in found], depths)
    largest = max_drawdown(simple_returns(worths))
    assert deepest(found, 1)[0].depth_frac == pytest.approx(largest)


def test_worth_that_never_falls_has_no_drawdown() -> None:
    assert drawdowns_of([1.0, 1.0, 1.1]) == []


def test_worth_that_is_no_number_is_refused() -> None:
    with pytest.raises(DataError, match="finite"):
        drawdowns_of([1.0, np.nan])
