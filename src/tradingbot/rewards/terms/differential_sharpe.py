"""The differential Sharpe ratio: how one more return moves an exponentially weighted Sharpe.

Formula:
    `scale · (B · ΔA − ½ · A · ΔB) / (B − A²)^(3/2)` with A, B the account's moving first and second
    moments of returns before the step (rate 1/50), `ΔA = r − A`, `ΔB = r² − B`. `B − A²`
    is at least 1e-12.

Unit:
    0.1 is a return of one standard deviation from a mean of 0 (`scale` = 0.1).

Bounds:
    [−1, 1].

Notes:
    0 until the account has had a return other than 0.

Source:
    Moody and Saffell, 2001, Learning to trade via direct reinforcement.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require

VARIANCE_FLOOR = 1.0e-12
"""Of returns per bar, squared."""


@dataclass(frozen=True)
class DifferentialSharpeOptions:
    """How it is scaled."""

    scale: float = 0.1
    """Reward per standard deviation."""

    def __post_init__(self) -> None:
        require(0.0 < self.scale <= 1e6, "scale must lie in (0, 1e6]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


def differential_sharpe(
    step: RewardInputs[T], options: DifferentialSharpeOptions, xp: Maths[T]
) -> T:
    """Compute the term before it is cut; see the module."""
    mean, power, change = step.return_mean, step.return_power, step.equity_return
    variance = xp.maximum(power - mean * mean, VARIANCE_FLOOR)
    top = power * (change - mean) - 0.5 * mean * (change * change - power)
    return options.scale * top / (variance * xp.sqrt(variance))


TERM = RewardTerm(
    "differential_sharpe", 1, differential_sharpe, DifferentialSharpeOptions, objective="risk"
)
