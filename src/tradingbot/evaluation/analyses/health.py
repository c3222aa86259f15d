"""What the flight recorder said of the training, and how the trained policy acts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.allocation.rules import EQUAL_WEIGHT
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.dossier.analysis import Health
from tradingbot.evaluation.metrics.trading import action_entropy
from tradingbot.evaluation.performance.measure import action_histograms
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval
from tradingbot.training.result_file import read_result

_COLLAPSED_FRAC = 0.95
_ALL_IN_ONE_FRAC = 0.80
"""Mean share of capital in one sleeve from which equal weight must not do as well."""
_TOLD = 5
"""Findings that are told in words; counts are of all."""
_NOT_A_WARNING = "info"
_DONE_BY_TRAINER = ("boost_entropy", "pause", "roll_back", "halt")


def recorded_updates(subject: EvaluatedRun) -> list[dict[str, Any]]:
    """Read what the flight recorder said of every update.

    Raises:
        StorageError: If the journal is missing, was changed since the run finished, or a line of
            it is damaged.
    """
    return list(subject.run.read_journal("recorder"))


def measure_health(inputs: AnalysisInputs) -> Health:
    """Read the journal of the run, and look at the actions on the test part."""
    subject = inputs.subject
    rows = recorded_updates(subject)
    trading = read_result(subject.run.path).trading_agents
    played = subject.backtest("test")
    histograms = action_histograms(played, action_spec(subject.env.rules))
    trades = np.array([name in trading for name in played.symbols])
    collapsed = tuple(
        name
        for name, does, histogram in zip(played.symbols, trades, histograms, strict=True)
        if does and (held_in_one(subject, played) or repeats_itself(played, histogram))
    )
    entropies = [action_entropy(each) for each in histograms[trades]]
    return Health(
        verdicts=_counts(rows),
        words=_last_words(rows),
        interventions=tuple(
            f"update {row['update']}: {row['words']}"
            for row in rows
            if row.get("response") in _DONE_BY_TRAINER
        ),
        entropy=float(np.mean(entropies)) if entropies else 0.0,
        largest_bin_frac=float(histograms.mean(axis=0).max()),
        lowest_action=float(played.action.min()),
        highest_action=float(played.action.max()),
        collapsed_agents=collapsed,
        is_healthy=not collapsed and bool(rows) and bool(rows[-1]["healthy"]),
    )


def repeats_itself(played: Backtest, histogram: NDArray[np.float64]) -> bool:
    """Tell whether an account's action is nearly always the same; a portfolio may hold weights."""
    return played.weights is None and float(histogram.max()) > _COLLAPSED_FRAC


def held_in_one(subject: EvaluatedRun, played: Backtest) -> bool:
    """Tell whether a portfolio holds one sleeve of several without surely earning more than all.

    Of the bars of the backtest, which nothing was learned from. Capital in cash is in no sleeve.
    """
    if played.weights is None or not isinstance(subject, PortfolioRun):
        return False
    of_sleeves = played.weights[:, :-1]
    if of_sleeves.shape[1] < 2 or float(of_sleeves.mean(axis=0).max()) <= _ALL_IN_ONE_FRAC:
        return False
    (even,) = subject.backtest_allocations("test", names=[EQUAL_WEIGHT])
    return net_bps_interval(played.portfolio_returns - even.portfolio_returns).low <= 0.0


def _warnings(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in row["verdicts"] if each["severity"] != _NOT_A_WARNING]


def _counts(rows: list[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    """Return in how many updates each warning sign stood, the most frequent first."""
    stood = Counter(code for row in rows for code in {each["code"] for each in _warnings(row)})
    return tuple(sorted(stood.items(), key=lambda item: (-item[1], item[0])))


def _last_words(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return what was said last, of the last update that had something to say."""
    spoken = next((found for row in reversed(rows) if (found := _warnings(row))), [])
    return tuple(dict.fromkeys(each["words"] for each in spoken))[:_TOLD]
