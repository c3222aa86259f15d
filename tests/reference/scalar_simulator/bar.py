"""One bar of one symbol as plain numbers."""

from __future__ import annotations

from typing import NamedTuple


class ScalarBar(NamedTuple):
    """One bar of one symbol; `market.bars.Bar` says what each is."""

    open: float
    high: float
    low: float
    close: float
    volume: float
    volatility: float
    tradable: float
