"""What an allocation is worth where the best one is known: planted sleeves and their oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.envs.portfolio.sleeve_market import PlantedSleeves
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.allocation.rules import EQUAL_WEIGHT, equal_weight
from tradingbot.evaluation.allocation.schedule import AllocationSchedule, schedule_rule
from tradingbot.evaluation.allocation.simplex import best_weights, with_cash
from tradingbot.evaluation.backtest.portfolios import Allocator, play_portfolios

FloatArray = NDArray[np.float64]
ORACLE = "oracle"
_BASIS_POINTS = 1e4


class AllocationWorth(NamedTuple):
    """What one policy is worth on planted sleeves, per bar."""

    expected_bp: float
    """Utility with the planted drifts and covariances in place of what was drawn, net of the costs
    that were paid, in basis points."""
    realised_bp: float
    """Mean reward on the bars that were drawn, in basis points."""
    cash_frac: float
    """Mean share of cash."""
    largest_frac: float
    """Mean share of the largest sleeve."""


def oracle_schedule(planted: PlantedSleeves, aversion: float) -> AllocationSchedule:
    """Return the best weights of every bar by what was planted; costs of moving are not counted.

    Args:
        planted: Drifts and covariances of every bar.
        aversion: Weight of half the variance: 1 + the task's `risk_aversion`.
    """
    known: dict[tuple[float, ...], FloatArray] = {}
    weights = np.empty((planted.book.n_bars, planted.book.n_sleeves + 1))
    for bar, drift in enumerate(planted.drift):
        state = (*drift, planted.correlation[bar])
        if state not in known:
            parts = with_cash(drift, planted.covariance(bar))
            known[state] = best_weights(*parts, aversion)
        weights[bar] = known[state]
    return AllocationSchedule(torch.from_numpy(weights).to(planted.book.rows.device))


def measure_allocations(
    planted: PlantedSleeves,
    task: PortfolioTask,
    bars: IndexRange,
    policies: Mapping[str, Allocator],
) -> dict[str, AllocationWorth]:
    """Play policies, the oracle and equal weight on some bars, side by side with the same costs.

    Args:
        planted: What the task's book was made of.
        task: What portfolios trade by.
        bars: From that of the first decision to that at whose close it ends.
        policies: Name → what decides.
    """
    aversion = 1.0 + task.terms.risk_aversion
    first, last = bars.start, bars.stop - 1
    even = schedule_rule(equal_weight, task.book, first, last, aversion=aversion)
    best = oracle_schedule(planted, aversion)
    everyone: dict[str, Allocator] = {ORACLE: best, EQUAL_WEIGHT: even, **policies}
    over = task.backtest(first, last, len(everyone))
    played = play_portfolios(over, list(everyone.values()))
    wanted = played.action.double().numpy(force=True)
    cost = played.numbers[1:, 4].numpy(force=True)
    sleeves = wanted[..., :-1]
    drift = np.einsum("spn,sn->sp", sleeves, planted.drift[first:last])
    risk = np.stack(
        [_variance(planted, sleeves[:, place], first) for place in range(len(everyone))], axis=-1
    )
    expected = _BASIS_POINTS * (drift - 0.5 * aversion * risk - cost).mean(axis=0)
    realised = _BASIS_POINTS * played.terms.sum(0).numpy(force=True) / len(wanted)
    return {
        name: AllocationWorth(
            float(expected[place]),
            float(realised[place]),
            float(wanted[:, place, -1].mean()),
            float(sleeves[:, place].max(axis=-1).mean()),
        )
        for place, name in enumerate(everyone)
    }


def oracle_share(worth: Mapping[str, AllocationWorth], name: str) -> float:
    """Return the share of the oracle's gain over equal weight that a policy has, in expectation."""
    least = worth[EQUAL_WEIGHT].expected_bp
    return (worth[name].expected_bp - least) / (worth[ORACLE].expected_bp - least)


def _variance(planted: PlantedSleeves, weights: FloatArray, first: int) -> FloatArray:
    """Return the planted variance (S,) of weights (S, N): all pairs have one correlation."""
    scaled = weights * planted.deviation
    correlation = planted.correlation[first : first + len(weights)]
    own, pooled = (scaled**2).sum(axis=-1), scaled.sum(axis=-1) ** 2
    return np.asarray((1.0 - correlation) * own + correlation * pooled)
