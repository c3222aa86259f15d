"""Known answers: every synthetic market at its published strength, solved and played.

`docs/concepts/oracles.md` prints the table, `tests/reference/known_answers_table.py` writes it, and
a test generates it again. Commands and pages ask for one dataset or for every market.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.sources.synthetic import regenerate
from tradingbot.data.store import Dataset
from tradingbot.data.synthetic import registry
from tradingbot.data.synthetic.market import GridSpec, SyntheticMarket
from tradingbot.domain.errors import DataError, require_known
from tradingbot.domain.timeframe import Timeframe
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, ActionRule, Information
from tradingbot.evaluation.oracle.market_oracle import solve_market
from tradingbot.evaluation.oracle.result import OracleResult, Terms

SYMBOLS = 143
BARS = 3528
"""Two years of hourly bars, as in the trial that the table is compared with."""
SEED = 7
_START = date(2023, 1, 3)
_HIDDEN = ("hidden_trend", "hidden_reversion", "regimes")


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
    KnownAnswerCase("planted_regimes", {"kappa": 0.10}),
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
        solve_market(
            generate_on(grid, question, seed),
            Terms(cost_frac, question.action_rule, question.information),
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


def answer_all(
    *, cost_bps: float, rule: str, progress: Progress = ignore_progress
) -> list[OracleResult]:
    """Answer every standard question about the synthetic markets under one cost and rule."""
    wanted = _parse_rule(rule)
    questions, results = list[KnownAnswerCase](), list[OracleResult]()
    for question in (replace(each, action_rule=wanted) for each in QUESTIONS):
        if question not in questions:
            questions.append(question)
    for number, question in enumerate(questions):
        progress(number, len(questions), question.market)
        results += known_answers([question], cost_frac=cost_bps / 1e4)
    progress(len(questions), len(questions), "answered")
    return results


def answer_dataset(dataset: Dataset, *, cost_bps: float, rule: str) -> list[OracleResult]:
    """Answer for the very bars of a synthetic dataset, with each kind of information.

    Raises:
        DataError: If the dataset is not synthetic: the answer for a real market is unknown.
    """
    provenance = dataset.manifest.provenance
    if not provenance.synthetic:
        raise DataError(
            "an oracle needs a synthetic dataset",
            was=provenance.provider,
            where=dataset.id,
            remedy="Generate one: tradingbot data generate --name easy --market planted",
        )
    market = regenerate(provenance)
    kinds = (Information.ATTAINABLE, Information.OMNISCIENT)[: 2 if market.name in _HIDDEN else 1]
    terms = [Terms(cost_bps / 1e4, _parse_rule(rule), information) for information in kinds]
    return [solve_market(market, each) for each in terms]


def oracle_rows(results: Sequence[OracleResult]) -> tuple[list[str], list[list[object]]]:
    """Lay results out as a table."""
    columns = ["market", "knows", "enter / exit", "expected", "simulated", "Sharpe/yr", "turnover"]
    rows: list[list[object]] = []
    for result in results:
        net, sharpe = result.simulated.net_bps_per_bar, result.simulated.sharpe_annual
        rows.append(
            [
                label_of(result),
                result.terms.information.value,
                _thresholds(result),
                f"{result.expected_net_bps:.2f}" if result.expected_net_bps is not None else "–",
                f"{net.estimate:.2f} [{net.low:.2f}, {net.high:.2f}]",
                f"{sharpe.estimate:.2f} [{sharpe.low:.2f}, {sharpe.high:.2f}]",
                f"{result.simulated.turnover_frac:.3f}",
            ]
        )
    return columns, rows


def label_of(result: OracleResult) -> str:
    """Name a market and the parameters that make it what it is."""
    kappa = result.params.get("kappa")
    return f"{result.market} κ={kappa:g}" if isinstance(kappa, float) else result.market


def _thresholds(result: OracleResult) -> str:
    limits = result.thresholds
    if limits is None:
        return "by volatility" if "kappa" in result.params else "by regime"
    return "never" if limits.is_flat else f"{limits.enter:+.2f} / {limits.exit:+.2f}"


def _parse_rule(text: str) -> ActionRule:
    known = [rule.value for rule in ActionRule]
    return ActionRule(require_known(text, known, f"--rule must be one of {', '.join(known)}"))
