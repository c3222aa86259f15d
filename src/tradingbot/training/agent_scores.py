"""What agents are worth on some bars while they learn: the scores that checkpoints are chosen by.

The backtester, the market factor and the definition of alpha are those of every later judgement,
so that weights are chosen by what lets agents trade, and not by how much of the market they held.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tradingbot.data.splits import IndexRange
from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.performance.measure import (
    action_histograms,
    annual_sharpe_or_zero,
    traded_steps,
)
from tradingbot.learning.playing import histogram_entropy
from tradingbot.training.data import TrainingData, halves
from tradingbot.training.results import backtest_agents
from tradingbot.training.setup import TrainingSetup

_BASIS_POINTS = 1e4


def choosing_bars(data: TrainingData) -> IndexRange:
    """Return the first half of validation, which the best weights are chosen on."""
    return halves(data.split.validation)[0]


def scores_on(bars: IndexRange, setup: TrainingSetup, data: TrainingData) -> dict[str, Tensor]:
    """Let the deterministic policy trade some bars, and score each agent.

    Args:
        bars: None that anything was learned from.
        setup: Whose learner acts, as it is now.
        data: With the market factor, whose betas are of the training bars.

    Returns:
        (N,) each, float64 on the CPU: `alpha_bp` and `return_bp`, mean alpha and net simple return
        per bar in basis points; `alpha_sharpe` and `sharpe`, their annual Sharpe ratios, 0 where
        nothing moves; `trades_per_1000` steps; `entropy` of the histogram in [0, 1]; `lowest` and
        `highest` action; `histogram` (N, bins) shares.
    """
    played = backtest_agents(setup, data, bars, setup.learner.act)
    net, alpha = played.returns, attribute_backtest(played, data.factor).alpha
    histogram = action_histograms(played, action_spec(setup.env.rules))
    figures = {
        "alpha_bp": alpha.mean(axis=0) * _BASIS_POINTS,
        "alpha_sharpe": _sharpes(alpha, data.bars_per_year),
        "return_bp": net.mean(axis=0) * _BASIS_POINTS,
        "sharpe": _sharpes(net, data.bars_per_year),
        "trades_per_1000": 1e3 * traded_steps(played).mean(axis=0),
        "entropy": histogram_entropy(torch.from_numpy(histogram)).numpy(),
        "lowest": played.action.min(axis=0),
        "highest": played.action.max(axis=0),
        "histogram": histogram,
    }
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in figures.items()}


def _sharpes(series: np.ndarray, bars_per_year: float) -> np.ndarray:
    return np.array([annual_sharpe_or_zero(own, bars_per_year) for own in series.T])
