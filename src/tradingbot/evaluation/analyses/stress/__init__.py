"""Bad times: where history has them, and how they are made of calm bars."""

from tradingbot.evaluation.analyses.stress.moves import BarArrays
from tradingbot.evaluation.analyses.stress.scenarios import crash, gap, shake, thin_volume
from tradingbot.evaluation.analyses.stress.settings import StressSettings
from tradingbot.evaluation.analyses.stress.windows import HISTORY, HistoricalWindow, covered_bars

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
