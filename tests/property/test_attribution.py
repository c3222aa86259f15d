"""Taking apart what was earned: the parts always add up, and hold what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.data.factor import BarReturns, MarketFactor, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.metrics.attribution import Exposure, attribute


def market(n_symbols: int, n_bars: int, seed: int, *, factor: str = "equal_weight"):
    """Return correlated returns with gaps in them, and the factor beside them."""
    rng = np.random.default_rng(seed)
    shared = 0.01 * rng.standard_normal(n_bars)
    whole = shared + 0.01 * rng.standard_normal((n_symbols, n_bars))
    whole[rng.random(whole.shape) < 0.05] = np.nan
    returns = BarReturns(whole * rng.random(whole.shape), whole)
    names = tuple(f"S{number}" for number in range(n_symbols))
    closed_at = np.arange(n_bars, dtype=np.int64) * 3_600_000_000
    return returns, fit_factor(returns, names, IndexRange(0, n_bars // 2), closed_at, factor)


def earned(returns: BarReturns, held: Exposure) -> np.ndarray:
    gap, whole = (np.nan_to_num(part).T for part in returns)
    return held.gap * gap + held.day * (whole - gap)


@settings(max_examples=40, deadline=None)
@given(
    n_symbols=st.integers(1, 6),
    n_bars=st.integers(2, 120),
    seed=st.integers(0, 2**32),
    factor=st.sampled_from(["equal_weight", "none", "S0"]),
    pooled=st.booleans(),
)
def test_parts_add_up_to_the_net_return(n_symbols, n_bars, seed, factor, pooled) -> None:
    _, beside = market(n_symbols, n_bars, seed, factor=factor)
    rng = np.random.default_rng(seed)
    held = Exposure(*rng.uniform(-2.0, 2.0, (2, n_bars, n_symbols)))
    held.day[rng.random(held.day.shape) < 0.05] = np.nan
    net = 0.02 * rng.standard_normal((n_bars, 1 if pooled else n_symbols))
    parts = attribute(net, held, beside)
    assert all(np.isfinite(part).all() and part.shape == net.shape for part in parts)
    np.testing.assert_allclose(parts.net, net, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("level", [0.3, 1.0, -0.5])
def test_a_constant_share_of_everything_has_no_alpha_and_no_timing(level: float) -> None:
    returns, beside = market(8, 400, 3)
    whole = np.nan_to_num(returns.whole)
    returns = BarReturns(0.4 * whole, whole)
    beside = fit_factor(returns, beside.symbols, IndexRange(0, 200), np.arange(400, dtype=np.int64))
    beside = MarketFactor(**(vars(beside) | {"beta": np.ones(8)}))
    held = Exposure(*np.full((2, 400, 8), level))
    parts = attribute(earned(returns, held), held, beside)
    np.testing.assert_allclose(parts.alpha.mean(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(parts.timing, 0.0, atol=1e-15)


def test_timing_the_market_is_timing_and_timing_a_symbol_is_alpha() -> None:
    rng = np.random.default_rng(4)
    shared = 0.01 * rng.standard_normal(600)
    residual = 0.01 * rng.standard_normal((40, 600))
    whole = shared + residual
    returns = BarReturns(0.0 * whole, whole)
    names = tuple(map(str, range(40)))
    beside = fit_factor(returns, names, IndexRange(0, 300), np.arange(600, dtype=np.int64))
    for signal, named in ((np.broadcast_to(shared, whole.shape), "timing"), (residual, "alpha")):
        held = Exposure(*np.stack([np.sign(signal).T] * 2))
        parts = attribute(earned(returns, held), held, beside)
        total, mine = parts.net.mean(), getattr(parts, named).mean()
        assert mine > 0.9 * total > 0.0


def test_one_symbol_is_judged_by_its_deviation_from_its_mean_exposure() -> None:
    returns, beside = market(1, 200, 5)
    held = Exposure(*np.full((2, 200, 1), 0.7))
    still = attribute(earned(returns, held), held, beside)
    np.testing.assert_allclose(still.alpha, 0.0, atol=1e-15)
    moving = np.where(np.nan_to_num(returns.whole).T > 0.0, 1.0, 0.4)
    held = Exposure(moving, moving)
    parts = attribute(earned(returns, held), held, beside)
    assert parts.alpha.mean() > 0.0
    assert not parts.timing.any()


def test_costs_are_in_alpha_and_absent_symbols_in_no_market_part() -> None:
    returns, beside = market(5, 100, 6)
    held = Exposure(*np.ones((2, 100, 5)))
    free, dear = (attribute(earned(returns, held) - cost, held, beside) for cost in (0.0, 0.001))
    np.testing.assert_allclose(free.alpha - dear.alpha, 0.001, atol=1e-15)
    absent = np.isnan(returns.whole).T
    assert not (free.market + free.timing)[absent].any()


def test_axes_that_disagree_and_returns_that_are_no_numbers_are_refused() -> None:
    _, beside = market(3, 50, 7)
    held = Exposure(*np.ones((2, 50, 3)))
    with pytest.raises(DataError, match="same bars and symbols"):
        attribute(np.zeros((50, 2)), held, beside)
    with pytest.raises(DataError, match="must be finite"):
        attribute(np.full((50, 3), np.nan), held, beside)
