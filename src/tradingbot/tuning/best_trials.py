"""The best trials, trained again: on all symbols with all steps, as runs like any other.

Each is a run of the workspace, counted in the ledger as a training; what a kill left is resumed.
The best of them is the one with the highest score on the first half of validation: the test part,
which every training judges at its end, chooses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.named_run import train_named
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import SessionCallbacks
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.trial_record import TrialResult, best_first


@dataclass(frozen=True)
class RetrainedTrial:
    """A trial that was trained again."""

    trial: TrialResult
    run: str
    """Id of its run."""
    config_hash: str
    result: TrainResult

    @property
    def score(self) -> float:
        """Mean alpha Sharpe of the agents on the first half of validation."""
        return self.result.best_mean_sharpe


@dataclass(frozen=True)
class UntunedRun:
    """What was tuned, trained as it is."""

    run: str
    """Id of its run."""
    result: TrainResult

    @property
    def score(self) -> float:
        """By the same measure as that of trials that were trained again."""
        return self.result.best_mean_sharpe


@dataclass(frozen=True)
class Found:
    """Everything that a study trained."""

    results: Sequence[TrialResult]
    retrained: Sequence[RetrainedTrial]
    """Best first."""
    untuned: UntunedRun | None


def best_config(request: TuneRequest, trial: TrialResult) -> TrainConfig:
    """Return the whole configuration with the settings of a trial.

    The seed is that of the trial's first training, unless the configuration names one.

    Raises:
        ConfigError: If the settings do not fit.
    """
    seed = trial.spec.seeds[0] if request.config.seed is None else request.config.seed
    return override_config(request.config, {**dict(trial.spec.params), "seed": seed})


def retrain_best(
    request: TuneRequest,
    results: Sequence[TrialResult],
    workspace: Path,
    note: Callable[[str], None],
    callbacks: SessionCallbacks | None = None,
) -> list[RetrainedTrial]:
    """Train the best trials again, or take what they came to before; the best first.

    Raises:
        ConfigError: If a run of that name has other settings or learned from other data.
        InterruptionError: If one was interrupted; it is resumed by the same command.
        UserError: If anything is not as it must be.
    """
    found = []
    for trial in best_first(list(results))[: request.settings.top]:
        name = f"{request.name}-trial-{trial.spec.number}"
        note(f"{trial.spec.name} again, on all symbols: run {name}")
        run, result = train_named(name, best_config(request, trial), workspace, callbacks)
        digest = run.record.config_sha256
        found.append(RetrainedTrial(trial, run.id, digest, result))
    return sorted(found, key=lambda each: (-each.score, each.trial.spec.number))


def train_untuned(
    request: TuneRequest,
    retrained: Sequence[RetrainedTrial],
    workspace: Path,
    note: Callable[[str], None],
    callbacks: SessionCallbacks | None = None,
) -> UntunedRun | None:
    """Train what was tuned as it is, where that is asked for: by the measure of the best.

    Raises:
        InterruptionError: If it was interrupted; it is resumed by the same command.
        UserError: If anything is not as it must be.
    """
    if not request.compares or not retrained:
        return None
    name, seed = f"{request.name}-preset", retrained[0].trial.spec.seeds[0]
    note(f"what was tuned, as it is: run {name}")
    config = request.config
    seeded = config if config.seed is not None else override_config(config, {"seed": seed})
    run, result = train_named(name, seeded, workspace, callbacks)
    return UntunedRun(run.id, result)
