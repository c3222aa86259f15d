"""From trials to a curve: shares found, and the weakest signal that is found often enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.seeding import stream
from tradingbot.evaluation.dossier.power import PowerRung, PowerTrial, SmallestEdge
from tradingbot.evaluation.statistics.interval import Interval, wilson_interval

FloatArray = NDArray[np.float64]
Edge = Callable[[float], float]
"""Strength κ → what it is worth, bp per bar; rising."""
_DRAWS = 4000


def count_rungs(trials: Sequence[PowerTrial], edge: Edge) -> tuple[PowerRung, ...]:
    """Count what was found at each strength, in rising order."""
    rungs = []
    for kappa in sorted({trial.kappa for trial in trials}):
        own = [trial for trial in trials if trial.kappa == kappa]
        rungs.append(
            PowerRung(
                kappa=kappa,
                edge_bps=edge(kappa),
                n_trials=len(own),
                found=wilson_interval(sum(trial.is_found for trial in own), len(own)),
                admitted_frac=sum(trial.is_admitted for trial in own) / len(own),
                alpha_bps=float(np.mean([trial.alpha_bps.estimate for trial in own])),
            )
        )
    return tuple(rungs)


def smallest_edge(
    rungs: Sequence[PowerRung], edge: Edge, *, probability: float, seed: int = 0
) -> SmallestEdge:
    """Interpolate the weakest signal that is found with a probability.

    A stronger signal is found no less often, so shares are made to rise (pooled where they fall)
    and joined by straight lines. The interval is that of 4,000 draws of every rung's share from
    what its trials leave open (Jeffreys: Beta of found + ½ and missed + ½), each treated alike; an
    end is infinite where the draws beyond it never reach the probability.

    Args:
        rungs: In rising order of strength.
        edge: What a strength is worth.
        probability: In (0, 1).
        seed: Root of the draws.
    """
    kappas = np.array([rung.kappa for rung in rungs])
    trials = np.array([rung.n_trials for rung in rungs], dtype=np.float64)
    found = np.array([rung.found.estimate for rung in rungs]) * trials
    estimate = reached_at(kappas, rising(found / trials, trials), probability)
    generator = stream(seed, "power", "shares")
    draws = generator.beta(found + 0.5, trials - found + 0.5, (_DRAWS, len(rungs)))
    ends = np.sort([reached_at(kappas, rising(draw, trials), probability) for draw in draws])
    low, high = float(ends[int(0.025 * _DRAWS)]), float(ends[int(0.975 * _DRAWS)])
    kappa = Interval(estimate, min(low, estimate), max(high, estimate))
    worth = Interval(*(edge(end) if np.isfinite(end) else np.inf for end in kappa))
    return SmallestEdge(probability, kappa, worth)


def rising(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the nearest shares (R,) that never fall: neighbours that fall are pooled.

    Source: pool adjacent violators, e.g. Ayer et al. (1955).
    """
    pools: list[list[float]] = []  # mean, weight, count
    for share, weight in zip(shares.tolist(), weights.tolist(), strict=True):
        pools.append([share, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, heavy, count = pools.pop()
            before = pools[-1]
            total = before[1] + heavy
            pools[-1] = [(before[0] * before[1] + mean * heavy) / total, total, before[2] + count]
    return np.concatenate([np.full(int(count), mean) for mean, _, count in pools])


def reached_at(kappas: FloatArray, shares: FloatArray, probability: float) -> float:
    """Return the strength at which shares that rise reach a probability; infinite if none does."""
    above = np.flatnonzero(shares >= probability)
    if not len(above):
        return float("inf")
    at = int(above[0])
    if at == 0:
        return float(kappas[0])
    part = (probability - shares[at - 1]) / (shares[at] - shares[at - 1])
    return float(kappas[at - 1] + part * (kappas[at] - kappas[at - 1]))
