"""Tables of policies on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tradingbot.app.console import print_table, print_text
from tradingbot.evaluation.performance.table import (
    PERFORMANCE_COLUMNS,
    PERFORMANCE_NOTE,
    performance_columns,
    performance_row,
)

if TYPE_CHECKING:
    from tradingbot.evaluation.performance.record import PolicyPerformance
    from tradingbot.evaluation.pipeline.backtest_figures import BacktestFigures


def print_performance(
    title: str, policies: Iterable[PolicyPerformance], n_columns: int, caption: str = ""
) -> None:
    """Print policies side by side, with the first so many columns."""
    shown = list(policies)
    places = performance_columns(shown, n_columns)
    rows = [[performance_row(each)[place] for place in places] for each in shown]
    columns = [PERFORMANCE_COLUMNS[place] for place in places]
    print_table(title, columns, rows, caption=caption)


def flat_figures(figures: BacktestFigures) -> dict[str, object]:
    """Lay the figures of the policy beside what they hold for."""
    held_for = {name: value for name, value in vars(figures).items() if name != "performance"}
    judged = {"break_even_cost_bps": figures.break_even_cost_bps, "answer": figures.answer}
    return {**vars(figures.performance), **held_for, **judged}


def terms_of(figures: Sequence[BacktestFigures]) -> str:
    """Say what the figures hold for, and what policies are whose names do not say it."""
    told = [figures[0].terms, figures[0].begins, *(each.note for each in figures)]
    return " ".join(text for text in told if text)


def print_backtests(figures: Sequence[BacktestFigures]) -> None:
    """Print backtests side by side, and whether each has an edge at the costs charged."""
    plugins = sorted({each.plugin for each in figures if each.plugin})
    code = f" Code of plugins: {', '.join(plugins)}." if plugins else ""
    word = "synthetic" if any(each.synthetic for each in figures) else "observed bars"
    caption = f"{terms_of(figures)} {PERFORMANCE_NOTE}{code}"
    policies = [each.performance for each in figures]
    print_performance(
        f"Backtests ({word}, net of costs)", policies, len(PERFORMANCE_COLUMNS), caption
    )
    for each in figures:
        if each.answer:
            print_text(each.answer)
