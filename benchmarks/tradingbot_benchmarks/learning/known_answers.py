"""Records of what learners find: a market, a learner, the share of the oracle, and an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.networks.head_config import Pooling
from tradingbot_benchmarks.learning.curve.markets import QUESTIONS, require_question
from tradingbot_benchmarks.learning.curve.measure import (
    LearningResult,
    LearningRun,
    run_learning,
    summarise,
)
from tradingbot_benchmarks.learning.curve.settings import learner_settings
from tradingbot_benchmarks.record import BenchRecord

Progress = Callable[[int, int, str], None]
GOALS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "planted_0.10": {"direct": 0.95, "ppo": 0.95, "sac": 0.85},
        "planted_0.05": {"direct": 0.85, "ppo": 0.85, "sac": 0.70},
        "opposed_0.10": {"direct": 0.85, "ppo": 0.85},
        "corr30_0.06": {"direct": 0.90, "ppo": 0.90},
        "corr50_0.06": {"direct": 0.80, "ppo": 0.80},
        "hetero": {"direct": 0.90, "ppo": 0.90},
        "mixed_0.08": {"direct": 0.94, "ppo": 0.94},
        "turn_0.10": {"direct": 0.50, "ppo": 0.50},
        "hidden_trend": {"direct": 0.90, "ppo": 0.90, "sac": 0.60},
        "hidden_reversion": {"direct": 0.60, "ppo": 0.60, "sac": 0.60},
        "cost_trap": {"direct": -0.1, "ppo": -0.1, "sac": -0.1},
        "noise": {"direct": -0.1, "ppo": -0.1, "sac": -0.1},
    }
)
"""What must be reached, by market and learner: shares of the oracle, or bp per bar."""


@dataclass(frozen=True)
class LearningRecord(BenchRecord):
    """A figure of learning, with a 95 % bootstrap interval over seeds."""

    low: float = 0.0
    high: float = 0.0
    seeds: int = 0
    seconds: float = 0.0
    """Mean time of learning of one seed."""


def measure_learning(
    markets: Sequence[str],
    learners: Sequence[str],
    n_seeds: int,
    run: LearningRun,
    progress: Progress,
) -> list[LearningRecord]:
    """Train every learner on every market with every seed.

    Args:
        markets: Of `QUESTIONS`.
        learners: Of `learning_curve_settings.measured_learners()`.
        n_seeds: Seeds 0, 1, …
        run: Size, device, sharing.
        progress: Told (finished, total, label) in updates of a run.

    Raises:
        ConfigError: If a market or a learner is unknown.
    """
    for market in markets:
        require_question(market)
    for learner in learners:
        learner_settings(learner)
    records = []
    for market in markets:
        for learner in learners:
            results = [
                run_learning(market, learner, seed, run, _labelled(progress, market, learner, seed))
                for seed in range(n_seeds)
            ]
            records.append(record_of(results, run))
    return records


def record_of(results: Sequence[LearningResult], run: LearningRun) -> LearningRecord:
    """Summarise the seeds of one learner on one market."""
    market, learner = results[0].market, results[0].learner
    estimate = summarise(results)
    edge = QUESTIONS[market].edge
    goal = GOALS.get(market, {}).get(learner)
    return LearningRecord(
        name=f"{market}/{learner}",
        value=estimate.estimate,
        unit="frac" if edge else "bp/bar",
        reference=goal,
        reference_name="" if goal is None else "must reach",
        ratio=None if goal is None or not edge else estimate.estimate / goal,
        note=_note(results, run),
        low=estimate.low,
        high=estimate.high,
        seeds=len(results),
        seconds=mean(result.seconds for result in results),
    )


def _note(results: Sequence[LearningResult], run: LearningRun) -> str:
    earned, best = mean(r.policy_bp for r in results), mean(r.oracle_bp for r in results)
    trading = mean(r.trading_frac for r in results)
    learned = [r.learned_bp for r in results if r.learned_bp is not None]
    bayes = [r.bayes_bp for r in results if r.bayes_bp is not None]
    beside = f" ({mean(learned):.2f} as learned)" if learned else ""
    beside += f", {mean(bayes):.2f} by empirical Bayes" if bayes else ""
    return (
        f"synthetic, {run.n_agents} agents, {run.pooling}, out of sample; "
        f"{earned:.2f} of {best:.2f} bp per bar{beside}; "
        f"{trading:.0%} of agents trade"
    )


def _labelled(
    progress: Progress, market: str, learner: str, seed: int
) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        progress(done, total, f"{market}/{learner}, seed {seed}, updates")

    return report


def require_pooling(word: str) -> Pooling:
    """Return how heads are shared.

    Raises:
        ConfigError: If the word is none of the three.
    """
    known: tuple[Pooling, ...] = ("partial", "pooled", "independent")
    for pooling in known:
        if word == pooling:
            return pooling
    raise ConfigError("pooling must be a known one", was=repr(word), remedy=suggest(word, known))


def as_documents(records: Sequence[LearningRecord]) -> list[dict[str, object]]:
    """Return records as plain values, for scripts without the command line."""
    return [asdict(record) for record in records]
