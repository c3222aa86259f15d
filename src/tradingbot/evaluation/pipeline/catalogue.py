"""The analyses of a run's dossier as a graph: to add one, name it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.ablation import (
    ablation_specs,
    measure_ablation,
    require_variant,
)
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs, CannotMeasureError
from tradingbot.evaluation.analyses.ensemble.analysis import measure_ensemble
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.feasibility import (
    require_journal,
    require_judgeable,
    require_regimes,
)
from tradingbot.evaluation.analyses.health import measure_health
from tradingbot.evaluation.analyses.leak_check.analysis import measure_leak_check
from tradingbot.evaluation.analyses.performance import Performance, measure_performance
from tradingbot.evaluation.analyses.placebos.analysis import measure_placebos
from tradingbot.evaluation.analyses.policy_analysis.analysis import measure_policy_analysis
from tradingbot.evaluation.analyses.regimes.analysis import measure_regimes
from tradingbot.evaluation.analyses.retraining.analysis import retraining_analysis
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.seeds import measure_seeds, seed_specs
from tradingbot.evaluation.analyses.sensitivity.analysis import measure_sensitivity
from tradingbot.evaluation.analyses.statistics.analysis import measure_statistics
from tradingbot.evaluation.analyses.stress.analysis import measure_stress
from tradingbot.evaluation.analyses.walk_forward.analysis import (
    measure_walk_forward,
    walk_forward_specs,
)
from tradingbot.evaluation.dossier.analysis import Ablation, Ensemble, Health, PolicyAnalysis, Seeds
from tradingbot.evaluation.dossier.evidence import LeakCheck, Placebos, Statistics
from tradingbot.evaluation.dossier.robustness import Regimes, Sensitivity, Stress, WalkForward
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.identity import counted_sharpes
from tradingbot.runs.ledger import Ledger
from tradingbot.training.trial_ledger import data_key

_PERFORMANCE = "performance"


def lay_out_analyses(
    subject: EvaluatedRun, config: EvaluateConfig, workspace: Path
) -> tuple[Analysis, ...]:
    """Return the analyses of a dossier, trainings among them; every need before what needs it.

    Raises:
        ConfigError: If a setting does not fit the run.
    """
    trained = _Retrainings(workspace)
    analyses = [*_retraining_analyses(subject, config, trained)]
    performance = Analysis(
        name=_PERFORMANCE,
        record=Performance,
        settings=config.performance,
        measure=partial(measure_performance, settings=config.performance),
        check=partial(require_judgeable, subject),
        is_required=True,
        weight=20.0,  # most others wait for it
    )
    required = [*_required(subject, config, trained, workspace)]
    plain = [each for each in _plain_analyses(subject, config) if each.name in config.analyses]
    return (performance, *trained.analyses.values(), *required, *plain, *analyses)


class _Retrainings:
    """Trainings that analyses ask for; the same one is made once."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.analyses: dict[str, Analysis] = {}
        self.on_run_split: list[str] = []

    def names_of(self, specs: Iterable[RetrainingSpec]) -> tuple[str, ...]:
        """Have orders made, and return the names of their analyses."""
        names = []
        for spec in specs:
            if spec.name not in self.analyses:
                self.analyses[spec.name] = retraining_analysis(spec, self._workspace)
                if not spec.windows:
                    self.on_run_split.append(spec.name)
            names.append(spec.name)
        return tuple(dict.fromkeys(names))


def _required(
    subject: EvaluatedRun, config: EvaluateConfig, trained: _Retrainings, workspace: Path
) -> Iterable[Analysis]:
    def trials() -> list[float | None]:
        found = Ledger(workspace).trials(data_key(subject.run.record.data))
        return counted_sharpes(found) or [None]

    yield Analysis(
        name="statistics",
        record=Statistics,
        settings=config.statistics,
        measure=partial(measure_statistics, settings=config.statistics),
        needs=(_PERFORMANCE, *trained.on_run_split),
        facts=trials,
        is_required=True,
    )
    yield Analysis(
        name="health",
        record=Health,
        settings=None,
        measure=measure_health,
        check=partial(require_journal, subject),
        is_required=True,
    )
    yield Analysis(
        name="leak_check",
        record=LeakCheck,
        settings=config.leak_check,
        measure=partial(measure_leak_check, settings=config.leak_check),
        needs=(_PERFORMANCE,),
        is_required=True,
    )


def _plain_analyses(subject: EvaluatedRun, config: EvaluateConfig) -> Iterable[Analysis]:
    """Yield the analyses that are made from the run alone."""
    measures: tuple[tuple[str, type[Any], Callable[..., Any], float], ...] = (
        ("regimes", Regimes, measure_regimes, 1.0),
        ("stress", Stress, measure_stress, 2.0),
        ("sensitivity", Sensitivity, measure_sensitivity, 2.0),
        ("ensemble", Ensemble, measure_ensemble, 1.0),
        ("policy", PolicyAnalysis, measure_policy_analysis, 1.0),
        ("placebos", Placebos, measure_placebos, 3.0),
    )
    checks = {"regimes": partial(require_regimes, subject, config.regimes)}
    for name, record, measure, weight in measures:
        settings = getattr(config, name)
        yield Analysis(
            name=name,
            record=record,
            settings=settings,
            measure=partial(_measure_alone, measure=measure, settings=settings),
            check=checks.get(name),
            weight=weight,
        )


def _measure_alone(inputs: AnalysisInputs, *, measure: Callable[..., Any], settings: object) -> Any:
    if measure is measure_placebos:
        return measure_placebos(inputs.subject, settings, inputs.progress)  # type: ignore[arg-type]
    return measure(inputs.subject, settings)


def _retraining_analyses(
    subject: EvaluatedRun, config: EvaluateConfig, trained: _Retrainings
) -> Iterable[Analysis]:
    if "walk_forward" in config.analyses:
        yield _walk_forward(subject, config, trained)
    if "seeds" in config.analyses:
        specs = seed_specs(subject, config.seeds)
        yield Analysis(
            name="seeds",
            record=Seeds,
            settings=config.seeds,
            measure=partial(measure_seeds, specs=specs),
            needs=(_PERFORMANCE, *trained.names_of(specs)),
        )
    if "ablation" in config.analyses:
        variants = ablation_specs(subject, config.ablation)
        every = [spec for some in variants.values() for spec in some]
        yield Analysis(
            name="ablation",
            record=Ablation,
            settings=config.ablation,
            measure=partial(measure_ablation, settings=config.ablation, specs=variants),
            needs=trained.names_of(every),
            check=partial(require_variant, variants),
        )


def _walk_forward(subject: EvaluatedRun, config: EvaluateConfig, trained: _Retrainings) -> Analysis:
    settings = config.walk_forward
    measure: Callable[[AnalysisInputs], Any]
    check = None
    try:
        specs = walk_forward_specs(subject, settings)
        measure = partial(measure_walk_forward, settings=settings, specs=specs)
    except DataError as e:
        specs, measure, check = (), _refusal(e), _raising(e)
    return Analysis(
        name="walk_forward",
        record=WalkForward,
        settings=settings,
        measure=measure,
        needs=trained.names_of(specs),
        check=check,
    )


def _refusal(error: DataError) -> Callable[[AnalysisInputs], Any]:
    def refuse(_: AnalysisInputs) -> Any:
        raise CannotMeasureError(str(error).rstrip("."))

    return refuse


def _raising(error: DataError) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check
