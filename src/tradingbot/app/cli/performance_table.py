"""Tables of policies on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tradingbot.app.console import print_table
from tradingbot.evaluation.performance.table import (
    PERFORMANCE_COLUMNS,
    performance_columns,
    performance_row,
)

if TYPE_CHECKING:
    from tradingbot.evaluation.performance.record import PolicyPerformance


def print_performance(
    title: str, policies: Iterable[PolicyPerformance], n_columns: int, caption: str = ""
) -> None:
    """Print policies side by side, with the first so many columns."""
    shown = list(policies)
    places = performance_columns(shown, n_columns)
    rows = [[performance_row(each)[place] for place in places] for each in shown]
    columns = [PERFORMANCE_COLUMNS[place] for place in places]
    print_table(title, columns, rows, caption=caption)
