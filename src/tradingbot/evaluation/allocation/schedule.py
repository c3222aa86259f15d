"""Weights by rule for every bar of a book: estimated on the bars before, anew every few bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import MissingExtraError
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.allocation.rules import (
    ALLOCATION_RULES,
    FLAT,
    AllocationRule,
    KnownSleeves,
)
from tradingbot.evaluation.backtest.portfolios import backtest_portfolios
from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.learning.task import Observation

LOOKBACK_BARS = 504
"""Past bars that means and covariances are estimated on."""
EVERY_BARS = 35
"""Bars between two estimates: a week of hourly bars of a session."""
FEWEST_BARS = 24
"""Bars below which nothing is estimated, and all stays in cash."""


@dataclass(frozen=True, eq=False)
class AllocationSchedule:
    """Weights (T, N + 1) of every bar, known before a portfolio is played; an allocator."""

    weights: Tensor

    def __call__(self, seen: Observation) -> Tensor:
        """Return the weights (1, B, N + 1) of the bars that are seen."""
        return self.weights[seen.row]


def schedule_rule(
    rule: AllocationRule, book: SleeveBook, first_bar: int, last_bar: int, *, aversion: float
) -> AllocationSchedule:
    """Ask a rule every `EVERY_BARS` bars, with what was known then.

    Args:
        rule: What is asked.
        book: Sleeves; bars up to the one of the decision are looked at.
        first_bar: Of the first decision.
        last_bar: Of the last close.
        aversion: Weight of half the variance.
    """
    weights = np.zeros((book.n_bars, book.n_sleeves + 1))
    weights[:, -1] = 1.0
    value = np.maximum(book.value, np.finfo(np.float64).tiny)
    returns = value[1:] / value[:-1] - 1.0
    confidence = book.column("confidence").double().numpy(force=True)
    for bar in range(first_bar, last_bar, EVERY_BARS):
        past = returns[max(0, bar - LOOKBACK_BARS) : bar]  # row b − 1 ends at the close of b
        if len(past) >= FEWEST_BARS:
            known = KnownSleeves(past, confidence[bar], aversion)
            weights[bar : min(bar + EVERY_BARS, last_bar)] = rule(known)
    return AllocationSchedule(torch.from_numpy(weights).to(book.rows.device))


def backtest_allocations(
    task: PortfolioTask,
    bars: IndexRange,
    *,
    bars_per_year: float,
    names: Sequence[str] | None = None,
    delay_bars: int = 0,
) -> tuple[Backtest, ...]:
    """Play rules over some bars, as portfolios of the same sleeves.

    Args:
        task: What they trade by; sleeves, costs and gate are the master's.
        bars: From that of the first decision to that at whose close it ends.
        bars_per_year: To annualise with.
        names: Of rules; by default every one but that of all cash whose extra is installed.
        delay_bars: Bars that decisions wait beyond the next open.

    Raises:
        MissingExtraError: If a rule that is named needs an extra.
    """
    first, last, aversion = bars.start, bars.stop - 1, 1.0 + task.terms.risk_aversion
    if names is None:
        rules, _ = schedule_rules(task.book, first, last, aversion=aversion)
        rules.pop(FLAT)  # the table has it as a policy of every run
    else:
        rules = {
            name: schedule_rule(ALLOCATION_RULES[name], task.book, first, last, aversion=aversion)
            for name in names
        }
    over = task.backtest(first, last, len(rules))
    return backtest_portfolios(over, rules, bars_per_year=bars_per_year, delay_bars=delay_bars)


def schedule_rules(
    book: SleeveBook, first_bar: int, last_bar: int, *, aversion: float
) -> tuple[dict[str, AllocationSchedule], dict[str, str]]:
    """Return all rules by name, and why some are missing: an extra that is not installed."""
    made, missing = {}, {}
    for name, rule in ALLOCATION_RULES.items():
        try:
            made[name] = schedule_rule(rule, book, first_bar, last_bar, aversion=aversion)
        except MissingExtraError as e:
            missing[name] = str(e)
    return made, missing
