"""Oracle of a signal whose strength follows a volatility that changes: planted signals in bars.

Each bar has the thresholds of the linear problem with the strength of that bar for good: volatility
changes slowly beside the signal. What the market earns by itself is neglected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket
from tradingbot.evaluation.oracle.result import Answer, Terms
from tradingbot.evaluation.oracle.switching import (
    NODES,
    SignalModel,
    follow_thresholds,
    solve_signal,
)

_STRENGTHS = 25
"""Strengths that are solved where it varies; thresholds in between are interpolated."""
_NEVER = 1e3
"""A threshold that no signal reaches."""


@dataclass(frozen=True, eq=False)
class VaryingThresholds:
    """Thresholds and gain of a signal whose strength differs from bar to bar; (T, N) each."""

    enter: FloatArray
    exit: FloatArray
    gain: FloatArray
    """Net simple return per bar of following them, were the strength to stay."""


@dataclass(frozen=True, eq=False)
class StrengthTable:
    """Thresholds and gain of a signal at some strengths; those in between are interpolated."""

    places: FloatArray  # (S,) log of the strength, rising
    enter: FloatArray  # (S,)
    exit: FloatArray  # (S,)
    gain: FloatArray  # (S,)

    def at(self, strength: FloatArray) -> VaryingThresholds:
        """Look strengths up; 0 is never traded."""
        is_on = strength > 0.0
        at = np.log(np.where(is_on, strength, 1.0))
        return VaryingThresholds(
            np.where(is_on, np.interp(at, self.places, self.enter), _NEVER),
            np.where(is_on, np.interp(at, self.places, self.exit), -_NEVER),
            np.where(is_on, np.interp(at, self.places, self.gain), 0.0),
        )


def tabulate_strengths(
    lowest: float, highest: float, *, phi: float, terms: Terms, nodes: int = NODES
) -> StrengthTable:
    """Solve a signal at strengths between two, both above 0; `nodes` as in `solve_signal`."""
    strengths = np.geomspace(lowest, highest * (1.0 + 1e-9), _STRENGTHS)
    solved = [
        solve_signal(
            SignalModel(float(each), phi, 0.0),
            cost_frac=terms.cost_frac,
            action_rule=terms.action_rule,
            nodes=nodes,
        )
        for each in strengths
    ]
    return StrengthTable(
        np.log(strengths),
        np.array([min(limits.enter, _NEVER) for limits, _ in solved]),
        np.array([max(limits.exit, -_NEVER) for limits, _ in solved]),
        np.array([gain for _, gain in solved]),
    )


def solve_varying(strength: FloatArray, *, phi: float, terms: Terms) -> VaryingThresholds:
    """Solve a signal whose strength differs from bar to bar.

    Args:
        strength: (T, N) expected simple return of the next bar per unit of signal, ≥ 0.
        phi: Persistence of the signal per bar.
        terms: Cost and rule.
    """
    reached = strength[strength > 0.0]
    if not len(reached):
        never = np.full_like(strength, _NEVER)
        return VaryingThresholds(never, -never, np.zeros_like(strength))
    table = tabulate_strengths(float(reached.min()), float(reached.max()), phi=phi, terms=terms)
    return table.at(strength)


def solve_spiked(market: SyntheticMarket, terms: Terms) -> Answer:
    """Follow a planted signal by the thresholds of each bar's volatility.

    A reference within reach, not proved to be the best: see the module.
    """
    strength = float(market.params["kappa"]) * market.latent["volatility"]
    found = solve_varying(strength, phi=float(market.params["phi"]), terms=terms)
    signal, lowest = np.nan_to_num(market.covariates["signal"]), terms.action_rule.lowest
    return Answer(
        targets=follow_thresholds(signal, found.enter, found.exit, lowest=lowest),
        is_optimal=False,
        net_bps=float(found.gain.mean()) * 1e4,
    )
