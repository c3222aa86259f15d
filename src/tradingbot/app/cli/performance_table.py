"""Tables of policies on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tradingbot.app.console import print_table
from tradingbot.evaluation.performance.table import PERFORMANCE_COLUMNS, performance_row

if TYPE_CHECKING:
    from tradingbot.evaluation.performance.record import PolicyPerformance


def print_performance(
    title: str, policies: Iterable[PolicyPerformance], n_columns: int, caption: str = ""
) -> None:
    """Print policies side by side, with the first so many columns."""
    rows = [performance_row(each)[:n_columns] for each in policies]
    print_table(title, PERFORMANCE_COLUMNS[:n_columns], rows, caption=caption)
