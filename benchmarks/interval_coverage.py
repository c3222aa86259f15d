"""How often the intervals that pages show cover the truth, and nulls pass: by simulation.

Agents whose returns are correlated (ρ between any two) and persistent (first-order autocorrelation)
trade T bars; every interval is computed by the product's own function and compared with the known
truth. 95 % are meant; 92 … 97 % are accepted.

    python benchmarks/interval_coverage.py                      all, a few minutes
    python benchmarks/interval_coverage.py --draws 100 --bars 400
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.performance.measure import share_interval
from tradingbot.evaluation.statistics.bootstrap import sharpe_of
from tradingbot.evaluation.statistics.dependence import effective_bars
from tradingbot.evaluation.statistics.policy_intervals import interval_of, win_rate_interval
from tradingbot.evaluation.statistics.shared_bars import runs_interval
from tradingbot.evaluation.statistics.sharpe import measure_sharpe, probabilistic_sharpe

FloatArray = NDArray[np.float64]
CORRELATIONS = (0.0, 0.1, 0.3, 0.5)
AUTOCORRELATIONS = (0.0, 0.1, 0.3)
DEVIATION = 0.005
"""Of one agent's return per bar; in the middle of what hourly bars have."""
MEAN = 2e-4
"""Of one agent's return per bar."""


def draw_returns(
    generator: np.random.Generator, shape: tuple[int, int], correlation: float, persistence: float
) -> FloatArray:
    """Draw returns (T, N) of mean 0 with given correlation and first-order autocorrelation."""
    n_bars, n_agents = shape
    common = generator.standard_normal((n_bars, 1))
    noise = math.sqrt(correlation) * common + math.sqrt(1.0 - correlation) * (
        generator.standard_normal((n_bars, n_agents))
    )
    for bar in range(1, n_bars):
        noise[bar] = persistence * noise[bar - 1] + math.sqrt(1.0 - persistence**2) * noise[bar]
    return DEVIATION * noise


def covers_net(generator: np.random.Generator, shape: tuple[int, int], rho: float) -> bool:
    """Net return per bar, mean of all agents."""
    return interval_of(MEAN + draw_returns(generator, shape, rho, 0.1).mean(axis=1)).covers(MEAN)


def covers_sharpe(generator: np.random.Generator, shape: tuple[int, int], rho: float) -> bool:
    """Sharpe ratio per bar of all agents together."""
    series = MEAN + draw_returns(generator, shape, rho, 0.1).mean(axis=1)
    deviation = DEVIATION * math.sqrt(rho + (1.0 - rho) / shape[1])
    return interval_of(series, sharpe_of).covers(MEAN / deviation)


def covers_oracle_share(generator: np.random.Generator, shape: tuple[int, int], rho: float) -> bool:
    """What agents earn ÷ what an oracle earns on the same bars; the truth is 0.8."""
    shared = draw_returns(generator, shape, rho, 0.0).mean(axis=1)
    mine, best = draw_returns(generator, (shape[0], 2), 0.0, 0.0).T / 10.0
    mean = 10.0 * DEVIATION / math.sqrt(shape[0])
    found = share_interval(0.8 * mean + shared + mine, mean + shared + best, 2000)
    return found is not None and found.covers(0.8)


def covers_win_rate(generator: np.random.Generator, shape: tuple[int, int], rho: float) -> bool:
    """Win rate of trades that last eight bars on average; the truth is one half."""
    worth = np.cumsum(draw_returns(generator, shape, rho, 0.0), axis=0)
    ends = generator.random(shape) < 1.0 / 8.0
    won, first, last = [], [], []
    for agent in range(shape[1]):
        at = np.flatnonzero(ends[:, agent])
        won.append(np.diff(worth[at, agent]) > 0.0)
        first.append(at[:-1] + 1)
        last.append(at[1:])
    trades = (np.concatenate(each) for each in (won, first, last))
    return win_rate_interval(*trades, shape[0]).covers(0.5)


def covers_seeds(generator: np.random.Generator, shape: tuple[int, int], rho: float) -> bool:
    """Interquartile mean of five trainings; ρ is the share of their variance that bars make."""
    luck = draw_returns(generator, (shape[0], 1), 0.0, 0.0).T
    own = draw_returns(generator, (shape[0], 5), 0.0, 0.0).T / 3.0
    shared = max(rho, 0.05)
    between = DEVIATION / math.sqrt(shape[0]) * math.sqrt((1.0 - shared) / shared)
    return runs_interval(luck + own + between * generator.standard_normal((5, 1))).covers(0.0)


INTERVALS: dict[str, Callable[[np.random.Generator, tuple[int, int], float], bool]] = {
    "net return": covers_net,
    "Sharpe ratio": covers_sharpe,
    "share of the oracle": covers_oracle_share,
    "win rate": covers_win_rate,
    "five seeds": covers_seeds,
}


def passing_nulls(draws: int, n_bars: int, persistence: float) -> float:
    """Return the share of tracks without skill whose probability of skill is above 0.95."""
    passed = 0
    for seed in range(draws):
        generator = np.random.default_rng([seed, 7])
        series = draw_returns(generator, (n_bars, 1), 0.0, persistence)[:, 0]
        found = measure_sharpe(series)
        shape = {"skew": found.skew, "kurtosis": found.kurtosis}
        passed += probabilistic_sharpe(found.sharpe, n_bars=effective_bars(series), **shape) > 0.95
    return passed / draws


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400, help="simulated histories per figure")
    parser.add_argument("--bars", type=int, default=500, help="bars of each history")
    parser.add_argument("--agents", type=int, default=20)
    chosen = parser.parse_args()
    print(
        f"{chosen.draws} histories of {chosen.bars} bars and {chosen.agents} agents each; simulated"
    )
    print(f"{'coverage of 95 %':22}" + "".join(f"  ρ = {rho:3.1f}" for rho in CORRELATIONS))
    for name, covers in INTERVALS.items():
        row = []
        for rho in CORRELATIONS:
            generators = (np.random.default_rng([seed, 3]) for seed in range(chosen.draws))
            hits = sum(covers(each, (chosen.bars, chosen.agents), rho) for each in generators)
            row.append(f"{hits / chosen.draws:9.1%}")
        print(f"{name:22}" + "".join(row), flush=True)
    print("\nprobability of skill above 0.95 without skill (5 % are meant)")
    for persistence in AUTOCORRELATIONS:
        share = passing_nulls(5 * chosen.draws, chosen.bars, persistence)
        print(f"autocorrelation {persistence:3.1f}: {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
