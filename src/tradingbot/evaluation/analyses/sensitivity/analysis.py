"""A run on the test part under other costs, delays, limits and capital."""

from __future__ import annotations

from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.sensitivity import SensitivitySettings, Setting, sweep
from tradingbot.evaluation.dossier.robustness import Sensitivity


def measure_sensitivity(subject: EvaluatedRun, settings: SensitivitySettings) -> Sensitivity:
    """Sweep the conditions.

    Raises:
        DataError: If the test part has too few bars.
    """
    setting = Setting(
        subject.data.world, subject.env, subject.policy, subject.bars("test"), subject.bars_per_year
    )
    return sweep(setting, settings)
