"""Terms that pay for what was earned: P&L, its costs, its growth."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import bounded
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, TermOptions

LOWEST_RETURN = -0.999999


@dataclass(frozen=True)
class PnlOptions(TermOptions):
    """How P&L is counted."""

    scale: float = bounded(50.0, "(0, 1e6]")
    """Reward per gain of one largest position."""
    realised_only: bool = False
    """Count P&L when it is realised, not as it is marked."""
    roi_slope: float = bounded(2.0, "[0, 100]")
    """Growth of the ROI multiplier; 0 switches it off."""
    roi_low: float = bounded(0.5, "[0, 1]")
    roi_high: float = bounded(3.0, "[1, 10]")
    entry_small: float = bounded(1.2, "[0, 10]")
    entry_medium: float = bounded(1.0, "[0, 10]")
    entry_large: float = bounded(0.8, "[0, 10]")
    exit_partial: float = bounded(0.8, "[0, 10]")
    exit_full: float = bounded(1.0, "[0, 10]")
    exit_staged: float = bounded(1.1, "[0, 10]")
    """Exit that ends a trade after partial exits."""
    pyramiding: float = bounded(1.3, "[0, 10]")
    multiply_losses: bool = True
    """Multiply realised losses as well; if not, chance alone earns a reward."""


def pnl(step: RewardInputs[T], options: PnlOptions, xp: Maths[T]) -> T:
    """Profit and loss of the step, with multipliers on what is realised.

    Formula:
        `scale · (p + (m − 1) · g)` with `p` the change of equity, or of realised P&L if
        `realised_only`; `g` the realised P&L of what was closed in the step (gains only, if
        `multiply_losses` is off); both as shares of the largest position. The multiplier is
        `m = clamp(1 + 2 · ROI, 0.5, 3) · entry · exit · pyramiding`: `entry` 1.2, 1.0, 0.8 for a
        position opened small, medium, large; `exit` 0.8 for a partial exit, 1.0 for a full one, 1.1
        for the last of several; `pyramiding` 1.3 if the position had been added to. What is marked
        bar by bar and then realised is paid `scale · m · P&L` in all, unless it was cut.

    Unit:
        1 is a gain of 2 % on the largest position allowed (`scale` = 50): some three standard
        deviations of an hourly bar.

    Bounds:
        [−1, 1].

    Notes:
        Gains and losses are multiplied alike. Were only gains, a trader without any edge would earn
        a reward by trading. Costs are in the P&L already; the term `cost` weighs them once more.

    Version history:
        1: first.
    """
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


@dataclass(frozen=True)
class CostOptions(TermOptions):
    """How costs weigh."""

    scale: float = bounded(100.0, "(0, 1e6]")
    """Reward lost per cost of one largest position."""
    bounds = Bounds(-1.0, 0.0)


def cost(step: RewardInputs[T], options: CostOptions, xp: Maths[T]) -> T:
    """What trading cost in the step: commission, slippage, spread, impact and borrow.

    Formula:
        `−scale · cost`, the cost as a share of the largest position.

    Unit:
        −1 is a cost of 1 % of the largest position allowed (`scale` = 100); buying all of it at the
        default profile costs 1.2 bp, which is −0.012.

    Bounds:
        [−1, 0].

    Notes:
        P&L is net of costs already; this term makes trading without purpose dearer than it is.

    Version history:
        1: first.
    """
    return -options.scale * step.cost


@dataclass(frozen=True)
class LogGrowthOptions(TermOptions):
    """How growth is scaled."""

    scale: float = bounded(200.0 / 3.0, "(0, 1e6]")
    """Reward per unit of log growth."""


def log_growth(step: RewardInputs[T], options: LogGrowthOptions, xp: Maths[T]) -> T:
    """Logarithmic growth of equity, the quantity that compounds.

    Formula:
        `scale · log(1 + equity return)`; the return is not taken below −0.999999, which only a
        bankrupt account has. 0 where equity was not positive before.

    Unit:
        1 is a growth of 1.5 % of equity (`scale` = 200/3: the gain of 10 % on a largest position of
        15 %, as in `pnl`).

    Bounds:
        [−1, 1].

    Source:
        Kelly, 1956, A new interpretation of information rate.

    Version history:
        1: first.
    """
    return options.scale * xp.log1p(xp.maximum(step.equity_return, LOWEST_RETURN))


@dataclass(frozen=True)
class RoiOptions(TermOptions):
    """How profit that is not realised yet counts."""

    scale: float = bounded(100.0, "(0, 1e6]")
    """Reward per realised P&L of one largest position."""
    unrealised: float = bounded(0.3, "[0, 1]")
    """What a change of unrealised P&L counts for, of a realised one."""


def roi(step: RewardInputs[T], options: RoiOptions, xp: Maths[T]) -> T:
    """Profit as it is realised, and part of it as it is marked: the objective profit.

    Formula:
        `scale · (realised + unrealised · (gain − realised))`: realised P&L of the step, and the
        change of equity beyond it, both as shares of the largest position.

    Unit:
        1 is a realised gain of 1 % on the largest position allowed (`scale` = 100).

    Bounds:
        [−1, 1].

    Notes:
        Over a whole trade what is unrealised adds up to nothing: the trade is paid its P&L, costs
        included, and `unrealised` only says how much of it comes before the exit.

    Version history:
        1: first.
    """
    marked = step.gain - step.realised
    return options.scale * (step.realised + options.unrealised * marked)
