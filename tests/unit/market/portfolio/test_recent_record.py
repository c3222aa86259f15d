"""What a master sees of how sleeves did lately, by hand and from the bars up to now."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.market.portfolio.recent_record import (
    LONG_BARS,
    RECENT_NAMES,
    RecentRecord,
    recent_record,
)


def values(n_bars: int = 600, n: int = 3, seed: int = 1) -> np.ndarray:
    returns = 0.01 * np.random.default_rng(seed).standard_normal((n_bars, n))
    returns[0] = 0.0
    return np.cumprod(1.0 + returns, axis=0)


def test_numbers_are_those_of_the_last_bars() -> None:
    value = values()
    shown = dict(zip(RECENT_NAMES, recent_record(value)[-1].T, strict=True))
    returns = value[1:] / value[:-1] - 1.0
    lately = returns[-LONG_BARS:]
    spread = lately.std(axis=0)

    assert shown["volatility"] == pytest.approx(100.0 * spread, rel=1e-4)
    expected = np.sqrt(24) * returns[-24:].mean(axis=0) / spread
    assert shown["momentum_short"] == pytest.approx(expected, rel=1e-3)
    others = (lately.sum(axis=1, keepdims=True) - lately) / 2
    expected = [np.corrcoef(lately[:, n], others[:, n])[0, 1] for n in range(3)]
    assert shown["correlation"] == pytest.approx(expected, abs=1e-3)
    fall = 1.0 - value[-1] / value[-LONG_BARS:].max(axis=0)
    assert shown["drawdown"] == pytest.approx(fall, abs=1e-6)


def test_later_bars_and_the_size_of_the_account_do_not_matter() -> None:
    value = values()
    later = value.copy()
    later[400:] *= np.linspace(1.0, 3.0, 200)[:, None]

    assert np.array_equal(recent_record(value)[:400], recent_record(later)[:400])
    small = recent_record(1e-12 * value)
    assert small == pytest.approx(recent_record(value), abs=1e-4)


@pytest.mark.parametrize("n", [1, 3])
def test_one_close_after_another_gives_the_same_bits(n: int) -> None:
    value = values(n=n)
    value[300:310, 0] = 1e-6  # a sleeve that lost nearly all
    live = RecentRecord(n)

    assert np.array_equal(np.stack([live.take(row) for row in value]), recent_record(value))
