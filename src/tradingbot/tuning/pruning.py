"""Giving trials up early: Optuna's pruner, asked with the learning curves of the waves before.

Trials of the same wave do not count: what is given up must not depend on which of them was faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tradingbot.tuning.optuna_study import build_pruner, freeze_results
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.search_space import SearchSpace
from tradingbot.tuning.study_database import quiet_optuna
from tradingbot.tuning.trial_record import TrialResult, TuningTrial


class CurvePruner:
    """Says of one trial whether it is worth going on."""

    def __init__(
        self,
        spec: TuningTrial,
        before: Sequence[TrialResult],
        space: SearchSpace,
        settings: TuneSettings,
    ) -> None:
        """Lay the curves of finished trials beside one that begins."""
        import optuna

        with quiet_optuna():
            # Hyperband divides trials among its brackets by the study's name and their number.
            study = optuna.create_study(
                study_name="tuning", direction="maximize", pruner=build_pruner(settings)
            )
            study.add_trials(freeze_results(before, space))
            for _ in range(spec.number - len(before)):
                study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
            self._trial = study.ask()
        self._study = study
        self._known = 0

    def gives_up(self, curve: Sequence[tuple[int, float]]) -> bool:
        """Tell whether a trial with this curve, (evaluation from 1, score), is to end now."""
        if len(curve) <= self._known:  # a further seed: that point was judged with the first
            return False
        self._known = len(curve)
        step, score = curve[-1]
        with quiet_optuna():
            self._trial.report(score, step)
            return bool(self._trial.should_prune())

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the pruner wrote down, for those that come after."""
        own = self._study.get_trials(deepcopy=False)[self._trial.number]
        return dict(own.system_attrs)
