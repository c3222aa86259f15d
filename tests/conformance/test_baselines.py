"""Every baseline trades when it wants to: an opponent that is held back proves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.agents.baselines.catalogue import LOOKBACK_BARS, RULES
from tradingbot.data.splits import IndexRange
from tradingbot.envs.build_world import synthetic_world
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, sleeve_config
from tradingbot.evaluation.backtest.backtests import backtest_all
from tradingbot.evaluation.backtest.baselines import baseline

N_BARS = 800
TURNING = ("macd", "momentum_quarter", "residual_reversal", "sma_cross")
"""Rules that turn from long to short within so few bars."""


@pytest.fixture(scope="module")
def backtests() -> dict[str, Backtest]:
    """Every rule on two synthetic symbols, long and short."""
    first = max(LOOKBACK_BARS.values())
    world = synthetic_world("regimes", n_symbols=2, n_bars=first + N_BARS)
    policies = [PolicyUnderTest(name, baseline(name, world)) for name in RULES]
    config, bars = sleeve_config(allow_short=True), IndexRange(first, first + N_BARS)
    found = backtest_all(world, config, policies, bars_per_year=1_764.0, bars=bars)
    return {each.policy: each for each in found}


@pytest.mark.parametrize("name", RULES)
def test_baseline_holds_what_it_asked_for(backtests: dict[str, Backtest], name: str) -> None:
    made = backtests[name]

    off = np.abs(made.action - made.position_frac) > 0.1  # beyond the price's move and rounding

    assert off.mean() < 0.01
    assert made.denials.sum() < 0.01 * made.action.size


@pytest.mark.parametrize("name", TURNING)
def test_long_short_baseline_turns_at_once(backtests: dict[str, Backtest], name: str) -> None:
    made = backtests[name]

    wanted, held = (np.sign(x[1:]) * np.sign(x[:-1]) < 0 for x in (made.action, made.position_frac))

    assert wanted.sum() > 10
    assert (wanted == held).all()
