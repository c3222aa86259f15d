"""Bad times: where history has them, and how they are made of calm bars."""

from tradingbot.evaluation.stress.moves import BarArrays
from tradingbot.evaluation.stress.scenarios import crash, gap, shake, thin_volume
from tradingbot.evaluation.stress.settings import StressSettings
from tradingbot.evaluation.stress.windows import HISTORY, HistoricalWindow, covered_bars

__all__ = [
    "HISTORY",
    "BarArrays",
    "HistoricalWindow",
    "StressSettings",
    "covered_bars",
    "crash",
    "gap",
    "shake",
    "thin_volume",
]
