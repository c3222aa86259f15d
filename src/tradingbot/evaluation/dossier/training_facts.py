"""What the run's own records say of its data and training, beside how it trades."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AuxiliaryAccuracy:
    """How often an auxiliary task is answered rightly on held-out bars."""

    task: str
    accuracy_frac: float
    low_frac: float
    """Lower end of its 95 % interval."""
    base_frac: float
    """Accuracy of always saying the class that was most frequent in training."""

    @property
    def beats_base(self) -> bool:
        """Whether more is known than the base rate, beyond chance."""
        return self.low_frac > self.base_frac


@dataclass(frozen=True)
class TrainingFacts:
    """Read from the run's folder and data; nothing here is a backtest."""

    universe: str
    """That the generated market or the manifest of the dataset names; empty where none is."""
    universe_symbols: int
    symbols_without_bars: tuple[str, ...]
    """Of the universe: the data have no usable bar of them."""
    is_scaler_of_train: bool | None
    """The run's scaler is, by its hash, what fitting the train part anew gives; None where the run
    kept none: that of a market generated in memory is fitted on train whenever it is opened."""
    over_budget: tuple[str, ...] | None
    """Budgets of parameters that are broken, in words; None where the run kept no counts."""
    updates: int
    """Updates in the journal, those that were taken back included."""
    updates_not_finite: int
    """Of these: a weight was NaN or infinite afterwards."""
    auxiliary_accuracy_frac: float | None
    """Lowest over auxiliary tasks with classes, on held-out bars, at the last score of
    pre-training; None where no encoder was pre-trained. (A mean, in dossiers without
    `auxiliary_tasks`: one trivial class lifted it.)"""
    equal_runs: int
    """Other finished runs of the workspace with this configuration and these data."""
    equal_runs_that_differ: int
    """Of these: training ended with other weights."""
    auxiliary_tasks: tuple[AuxiliaryAccuracy, ...] = ()
    """Every auxiliary task with classes beside its base rate; none without pre-training."""
    curriculum_stages_passed: int | None = None
    """Lowest over agents, at the last update in the journal; None where the run was not trained in
    a curriculum, and in files before format 5."""
