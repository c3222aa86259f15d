"""Every check, by code. A new check is added to the list of its file; nothing changes here."""

from __future__ import annotations

from tradingbot.data.quality.calendar_checks import CALENDAR_CHECKS
from tradingbot.data.quality.check import MarketCheck, QualityCheck
from tradingbot.data.quality.covariate_checks import COVARIATE_CHECKS
from tradingbot.data.quality.coverage_checks import COVERAGE_CHECKS
from tradingbot.data.quality.finding import Severity
from tradingbot.data.quality.import_checks import IMPORT_CHECKS
from tradingbot.data.quality.jump_checks import JUMP_CHECKS
from tradingbot.data.quality.neighbour_checks import NEIGHBOUR_CHECKS
from tradingbot.data.quality.quote_checks import QUOTE_CHECKS
from tradingbot.data.quality.revision import REVISION_CHECKS
from tradingbot.data.quality.row_checks import ROW_CHECKS
from tradingbot.data.quality.series_checks import SERIES_CHECKS
from tradingbot.data.quality.universe_checks import UNIVERSE_CHECKS

NO_BARS = QualityCheck("NO_BARS", "D23", Severity.ERROR, "no usable bar is left", is_fatal=True)

MARKET_CHECKS: tuple[MarketCheck, ...] = (
    *IMPORT_CHECKS,
    *CALENDAR_CHECKS,
    *COVERAGE_CHECKS,
    *JUMP_CHECKS,
    *SERIES_CHECKS,
    *COVARIATE_CHECKS,
    *UNIVERSE_CHECKS,
)
"""What `validate` runs on the laid-out market."""

ALL_CHECKS: tuple[QualityCheck, ...] = (
    NO_BARS,
    *ROW_CHECKS,
    *NEIGHBOUR_CHECKS,
    *MARKET_CHECKS,
    *QUOTE_CHECKS,
    *REVISION_CHECKS,
)
CHECKS: dict[str, QualityCheck] = {check.code: check for check in ALL_CHECKS}
