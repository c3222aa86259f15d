"""The pieces of a run's dossier as a graph: to add one, name it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from tradingbot.app.evaluation.ablation_piece import (
    ablation_orders,
    measure_ablation,
    require_variant,
)
from tradingbot.app.evaluation.configuration import EvaluateConfig
from tradingbot.app.evaluation.ensemble_piece import measure_ensemble
from tradingbot.app.evaluation.health_piece import measure_health
from tradingbot.app.evaluation.identity import counted_sharpes
from tradingbot.app.evaluation.leak_check_piece import measure_leak_check
from tradingbot.app.evaluation.performance_piece import Performance, measure_performance
from tradingbot.app.evaluation.piece import CannotMeasureError, Given, Piece
from tradingbot.app.evaluation.piece_checks import (
    require_journal,
    require_judgeable,
    require_regimes,
)
from tradingbot.app.evaluation.placebos_piece import measure_placebos
from tradingbot.app.evaluation.policy_analysis_piece import measure_policy_analysis
from tradingbot.app.evaluation.regimes_piece import measure_regimes
from tradingbot.app.evaluation.seeds_piece import measure_seeds, seed_orders
from tradingbot.app.evaluation.sensitivity_piece import measure_sensitivity
from tradingbot.app.evaluation.statistics_piece import measure_statistics
from tradingbot.app.evaluation.stress_piece import measure_stress
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.evaluation.training_order import Order
from tradingbot.app.evaluation.training_piece import training_piece
from tradingbot.app.evaluation.walk_forward_piece import measure_walk_forward, walk_forward_orders
from tradingbot.app.training.counting import data_key
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.dossier.analysis import Ablation, Ensemble, Health, PolicyAnalysis, Seeds
from tradingbot.evaluation.dossier.evidence import LeakCheck, Placebos, Statistics
from tradingbot.evaluation.dossier.robustness import Regimes, Sensitivity, Stress, WalkForward
from tradingbot.runs.ledger import Ledger

_PERFORMANCE = "performance"


def lay_out_pieces(subject: Subject, config: EvaluateConfig, workspace: Path) -> tuple[Piece, ...]:
    """Return the pieces of a dossier, trainings among them; every need before what needs it.

    Raises:
        ConfigError: If a setting does not fit the run.
    """
    trained = _Trained(workspace)
    pieces = [*_trained_pieces(subject, config, trained)]
    performance = Piece(
        name=_PERFORMANCE,
        record=Performance,
        settings=config.performance,
        measure=partial(measure_performance, settings=config.performance),
        check=partial(require_judgeable, subject),
        is_required=True,
        weight=20.0,  # most others wait for it
    )
    required = [*_required(subject, config, trained, workspace)]
    plain = [each for each in _plain_pieces(subject, config) if each.name in config.pieces]
    return (performance, *trained.pieces.values(), *required, *plain, *pieces)


class _Trained:
    """Trainings that pieces ask for; the same one is made once."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.pieces: dict[str, Piece] = {}
        self.on_run_split: list[str] = []

    def names_of(self, orders: Iterable[Order]) -> tuple[str, ...]:
        """Have orders made, and return the names of their pieces."""
        names = []
        for order in orders:
            if order.name not in self.pieces:
                self.pieces[order.name] = training_piece(order, self._workspace)
                if not order.windows:
                    self.on_run_split.append(order.name)
            names.append(order.name)
        return tuple(dict.fromkeys(names))


def _required(
    subject: Subject, config: EvaluateConfig, trained: _Trained, workspace: Path
) -> Iterable[Piece]:
    def trials() -> list[float | None]:
        found = Ledger(workspace).trials(data_key(subject.run.record.data))
        return counted_sharpes(found) or [None]

    yield Piece(
        name="statistics",
        record=Statistics,
        settings=config.statistics,
        measure=partial(measure_statistics, settings=config.statistics),
        needs=(_PERFORMANCE, *trained.on_run_split),
        facts=trials,
        is_required=True,
    )
    yield Piece(
        name="health",
        record=Health,
        settings=None,
        measure=measure_health,
        check=partial(require_journal, subject),
        is_required=True,
    )
    yield Piece(
        name="leak_check",
        record=LeakCheck,
        settings=config.leak_check,
        measure=partial(measure_leak_check, settings=config.leak_check),
        needs=(_PERFORMANCE,),
        is_required=True,
    )


def _plain_pieces(subject: Subject, config: EvaluateConfig) -> Iterable[Piece]:
    """Yield the pieces that are made from the run alone."""
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
        yield Piece(
            name=name,
            record=record,
            settings=settings,
            measure=partial(_measure_alone, measure=measure, settings=settings),
            check=checks.get(name),
            weight=weight,
        )


def _measure_alone(given: Given, *, measure: Callable[..., Any], settings: object) -> Any:
    if measure is measure_placebos:
        return measure_placebos(given.subject, settings, given.progress)  # type: ignore[arg-type]
    return measure(given.subject, settings)


def _trained_pieces(subject: Subject, config: EvaluateConfig, trained: _Trained) -> Iterable[Piece]:
    if "walk_forward" in config.pieces:
        yield _walk_forward(subject, config, trained)
    if "seeds" in config.pieces:
        orders = seed_orders(subject, config.seeds)
        yield Piece(
            name="seeds",
            record=Seeds,
            settings=config.seeds,
            measure=partial(measure_seeds, orders=orders),
            needs=(_PERFORMANCE, *trained.names_of(orders)),
        )
    if "ablation" in config.pieces:
        variants = ablation_orders(subject, config.ablation)
        every = [order for some in variants.values() for order in some]
        yield Piece(
            name="ablation",
            record=Ablation,
            settings=config.ablation,
            measure=partial(measure_ablation, settings=config.ablation, orders=variants),
            needs=trained.names_of(every),
            check=partial(require_variant, variants),
        )


def _walk_forward(subject: Subject, config: EvaluateConfig, trained: _Trained) -> Piece:
    settings = config.walk_forward
    measure: Callable[[Given], Any]
    check = None
    try:
        orders = walk_forward_orders(subject, settings)
        measure = partial(measure_walk_forward, settings=settings, orders=orders)
    except DataError as e:
        orders, measure, check = (), _refusal(e), _raising(e)
    return Piece(
        name="walk_forward",
        record=WalkForward,
        settings=settings,
        measure=measure,
        needs=trained.names_of(orders),
        check=check,
    )


def _refusal(error: DataError) -> Callable[[Given], Any]:
    def refuse(_: Given) -> Any:
        raise CannotMeasureError(str(error).rstrip("."))

    return refuse


def _raising(error: DataError) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check
