"""What the run's own records say of its data and training, beside how it trades."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Mean over auxiliary tasks with classes, on held-out bars, at the last score of pre-training;
    None where no encoder was pre-trained."""
    equal_runs: int
    """Other finished runs of the workspace with this configuration and these data."""
    equal_runs_that_differ: int
    """Of these: training ended with other weights."""
