"""The same policy under other costs, delays, limits and capital."""

from tradingbot.evaluation.sensitivity.curves import break_even_bps, capacity_ccy
from tradingbot.evaluation.sensitivity.settings import SensitivitySettings
from tradingbot.evaluation.sensitivity.sweep import Setting, sweep

__all__ = ["SensitivitySettings", "Setting", "break_even_bps", "capacity_ccy", "sweep"]
