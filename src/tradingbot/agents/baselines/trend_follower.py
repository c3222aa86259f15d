"""A trend follower as a textbook has it: simple, causal, and the same on every market.

It reads regime indicators only: those have fixed units, so that no scaler decides what it does.
That it earns anything is not claimed. It was called `expert` until that rule got its indicators.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tradingbot.agents.policy import PolicyInputs, apply_no_trade_band
from tradingbot.domain.errors import ConfigError

USED_REGIMES = ("momentum_regime", "trend_regime", "volatility_regime")


@dataclass(frozen=True)
class TrendLimits:
    """Where the trend follower enters and leaves; units of the regime indicators."""

    enter_momentum: float = 0.45
    """Return of 24 bars from which on to buy: m / √(1 + m²) with m = 0.5 of its usual size."""
    exit_momentum: float = -0.2
    """The same at which to sell; below the entry, or noise around one value would trade."""
    enter_trend: float = 0.0
    """sma_20 must lie above sma_50 by more than this, as squashed multiples of the true range."""
    calm_volatility: float = 0.95
    """Volatility percentile among the last 168 bars above which nothing is bought."""


@dataclass(frozen=True)
class TrendFollower:
    """Buys what rises in both the fast and the slow trend while it is calm; sells when it falls.

    Flat: buy the largest position if momentum ≥ `enter_momentum`, trend > `enter_trend` and
    volatility ≤ `calm_volatility`. Long: sell all if momentum ≤ `exit_momentum`; else hold.
    Undefined indicators are 0, which is neither an entry nor an exit.
    """

    regime_names: tuple[str, ...]
    limits: TrendLimits = TrendLimits()

    def __post_init__(self) -> None:
        """Refuse a market that does not show what the rule reads."""
        for name in USED_REGIMES:
            if name not in self.regime_names:
                raise ConfigError(
                    "the trend follower must see its regime indicators",
                    was=f"no {name}",
                    where=", ".join(self.regime_names) or "no regimes",
                )

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return targets (B,): 0 or 1, or the position that is held."""
        momentum, trend, volatility = (
            seen.regimes[:, self.regime_names.index(name)] for name in USED_REGIMES
        )
        limits = self.limits
        enters = (
            (momentum >= limits.enter_momentum)
            & (trend > limits.enter_trend)
            & (volatility <= limits.calm_volatility)
        )
        is_long = seen.size > 0.0
        wants = torch.where(is_long, momentum > limits.exit_momentum, enters)
        return apply_no_trade_band(wants.to(seen.size.dtype), seen.size)
