"""Every check, by code. A new check stands in the file of its kind; nothing changes here."""

from __future__ import annotations

from collections.abc import Iterable

from tradingbot.data.quality import calendar_checks, dataset_checks, jump_checks, series_checks
from tradingbot.data.quality.check import MarketCheck, QualityCheck, Severity
from tradingbot.data.quality.quote_checks import QUOTE_CHECKS
from tradingbot.data.quality.revision import REVISION_CHECKS
from tradingbot.data.quality.row_checks import ROW_CHECKS
from tradingbot.domain.errors import require_known

NO_BARS = QualityCheck("NO_BARS", "D23", Severity.ERROR, "no usable bar is left", is_fatal=True)

_ABOUT_MARKETS = (dataset_checks, calendar_checks, jump_checks, series_checks)
MARKET_CHECKS: tuple[MarketCheck, ...] = tuple(
    each
    for module in _ABOUT_MARKETS
    for each in vars(module).values()
    if isinstance(each, MarketCheck)
)
"""What `validate` runs on the laid-out market."""

ALL_CHECKS: tuple[QualityCheck, ...] = (
    *(NO_BARS, *ROW_CHECKS, *MARKET_CHECKS, *QUOTE_CHECKS, *REVISION_CHECKS),
)
CHECKS: dict[str, QualityCheck] = {check.code: check for check in ALL_CHECKS}


def require_error_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """Return codes of errors; refuse what no check of that severity has, and name the closest.

    Raises:
        ConfigError: If one is unknown, or that of a finding that refuses nothing.
    """
    errors = [code for code, check in CHECKS.items() if check.severity is Severity.ERROR]
    rule = "--accept must be the code of an error in bars"
    return tuple(require_known(code, errors, rule) for code in codes)
