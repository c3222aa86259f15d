"""Validation judges alpha: a rising market lets no null in, and correlated noise hides no edge."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.factor import BarReturns
from tradingbot.data.splits import IndexRange
from tradingbot_benchmarks.evaluation.admission import (
    Bars,
    bars_of,
    power,
    size,
    table,
    trained_on_noise,
)


@pytest.fixture(scope="module")
def rising() -> Bars:
    """Forty symbols with betas from 0.5 to 1.5 to a market that rises 6 bp per bar. Synthetic."""
    rng = np.random.default_rng(8)
    market = 6e-4 + 2e-3 * rng.standard_normal(1_600)
    beta = np.linspace(0.5, 1.5, 40)[:, None]
    moves = np.exp(np.cumsum(beta * market + 5e-3 * rng.standard_normal((40, 1_600)), axis=1))
    prices = np.repeat(moves[..., None], 4, axis=-1)
    closed_at = np.arange(1_600, dtype=np.int64) * 3_600_000_000
    return bars_of(prices, np.ones((40, 1_600), dtype=bool), closed_at)


@pytest.mark.parametrize("null", ["independent", "agreeing", "trained on noise"])
def test_a_rising_market_lets_no_null_in(rising: Bars, null: str) -> None:
    found = size(rising, null, "any", cost_frac=0.0, n_draws=40)
    assert found.alpha <= 0.1 < 0.5 < found.net


def test_policies_trained_on_noise_see_no_bar_that_they_are_judged_on(rising: Bars) -> None:
    judged = IndexRange(700, 1_100)
    hidden = rising.returns.whole.copy()
    hidden[:, judged.start : judged.stop] = np.nan  # counts as 0 where it is looked at
    blind = Bars(BarReturns(rising.returns.gap, hidden), rising.symbols, rising.closed_at)

    for seed in range(40):
        wants = [
            trained_on_noise(np.random.default_rng(seed), bars, judged) for bars in (rising, blind)
        ]
        np.testing.assert_array_equal(*wants)


@pytest.mark.parametrize("correlation", [0.3, 0.5])
def test_an_edge_in_correlated_noise_is_found(correlation: float) -> None:
    found = power(0.06, correlation, n_symbols=40, n_draws=5)
    assert found.alpha == 1.0
    assert "100.0%" in table([("oracle", found, 5)])


def test_no_edge_is_not_found() -> None:
    assert power(0.0, 0.3, n_symbols=40, n_draws=5).alpha == 0.0
