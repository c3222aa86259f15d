"""How much data a benchmark runs on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One point of the curve."""

    symbols: int
    years: int
    timeframe: str = "1h"

    @property
    def label(self) -> str:
        """`143x2y`; daily sizes say so."""
        daily = "_daily" if self.timeframe == "1d" else ""
        return f"{self.symbols}x{self.years}y{daily}"
