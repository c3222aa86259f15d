"""What an evaluation is of: the hashes that its analyses are kept under, and its ledger entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradingbot.evaluation.pipeline.store import identity_of
from tradingbot.runs.policy import acting_checkpoint
from tradingbot.supervised.model_store import NO_MODEL

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
    from tradingbot.runs.ledger import Trial


def weights_sha256(subject: EvaluatedRun) -> str:
    """Return the hash of the weights that act.

    Raises:
        StorageError: If the run has no whole checkpoint to act from.
    """
    return acting_checkpoint(subject.run).manifest.weights_sha256


def run_identity(subject: EvaluatedRun) -> str:
    """Return the hash of run, data, sources and packages that every analysis depends on."""
    record = subject.run.record
    return identity_of(
        weights_sha256(subject),
        subject.data.identity.data_sha256,
        record.config_sha256,
        has_model=subject.config.task.probabilities != NO_MODEL,
    )


def counted_sharpes(trials: Sequence[Trial]) -> list[float | None]:
    """Return the Sharpe ratio per bar of every trial that counts; None where it came to none.

    The first evaluation of a run belongs to its own training; every further one, under other
    settings, is another trial.
    """
    evaluated: set[str] = set()
    found = []
    for trial in trials:
        is_own_training = trial.kind == "evaluation" and trial.run not in evaluated
        if trial.kind == "evaluation":
            evaluated.add(trial.run)
        if not is_own_training:
            found.append(trial.sharpe_per_bar)
    return found
