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
    estimate = float(reached_at(kappas, rising(found / trials, trials), probability))
    generator = stream(seed, "power", "shares")
    draws = generator.beta(found + 0.5, trials - found + 0.5, (_DRAWS, len(rungs)))
    ends = np.sort(reached_at(kappas, rising(draws, trials), probability))
    low, high = float(ends[int(0.025 * _DRAWS)]), float(ends[int(0.975 * _DRAWS)])
    kappa = Interval(estimate, min(low, estimate), max(high, estimate))
    worth = Interval(*(edge(end) if np.isfinite(end) else np.inf for end in kappa))
    return SmallestEdge(probability, kappa, worth)


def rising(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the nearest shares (…, R) that never fall along R: neighbours that fall are pooled.

    Source: the max-min formula of isotonic regression, e.g. Robertson, Wright and Dykstra (1988).
    """
    n_rungs = shares.shape[-1]
    zero = np.zeros_like(shares[..., :1])
    sums = np.concatenate([zero, np.cumsum(shares * weights, axis=-1)], axis=-1)
    totals = np.concatenate([[0.0], np.cumsum(weights)])
    found = np.empty_like(shares)
    for rung in range(n_rungs):
        means = [
            (sums[..., rung + 1 :] - sums[..., [first]]) / (totals[rung + 1 :] - totals[first])
            for first in range(rung + 1)
        ]
        found[..., rung] = np.max([mean.min(axis=-1) for mean in means], axis=0)
    return found


def reached_at(kappas: FloatArray, shares: FloatArray, probability: float) -> FloatArray:
    """Return the strength at which shares (…, R) that rise reach a probability; infinite: none."""
    above = shares >= probability
    at = above.argmax(axis=-1)[..., None]
    before = np.maximum(at - 1, 0)
    high, low = (np.take_along_axis(shares, place, axis=-1)[..., 0] for place in (at, before))
    at, before = at[..., 0], before[..., 0]
    rise = np.where(high > low, high - low, 1.0)
    part = np.where(at > before, (probability - low) / rise, 0.0)
    reached = kappas[before] + part * (kappas[at] - kappas[before])
    return np.asarray(np.where(above.any(axis=-1), reached, np.inf))
