"""The analyses of a run's dossier as a graph: to add one, name it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.ablation import (
    ablation_specs,
    measure_ablation,
    require_variant,
)
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs, CannotMeasureError
from tradingbot.evaluation.analyses.ensemble import measure_ensemble
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.health import measure_health, recorded_updates
from tradingbot.evaluation.analyses.leak_check import measure_leak_check
from tradingbot.evaluation.analyses.performance import (
    Performance,
    measure_performance,
    require_judgeable,
)
from tradingbot.evaluation.analyses.placebos.analysis import measure_placebos
from tradingbot.evaluation.analyses.policy_analysis.analysis import measure_policy_analysis
from tradingbot.evaluation.analyses.portfolio_run import NOT_FOR_PORTFOLIOS, PortfolioRun
from tradingbot.evaluation.analyses.regimes import measure_regimes, regime_labels
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.retraining.training import retraining_analysis
from tradingbot.evaluation.analyses.rewards import measure_rewards
from tradingbot.evaluation.analyses.seeds import measure_seeds, seed_specs
from tradingbot.evaluation.analyses.sensitivity import measure_sensitivity
from tradingbot.evaluation.analyses.statistics import measure_statistics
from tradingbot.evaluation.analyses.stress.analysis import measure_stress
from tradingbot.evaluation.analyses.walk_forward import measure_walk_forward, walk_forward_specs
from tradingbot.evaluation.dossier.analysis import Ablation, Ensemble, Health, PolicyAnalysis, Seeds
from tradingbot.evaluation.dossier.evidence import LeakCheck, Placebos, Statistics
from tradingbot.evaluation.dossier.rewards import RewardAnalysis
from tradingbot.evaluation.dossier.robustness import Regimes, Sensitivity, Stress, WalkForward
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.runs.counted_trials import counted_sharpes
from tradingbot.runs.ledger import Ledger
from tradingbot.training.trial_ledger import data_key

_PERFORMANCE = "performance"
_FROM_RUN: tuple[tuple[str, type[Any], Callable[..., Any], float], ...] = (
    ("regimes", Regimes, measure_regimes, 1.0),
    ("stress", Stress, measure_stress, 2.0),
    ("sensitivity", Sensitivity, measure_sensitivity, 2.0),
    ("ensemble", Ensemble, measure_ensemble, 1.0),
    ("policy", PolicyAnalysis, measure_policy_analysis, 1.0),
    ("rewards", RewardAnalysis, measure_rewards, 1.0),
    ("placebos", Placebos, measure_placebos, 3.0),
)
"""Name, record, function and weight of the analyses that are made from the run alone."""
_RECORDS: dict[str, type[Any]] = {name: record for name, record, _, _ in _FROM_RUN} | {
    "walk_forward": WalkForward,
    "ablation": Ablation,
}


def lay_out_analyses(subject: EvaluatedRun, config: EvaluateConfig) -> tuple[Analysis, ...]:
    """Return the analyses of a dossier, trainings among them; every need before what needs it.

    Raises:
        ConfigError: If a setting does not fit the run.
    """
    layout = _Layout(subject, config)
    retrained = [
        layout.refused(name) or each()
        for name, each in layout.retrained.items()
        if name in config.analyses
    ]
    performance, *required = layout.required()
    return (performance, *layout.trainings.values(), *required, *layout.from_run(), *retrained)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Lays out the analyses of one run; the same training is made once."""

    subject: EvaluatedRun
    config: EvaluateConfig
    trainings: dict[str, Analysis] = field(default_factory=dict)

    def required(self) -> Iterator[Analysis]:
        """Yield what no dossier is without; performance first, most others wait for it."""
        make = partial(self._analysis, is_required=True)
        judgeable = partial(require_judgeable, self.subject)
        yield make(_PERFORMANCE, Performance, measure_performance, check=judgeable, weight=20.0)
        on_run_split = [name for name, each in self.trainings.items() if not each.settings.windows]
        needs = (_PERFORMANCE, *on_run_split)
        yield make("statistics", Statistics, measure_statistics, needs=needs, facts=self._trials)
        journal = partial(recorded_updates, self.subject)
        yield make("health", Health, measure_health, check=journal)
        # Longer than a training, and nothing else would be left to do beside it at the end.
        needs = (_PERFORMANCE,)
        yield make("leak_check", LeakCheck, measure_leak_check, needs=needs, weight=15.0)

    def from_run(self) -> Iterator[Analysis]:
        """Yield the analyses that are made from the run alone."""
        checks = {"regimes": partial(regime_labels, self.subject, self.config.regimes)}
        for name, record, measure, weight in _FROM_RUN:
            if name not in self.config.analyses:
                continue
            alone = partial(_measure_alone, measure)
            yield self.refused(name) or self._analysis(
                name, record, alone, check=checks.get(name), weight=weight
            )

    def refused(self, name: str) -> Analysis | None:
        """Return an analysis that is left out because the run is a portfolio; None if it is not."""
        if not isinstance(self.subject, PortfolioRun):
            return None
        reason = NOT_FOR_PORTFOLIOS.get(name)
        if reason is None:
            return None
        refusal = partial(_raise, CannotMeasureError(reason))
        return Analysis(name, _RECORDS[name], None, refusal, check=refusal)

    @property
    def retrained(self) -> dict[str, Callable[[], Analysis]]:
        """Name → maker of the analyses that train again."""
        return {
            "walk_forward": self._walk_forward,
            "seeds": self._seeds,
            "ablation": self._ablation,
        }

    def _walk_forward(self) -> Analysis:
        make = partial(self._analysis, "walk_forward", WalkForward)
        try:
            specs = walk_forward_specs(self.subject, self.config.walk_forward)
        except DataError as e:
            refusal = CannotMeasureError(str(e).rstrip("."))
            return make(partial(_raise, refusal), check=partial(_raise, e))
        return make(measure_walk_forward, needs=self._train(specs))

    def _seeds(self) -> Analysis:
        needs = (_PERFORMANCE, *self._train(seed_specs(self.subject, self.config.seeds)))
        return self._analysis("seeds", Seeds, measure_seeds, needs=needs)

    def _ablation(self) -> Analysis:
        variants = ablation_specs(self.subject, self.config.ablation)
        return self._analysis(
            "ablation",
            Ablation,
            measure_ablation,
            needs=self._train(spec for some in variants.values() for spec in some),
            check=partial(require_variant, variants),
        )

    def _train(self, specs: Iterable[RetrainingSpec]) -> tuple[str, ...]:
        """Have trainings made, and return the names of their analyses."""
        named = {spec.name: retraining_analysis(spec) for spec in specs}
        self.trainings.update({**named, **self.trainings})
        return tuple(named)

    def _trials(self) -> list[float | None]:
        found = Ledger(self.subject.workspace).trials(data_key(self.subject.run.record.data))
        return counted_sharpes(found) or [None]

    def _analysis(
        self, name: str, record: type[Any], measure: Callable[..., Any], **more: Any
    ) -> Analysis:
        """Make an analysis of that name, with the settings of that name."""
        settings = getattr(self.config, name, None)
        if settings is not None:
            measure = partial(measure, settings=settings)
        return Analysis(name, record, settings, measure, **more)


def _measure_alone(measure: Callable[..., Any], inputs: AnalysisInputs, settings: object) -> Any:
    if measure is measure_placebos:
        return measure(inputs.subject, settings, inputs.progress)
    return measure(inputs.subject, settings)


def _raise(error: Exception, *_: object, **__: object) -> NoReturn:
    raise error
