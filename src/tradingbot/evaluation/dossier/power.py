"""Power on one's own data: how strong a signal must be for the pipeline to find it there.

Strength κ is in units of each symbol's own volatility; what it is worth, in basis points per bar,
is what the oracle of the planted signal is expected to earn on the test bars, net of costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.evaluation.statistics.interval import Interval

POWER_VERSION = 1
TARGET_SHARE = 0.8
"""Probability of being found that the smallest edge is asked for."""


@dataclass(frozen=True)
class PowerTrial:
    """One pipeline on bars with a planted signal."""

    kappa: float
    repetition: int
    """0 …; equal repetitions have the same signal and training seed at every strength."""
    signal_seed: int
    training_seed: int
    trading_agents: int
    """That validation let trade."""
    alpha_bps: Interval
    """Of the test part: bp per bar, mean of the accounts, net of costs and of the market's part."""
    net_bps: float
    """The same with the market's part."""
    failed: str = ""
    """Why training was halted; such a trial found nothing."""

    @property
    def is_admitted(self) -> bool:
        """Whether validation let an agent trade."""
        return self.trading_agents > 0 and not self.failed

    @property
    def is_found(self) -> bool:
        """Whether the signal counts as found: admitted, and earned on test beyond its error."""
        return self.is_admitted and self.alpha_bps.low > 0.0


@dataclass(frozen=True)
class PowerRung:
    """All trials of one strength."""

    kappa: float
    edge_bps: float
    """Expected net bp per bar of the oracle on the test bars."""
    n_trials: int
    found: Interval
    """Share of the trials; 95 %, Wilson."""
    admitted_frac: float
    """Share that validation let trade."""
    alpha_bps: float
    """Mean of the trials on test."""


@dataclass(frozen=True)
class SmallestEdge:
    """The weakest signal that is found with a wanted probability; infinite: not on this ladder."""

    probability: float
    kappa: Interval
    """Interpolated between strengths; the upper end is infinite where it may not be reached."""
    edge_bps: Interval
    """What such a signal is worth."""

    @property
    def is_reached(self) -> bool:
        """Whether a strength of the ladder is found that often."""
        return math.isfinite(self.kappa.estimate)


@dataclass(frozen=True)
class PowerCurve:
    """Shares found along a ladder of strengths, and everything they hold for."""

    version: int
    subject: str
    """Id of the run, or name of the dataset."""
    run: str
    """Id of the run; empty where a dataset was asked about."""
    label: str
    """Bars, and that a synthetic signal was planted in them."""
    is_observed: bool
    """The bars without the signal are observed ones."""
    symbols: int
    train: str
    validation: str
    test: str
    """First and last day of each part."""
    costs: str
    learner: str
    steps_per_agent: int
    phi: float
    """Persistence of the signal per bar."""
    seed: int
    data_sha256: str
    config_hash: str
    rungs: tuple[PowerRung, ...]
    smallest: SmallestEdge
    trials: tuple[PowerTrial, ...]
    command: str

    @property
    def words(self) -> str:
        """The answer in one sentence."""
        share, edge = f"{100.0 * self.smallest.probability:.0f} %", self.smallest.edge_bps
        strongest = self.rungs[-1]
        if not self.smallest.is_reached:
            return (
                f"No edge up to {strongest.edge_bps:.2f} bp per bar (κ {strongest.kappa:g}) would "
                f"have been found with {share} probability."
            )
        if self.smallest.kappa.estimate <= self.rungs[0].kappa:
            return (
                f"Already the weakest rung (κ {self.rungs[0].kappa:g}) is found with {share} "
                "probability: the data have an edge of their own, or the ladder begins too high."
            )
        most = f"{edge.high:.2f}" if math.isfinite(edge.high) else "beyond the ladder"
        return (
            f"An edge of {edge.estimate:.2f} bp per bar or more (95 %: {edge.low:.2f} … {most}; "
            f"κ {self.smallest.kappa.estimate:.3f}) would have been found with {share} "
            "probability: let in by validation, and alpha above 0 on test. The edge is what the "
            "oracle earns within the rules of the run."
        )
