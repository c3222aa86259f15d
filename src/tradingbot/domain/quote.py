"""A bid and an ask, as a venue shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Quote:
    """Best bid and ask of a symbol; a side without a quote is 0."""

    bid: float
    ask: float
    at: datetime | None = None
    """When it was made; None where that is not told."""

    @property
    def is_crossed(self) -> bool:
        """Whether the bid reaches the ask (crossed or locked), or a side is missing: no market."""
        return not 0.0 < self.bid < self.ask < math.inf

    @property
    def spread_frac(self) -> float:
        """Ask less bid, of the price between them.

        Example:
            >>> Quote(99.0, 101.0).spread_frac
            0.02
        """
        middle = (self.bid + self.ask) / 2
        return (self.ask - self.bid) / middle if middle > 0.0 else math.nan
