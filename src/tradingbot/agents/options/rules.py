"""The figures of the five options; fractions are of one, positions of equity."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tradingbot.domain.checks import CheckedFields, bounded, require

OPTION_NAMES = ("open_long", "close_position", "trend_follow", "scalp", "wait")
OPTION_READS = ("size", "entry_move", "exposure", "total_return")
"""Private numbers that options read."""


@dataclass(frozen=True)
class OptionRules(CheckedFields):
    """When options begin, what they do, when they end. Defaults are the plan's."""

    timeout_bars: int = bounded(20, ">= 1")
    """Bars after which every option ends."""
    entry_actions: tuple[float, float, float] = (0.3, 0.5, 0.7)
    """Open long: buys so much at its first, second and every later bar."""
    entry_band_frac: float = bounded(0.01, "> 0")
    """Open long: begins within so much of the mean of the last 20 closes, on either side."""
    entry_position_frac: float = bounded(0.05, "(0, 1]")
    """Open long: ends at a position of so much; begins below it …"""
    entry_most_frac: float = bounded(0.10, "(0, 1]")
    """… and buys nothing more from this one on."""
    entry_bars: int = bounded(10, ">= 1")
    """Open long: ends after so many bars at the latest."""
    stop_frac: float = bounded(0.01, "> 0")
    """Close position: sells all at such a loss since entry."""
    partial_frac: float = bounded(0.01, "> 0")
    """Close position: sells `partial_action` from such a profit on …"""
    partial_action: float = bounded(0.3, "(0, 1]")
    """… so much of the position."""
    target_frac: float = bounded(0.02, "> 0")
    """Close position: sells `target_action` from such a profit on …"""
    target_action: float = bounded(0.8, "(0, 1]")
    """… so much of the position."""
    trend_gap_frac: float = bounded(0.02, "> 0")
    """Trend follow: begins where sma_10 ÷ sma_20 − 1 is as large; ends when half of it is left."""
    scalp_action: float = bounded(0.3, "(0, 1]")
    """Scalp: buys so much below the mean of 20 closes, sells so much above it."""
    scalp_bars: int = bounded(5, ">= 1")
    """Scalp: ends after so many bars."""

    def __post_init__(self) -> None:
        """Refuse figures in the wrong order."""
        super().__post_init__()
        rising = len(self.entry_actions) == 3 and all(
            low <= high for low, high in pairwise((0.0, *self.entry_actions, 1.0))
        )
        require(rising, "entry_actions must be three rising numbers in [0, 1]", self)
        in_order = self.entry_position_frac <= self.entry_most_frac
        require(in_order, "entry_position_frac must not exceed entry_most_frac", self)
        in_order = self.partial_frac <= self.target_frac
        require(in_order, "partial_frac must not exceed target_frac", self)
