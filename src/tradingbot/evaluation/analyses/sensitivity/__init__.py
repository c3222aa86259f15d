"""The same policy under other costs, delays, limits and capital."""

from tradingbot.evaluation.analyses.sensitivity.curves import break_even_bps, capacity_ccy
from tradingbot.evaluation.analyses.sensitivity.settings import SensitivitySettings
from tradingbot.evaluation.analyses.sensitivity.sweep import Setting, sweep

__all__ = ["SensitivitySettings", "Setting", "break_even_bps", "capacity_ccy", "sweep"]
