"""What can be known of an analysis before anything is counted or made: whether it is possible."""

from __future__ import annotations

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, Part
from tradingbot.evaluation.analyses.regimes.analysis import regime_labels
from tradingbot.evaluation.analyses.regimes.measure import RegimeSettings
from tradingbot.evaluation.statistics import bootstrap, superior
from tradingbot.runs.journal import read_journal
from tradingbot.training.result_file import read_result

_FEWEST_STEPS: tuple[tuple[Part, int], ...] = (
    ("validation", bootstrap.MIN_BARS),
    ("test", superior.MIN_BARS),
)
"""Bars that intervals of every part need, and tests against baselines."""


def require_judgeable(subject: EvaluatedRun) -> None:
    """Refuse a run whose parts are too short for the required analyses, or whose result is gone.

    Raises:
        DataError: If validation or test hold too few usable bars.
        StorageError: If the result of the run cannot be read.
    """
    for part, least in _FEWEST_STEPS:
        steps = len(subject.bars(part)) - 1
        if steps < least:
            raise DataError(
                f"{part} must have {least + 1} usable bars or more to be judged",
                was=steps + 1,
                where=subject.data.identity.label,
                remedy="Train on more bars, or give the part a larger share in splits",
            )
    read_result(subject.run.path)


def require_journal(subject: EvaluatedRun) -> None:
    """Refuse a run whose journal of training is damaged.

    Raises:
        StorageError: Naming the line.
    """
    for _ in read_journal(subject.run.journal_path("recorder")):
        pass


def require_regimes(subject: EvaluatedRun, settings: RegimeSettings) -> None:
    """Refuse a run whose training is too short to tell a regime.

    Raises:
        DataError: Saying how long it is.
    """
    regime_labels(subject, settings)
