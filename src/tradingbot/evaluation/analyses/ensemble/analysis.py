"""How the agents of a run hang together on the test part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradingbot.domain.checks import require, require_kinds
from tradingbot.evaluation.analyses.ensemble.measure import analyse_ensemble
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.dossier.analysis import Ensemble


@dataclass(frozen=True)
class EnsembleSettings:
    """Whom it is about."""

    min_exposure_frac: float = 1e-6
    """Mean |position| ÷ equity from which on an agent counts as one that trades."""

    def __post_init__(self) -> None:
        """Refuse a threshold that cannot be reached."""
        require_kinds(self)
        require(0.0 < self.min_exposure_frac < 1.0, "min_exposure_frac must lie in (0, 1)", self)


def measure_ensemble(subject: EvaluatedRun, settings: EnsembleSettings) -> Ensemble:
    """Analyse the agents that trade; those that stay out have no returns to compare.

    Raises:
        DataError: If the test part has too few bars.
    """
    played = subject.backtest("test")
    exposure = np.abs(played.position_frac).mean(axis=0)
    trading = np.flatnonzero(exposure >= settings.min_exposure_frac)
    return analyse_ensemble(
        played.returns[:, trading],
        [played.symbols[i] for i in trading],
        bars_per_year=subject.bars_per_year,
    )
