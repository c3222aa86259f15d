"""Bars one after another are the bits of the whole market, also of symbols that are late."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.market.arriving_bars import ArrivingBars
from tradingbot.market.bars import STALE_COLUMN, tensor_market

N, T = 7, 90


def market(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bars (N, T, 5) with gaps; one symbol comes late, one goes for long."""
    generator = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(generator.normal(0.0, 0.02, (N, T)), axis=1))
    open_ = close * np.exp(generator.normal(0.0, 0.005, (N, T)))
    high, low = np.maximum(open_, close) * 1.01, np.minimum(open_, close) * 0.99
    volume = generator.uniform(0.0, 1e6, (N, T))
    present = generator.random((N, T)) > 0.15
    present[1, :31], present[2, 20:70] = False, False
    prices = np.stack([open_, high, low, close, volume], axis=-1)
    return np.where(present[..., None], prices, np.nan), present


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_bar_has_the_bits_of_the_whole_market(seed: int) -> None:
    prices, present = market(seed)
    whole = tensor_market(prices, present, dtype=torch.float64)
    arriving = ArrivingBars(N)
    for bar in range(T):
        taken = arriving.take(prices[:, bar], present[:, bar])
        rows = torch.arange(N) * T + bar
        assert all(map(torch.equal, taken, whole.bar(rows)))
        assert torch.equal(arriving.stale_bars, whole.rows[rows, STALE_COLUMN].int())


def test_bar_that_no_market_makes_counts_as_absent() -> None:
    prices, present = market(0)
    arriving = ArrivingBars(N)
    for bar in range(3):
        arriving.take(prices[:, bar], present[:, bar])
    before = arriving.close.copy()
    wrong = prices[:, 3].copy()
    wrong[0] = [10.0, 9.0, 11.0, 10.0, 5.0]  # the high is below the low
    taken = arriving.take(wrong, np.ones(N, bool))

    assert taken.tradable[0] == 0.0
    assert taken.close[0] == before[0]
