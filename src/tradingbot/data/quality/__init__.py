"""Is the data fit for use? Screening of rows at import, and the readiness report of a dataset."""

from tradingbot.data.quality.check import Finding, FindingAction, QualityCheck, Severity
from tradingbot.data.quality.coverage import Coverage
from tradingbot.data.quality.quote_checks import QUOTE_COLUMNS, check_quotes
from tradingbot.data.quality.registry import CHECKS
from tradingbot.data.quality.report import QualityReport
from tradingbot.data.quality.revision import compare_revisions
from tradingbot.data.quality.screening import QUARANTINE_COLUMNS, Screening, screen
from tradingbot.data.quality.validation import TRAILING_BARS, validate

__all__ = [
    "CHECKS",
    "QUARANTINE_COLUMNS",
    "QUOTE_COLUMNS",
    "TRAILING_BARS",
    "Coverage",
    "Finding",
    "FindingAction",
    "QualityCheck",
    "QualityReport",
    "Screening",
    "Severity",
    "check_quotes",
    "compare_revisions",
    "screen",
    "validate",
]
