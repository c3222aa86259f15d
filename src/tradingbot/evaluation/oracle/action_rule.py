"""What a policy may hold and what trading costs: the terms every oracle is computed under."""

from __future__ import annotations

from enum import StrEnum

from tradingbot.domain.errors import ConfigError

COMMISSION_FRAC = 0.2e-4
"""Commission per unit of turnover: 0.2 bp."""
SLIPPAGE_FRAC = 1.0e-4
"""Slippage per unit of turnover: 1 bp."""
DEFAULT_COST_FRAC = COMMISSION_FRAC + SLIPPAGE_FRAC
"""Cost per unit of turnover, 1.2 bp; a round trip of a full position pays it twice."""


class ActionRule(StrEnum):
    """Which target positions are allowed, as a fraction of the symbol's fixed capital."""

    LONG_ONLY = "long_only"
    """Any position in [0, 1]."""
    LONG_SHORT = "long_short"
    """Any position in [-1, 1]."""

    @property
    def lowest(self) -> float:
        """The smallest position allowed."""
        return 0.0 if self is ActionRule.LONG_ONLY else -1.0

    @property
    def width(self) -> float:
        """Distance between the smallest and the largest position."""
        return 1.0 - self.lowest


class Information(StrEnum):
    """What the policy of an oracle may know when it decides."""

    OMNISCIENT = "omniscient"
    """The latent state at the close of the bar; an upper bound that no trader reaches."""
    ATTAINABLE = "attainable"
    """Bars and covariates up to the close only; what a learner is judged against."""


def require_cost(cost_frac: float) -> float:
    """Return a cost per unit of turnover if it is one.

    Raises:
        ConfigError: If it is negative, not finite, or 100 % and more.
    """
    if not 0.0 <= cost_frac < 1.0:
        raise ConfigError(
            "cost_frac must lie in [0, 1)", was=cost_frac, remedy="1.2 bp is written 0.00012"
        )
    return cost_frac
