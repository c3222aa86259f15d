"""The table of known answers in `docs/concepts/oracles.md`, written from oracle results."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot.evaluation.oracle.result import OracleResult
from tradingbot.evaluation.statistics.interval import Interval

TABLE_BEGIN, TABLE_END = "<!-- table: known answers -->\n", "\n<!-- end -->"
"""Marks around the table in a page."""


def format_table(results: Sequence[OracleResult]) -> str:
    """Write results as a Markdown table, one row each, labelled synthetic."""
    head = (
        "| market (synthetic) | asked | rule | knows | enter / exit | expected net bp/bar "
        "| simulated net bp/bar (95 %) | turnover per bar | Sharpe per year (95 %) |"
    )
    return "\n".join([head, "|---" * 9 + "|", *(_row(result) for result in results)])


def replace_table(page: str, results: Sequence[OracleResult]) -> str:
    """Put a fresh table between the marks of a page, for when a market changes on purpose."""
    before, rest = page.split(TABLE_BEGIN)
    return before + TABLE_BEGIN + format_table(results) + TABLE_END + rest.split(TABLE_END, 1)[1]


def _row(result: OracleResult) -> str:
    simulated = result.simulated
    cells = (
        result.market,
        ", ".join(
            f"{name} {result.params[name]}"
            for name in ("kappa", "share", "phi", "bull_drift", "bear_drift")
            if name in result.params
        ),
        result.terms.action_rule.value,
        result.terms.information.value,
        _thresholds(result),
        "–" if result.expected_net_bps is None else f"{result.expected_net_bps:.3f}",
        _interval(simulated.net_bps_per_bar),
        f"{simulated.turnover_frac:.4f}",
        _interval(simulated.sharpe_annual),
    )
    return "| " + " | ".join(cells) + " |"


def _thresholds(result: OracleResult) -> str:
    if result.thresholds is None:
        return "by volatility" if "kappa" in result.params else "by regime"
    if result.thresholds.is_flat:
        return "never"
    return f"{result.thresholds.enter:+.3f} / {result.thresholds.exit:+.3f}"


def _interval(interval: Interval) -> str:
    return f"{interval.estimate:.2f} ({interval.low:.2f} … {interval.high:.2f})"
