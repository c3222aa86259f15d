"""Profit and loss of the step, with multipliers on what is realised.

Formula:
    `scale · (p + (m − 1) · g)` with `p` the change of equity, or of realised P&L if
    `realised_only`; `g` the realised P&L of what was closed in the step (gains only, if
    `multiply_losses` is off); both as shares of the largest position. The multiplier is
    `m = clamp(1 + 2 · ROI, 0.5, 3) · entry · exit · pyramiding`: `entry` 1.2, 1.0, 0.8 for a
    position opened small, medium, large; `exit` 0.8 for a partial exit, 1.0 for a full one, 1.1 for
    the last of several; `pyramiding` 1.3 if the position had been added to.
    What is marked bar by bar and then realised is paid `scale · m · P&L` in all, unless it was cut.

Unit:
    1 is a gain of 2 % on the largest position allowed (`scale` = 50): some three standard
    deviations of an hourly bar.

Bounds:
    [−1, 1].

Notes:
    Gains and losses are multiplied alike. Were only gains, a trader without any edge would earn a
    reward by trading. Costs are in the P&L already; the term `cost` weighs them once more.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class PnlOptions:
    """How P&L is counted."""

    scale: float = 50.0
    """Reward per gain of one largest position."""
    realised_only: bool = False
    """Count P&L when it is realised, not as it is marked."""
    roi_slope: float = 2.0
    """Growth of the ROI multiplier; 0 switches it off."""
    roi_low: float = 0.5
    roi_high: float = 3.0
    entry_small: float = 1.2
    entry_medium: float = 1.0
    entry_large: float = 0.8
    exit_partial: float = 0.8
    exit_full: float = 1.0
    exit_staged: float = 1.1
    """Exit that ends a trade after partial exits."""
    pyramiding: float = 1.3
    multiply_losses: bool = True
    """Multiply realised losses as well; if not, chance alone earns a reward."""

    def __post_init__(self) -> None:
        require(0.0 < self.scale <= 1e6, "scale must lie in (0, 1e6]", self)
        require(0.0 <= self.roi_slope <= 100.0, "roi_slope must lie in [0, 100]", self)
        require(
            0.0 <= self.roi_low <= 1.0 <= self.roi_high <= 10.0,
            "roi_low must lie in [0, 1] and roi_high in [1, 10]",
            self,
        )
        for name in (
            "entry_small",
            "entry_medium",
            "entry_large",
            "exit_partial",
            "exit_full",
            "exit_staged",
            "pyramiding",
        ):
            require(0.0 <= getattr(self, name) <= 10.0, f"{name} must lie in [0, 10]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


def pnl(step: RewardInputs[T], options: PnlOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    counted = step.realised if options.realised_only else step.gain
    realised = xp.where(step.closed_frac > 0.0, step.realised, 0.0)
    multiplied = realised if options.multiply_losses else xp.maximum(realised, 0.0)
    roi_factor = xp.clip(1.0 + options.roi_slope * step.roi, options.roi_low, options.roi_high)
    factor = roi_factor * _entry_factor(step, options, xp) * _exit_factor(step, options)
    factor = factor * (1.0 + (options.pyramiding - 1.0) * step.pyramided)
    return options.scale * (counted + (factor - 1.0) * multiplied)


def _entry_factor(step: RewardInputs[T], options: PnlOptions, xp: Maths[T]) -> T:
    """Return 1 for a position that was opened in this very step."""
    size = step.closed_class
    one = 1.0 + 0.0 * size
    factor = xp.where(size == 1.0, options.entry_small, one)
    factor = xp.where(size == 2.0, options.entry_medium, factor)
    return xp.where(size == 3.0, options.entry_large, factor)


def _exit_factor(step: RewardInputs[T], options: PnlOptions) -> T:
    full = options.exit_full - options.exit_partial
    staged = options.exit_staged - options.exit_full
    return options.exit_partial + full * step.ended + staged * step.staged


TERM = RewardTerm("pnl", 1, pnl, PnlOptions, objective="profit")
