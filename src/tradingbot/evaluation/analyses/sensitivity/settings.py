"""Which conditions are tried."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class SensitivitySettings:
    """Conditions, one axis at a time; each tuple rises."""

    cost_bps: tuple[float, ...] = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    """One-way costs of everything together, in place of the run's profile."""
    delay_bars: tuple[int, ...] = (0, 1, 2, 3)
    """Bars that decisions wait beyond the next open."""
    slippage_bps: tuple[float, ...] = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
    """Slippage, with the other rates of the run's profile."""
    limit_shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    """Largest position, of the run's own limit."""
    capital_ccy: tuple[float, ...] = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    """Capital of all sleeves together, with market impact."""
    impact_coef: float = 1.0
    """Impact = this · volatility per bar · √(filled ÷ volume of the bar), unless the run's profile
    has one of its own."""

    def __post_init__(self) -> None:
        """Refuse axes that are empty or do not rise."""
        require_kinds(self)
        for name in ("cost_bps", "delay_bars", "slippage_bps", "limit_shares", "capital_ccy"):
            values = getattr(self, name)
            require(
                bool(values) and list(values) == sorted(set(values)),
                f"{name} must have values that rise",
                self,
            )
            require(values[0] >= 0, f"{name} must be 0 or more", self)
        require(self.delay_bars[0] == 0, "delay_bars must begin with 0", self)
        require(self.cost_bps[-1] <= 1_000.0, "cost_bps must be 1,000 or less", self)
        require(self.slippage_bps[-1] <= 1_000.0, "slippage_bps must be 1,000 or less", self)
        require(
            self.limit_shares[0] > 0.0 and self.limit_shares[-1] <= 1.0,
            "limit_shares must lie in (0, 1]",
            self,
        )
        require(self.capital_ccy[0] > 0.0, "capital_ccy must be above 0", self)
        require(0.0 < self.impact_coef < 10.0, "impact_coef must lie in (0, 10)", self)
