"""The ledger of trials on a page: how often which data were tried, and what luck is due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from tradingbot.evaluation.statistics.deflation import deflated_target, trial_variance
from tradingbot.monitoring.dashboard.sources.remembered import Remembered
from tradingbot.runs.counted_trials import counted_trials
from tradingbot.runs.ledger import COUNTED, LEDGER_FILE, Entry, Ledger, Trial


@dataclass(frozen=True)
class TrialsOfData:
    """All trials on one set of bars."""

    data: str
    """Hash of the bars."""
    trials: tuple[Trial, ...]
    first_at: datetime
    last_at: datetime
    """Of its entries."""
    runs: tuple[str, ...]

    @property
    def counted(self) -> tuple[Trial, ...]:
        """Those that count, as a verdict counts them."""
        return counted_trials(self.trials)

    @property
    def ratios(self) -> list[float]:
        """Sharpe ratios per bar of counted trials with a result: of alpha, else of net return."""
        found = (trial.judged_sharpe_per_bar for trial in self.counted)
        return [ratio for ratio in found if ratio is not None and math.isfinite(ratio)]

    @property
    def is_of_alpha(self) -> bool:
        """Whether every ratio is one of alpha."""
        return all(
            trial.alpha_sharpe_per_bar is not None
            for trial in self.counted
            if trial.judged_sharpe_per_bar is not None
        )

    def expected_best_of(self, bars: float | None) -> float:
        """Sharpe ratio per bar that the best of so many worthless trials is expected to have.

        Args:
            bars: That the judged track counts as; None where no dossier tells it. Then NaN below
                two results: how much trials differ is not known.
        """
        if not self.counted:
            return math.nan
        if bars is None:
            if len(self.ratios) < 2:
                return math.nan
            variance = float(np.var(self.ratios, ddof=1))
        else:
            variance = trial_variance(self.ratios, bars=round(bars))
        return deflated_target(trial_variance=variance, n_trials=len(self.counted))


class TrialsSource:
    """Reads the ledger; again where it grew."""

    def __init__(self, workspace: Path) -> None:
        self._ledger, self._path = Ledger(workspace), workspace / LEDGER_FILE
        self._kept: Remembered[tuple[Entry, ...]] = Remembered()

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry.

        Raises:
            StorageError: If one was changed, taken out or damaged.
        """
        return self._kept.get("", [self._path], self._ledger.entries)

    def by_data(self) -> list[TrialsOfData]:
        """Return the trials of each set of bars, the newest first.

        Raises:
            StorageError: If the ledger is not whole.
        """
        entries = self.entries()
        found: list[TrialsOfData] = []
        for data in dict.fromkeys(each.data for each in entries):
            own = [each for each in entries if each.data == data]
            if not any(each.kind in COUNTED for each in own):
                continue
            moments = [datetime.fromisoformat(str(each.at)) for each in own]
            runs = tuple(dict.fromkeys(each.run for each in own))
            trials = self._ledger.trials(data)
            found.append(TrialsOfData(data, trials, min(moments), max(moments), runs))
        return sorted(found, key=lambda each: each.last_at, reverse=True)
