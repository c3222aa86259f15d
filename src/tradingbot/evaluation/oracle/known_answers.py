"""The table of known answers: every synthetic market at its published strength, solved and played.

`docs/concepts/oracles.md` prints this table and a test generates it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.synthetic import registry
from tradingbot.data.synthetic.market import GridSpec, SyntheticMarket
from tradingbot.domain.timeframe import Timeframe
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, ActionRule, Information
from tradingbot.evaluation.oracle.market_oracle import oracle_for
from tradingbot.evaluation.oracle.result import OracleResult
from tradingbot.evaluation.statistics.interval import Interval

SYMBOLS = 143
BARS = 3528
"""Two years of hourly bars, as in the trial that the table is compared with."""
SEED = 7
_START = date(2023, 1, 3)
TABLE_BEGIN, TABLE_END = "<!-- table: known answers -->\n", "\n<!-- end -->"
"""Marks around the table in a page."""


@dataclass(frozen=True)
class KnownAnswerCase:
    """One row of the table: a market and the terms it is asked under."""

    market: str
    params: dict[str, float] = field(default_factory=dict)
    action_rule: ActionRule = ActionRule.LONG_ONLY
    information: Information = Information.ATTAINABLE


QUESTIONS = (
    KnownAnswerCase("planted", {"kappa": 0.10}),
    KnownAnswerCase("planted", {"kappa": 0.05}),
    KnownAnswerCase("planted", {"kappa": 0.10}, ActionRule.LONG_SHORT),
    KnownAnswerCase("opposed", {"kappa": 0.10}),
    KnownAnswerCase("hidden_trend"),
    KnownAnswerCase("hidden_trend", information=Information.OMNISCIENT),
    KnownAnswerCase("hidden_reversion"),
    KnownAnswerCase("hidden_reversion", information=Information.OMNISCIENT),
    KnownAnswerCase("cost_trap"),
    KnownAnswerCase("noise"),
    KnownAnswerCase("regimes"),
    KnownAnswerCase("regimes", information=Information.OMNISCIENT),
)


def known_answers(
    questions: Sequence[KnownAnswerCase] = QUESTIONS,
    *,
    symbols: int = SYMBOLS,
    bars: int = BARS,
    seed: int = SEED,
    cost_frac: float = DEFAULT_COST_FRAC,
) -> tuple[OracleResult, ...]:
    """Answer every question on markets of one size and seed; about ten seconds at full size."""
    grid = hourly_grid(symbols, bars)
    return tuple(
        oracle_for(
            generate_on(grid, question, seed),
            cost_frac=cost_frac,
            action_rule=question.action_rule,
            information=question.information,
        )
        for question in questions
    )


def hourly_grid(symbols: int, bars: int) -> GridSpec:
    """Lay made-up symbols on the first `bars` hourly bars of the New York exchange from 2023 on."""
    end = _START + timedelta(days=bars // 4 + 14)  # at least four bars fall on each calendar day
    calendar = TradingCalendar.load("XNYS", _START, end)
    names = tuple(f"SYN{number:03d}" for number in range(symbols))
    grid = registry.lay_grid(names, calendar, timeframe=Timeframe.parse("1h"))
    return replace(
        grid,
        opened_at=grid.opened_at[:bars],
        closed_at=grid.closed_at[:bars],
        session=grid.session[:bars],
    )


def generate_on(grid: GridSpec, question: KnownAnswerCase, seed: int) -> SyntheticMarket:
    """Generate the market a question is about."""
    spec = registry.market(question.market)
    return spec.generate(registry.parse_params(spec, question.params), grid, seed)


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
        return "by regime"
    if result.thresholds.is_flat:
        return "never"
    return f"{result.thresholds.enter:+.3f} / {result.thresholds.exit:+.3f}"


def _interval(interval: Interval) -> str:
    return f"{interval.estimate:.2f} ({interval.low:.2f} … {interval.high:.2f})"
