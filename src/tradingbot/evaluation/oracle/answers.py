"""Oracle results for commands and pages: of one dataset, or of every market."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.sources.synthetic import regenerate
from tradingbot.data.store import Dataset
from tradingbot.domain.errors import ConfigError, DataError, suggest
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.known_answers import QUESTIONS, KnownAnswerCase, known_answers
from tradingbot.evaluation.oracle.market_oracle import oracle_for
from tradingbot.evaluation.oracle.result import OracleResult

_HIDDEN = ("hidden_trend", "hidden_reversion", "regimes")


def answer_all(
    *, cost_bps: float, rule: str, progress: Progress = ignore_progress
) -> list[OracleResult]:
    """Answer every standard question about the synthetic markets under one cost and rule."""
    wanted = _parse_rule(rule)
    questions: list[KnownAnswerCase] = []
    for question in QUESTIONS:
        asked = replace(question, action_rule=wanted)
        if asked not in questions:
            questions.append(asked)
    results: list[OracleResult] = []
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
    kinds = [Information.ATTAINABLE]
    if market.name in _HIDDEN:
        kinds.append(Information.OMNISCIENT)
    return [
        oracle_for(
            market, cost_frac=cost_bps / 1e4, action_rule=_parse_rule(rule), information=information
        )
        for information in kinds
    ]


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
        return "by regime"
    return "never" if limits.is_flat else f"{limits.enter:+.2f} / {limits.exit:+.2f}"


def _parse_rule(text: str) -> ActionRule:
    known = [rule.value for rule in ActionRule]
    if text not in known:
        raise ConfigError(
            f"--rule must be one of {', '.join(known)}", was=repr(text), remedy=suggest(text, known)
        )
    return ActionRule(text)
