"""How the paper broker behaves."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class PaperOptions(CheckedFields):
    """How the venue behaves."""

    cash_ccy: float = bounded(100_000.0, "(0, inf)")
    """Cash of a new account."""
    parts: int = bounded(1, ">= 1")
    """Executions in which a fill comes; they add up to what one would be, to the last digit."""
    latency_s: float = bounded(0.0, "[0, 86400]")
    """Seconds until an order reaches the market, and until a message reaches the trader."""
    survives_power_loss: bool = True
    """Whether every request is on the disk before it is answered; else a killed process loses
    nothing, and a machine without power the last requests. Replays are several times faster."""
