"""The product's main job, end to end, on a synthetic market: what `make demo` runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tradingbot.app.demo.training import (
    DEMO_PRESET,
    TrainingDemo,
    progress_listeners,
    run_training_demo,
)
from tradingbot.campaign.stream_proof import prove_stream_beside
from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.data.ingest import ingest
from tradingbot.data.quality.report import QualityReport
from tradingbot.data.sources.source import Progress
from tradingbot.data.splits import Split
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.universes import load_universe
from tradingbot.evaluation.dataset_facts import known_sectors
from tradingbot.evaluation.oracle.known_answers import answer_all
from tradingbot.evaluation.oracle.result import OracleResult
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.pipeline.session import Evaluation, EvaluationRequest, evaluate_run
from tradingbot.evaluation.stylised_facts import StylisedFacts, measure_facts
from tradingbot.features.causality.certificate import Certificate
from tradingbot.features.causality.subject import CausalityReport
from tradingbot.features.pipeline import (
    BuiltPanel,
    build_features,
    fit_and_store_scaler,
    prove_features,
    split_rows,
    synthetic_source,
    validate_dataset,
)
from tradingbot.features.scaling import Scaler
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config

if TYPE_CHECKING:
    from tradingbot.app.demo.trading import TradingDemo

Result = TypeVar("Result")
Announce = Callable[[str], Progress]
"""Called with a step's name; returns where the step reports its progress."""
EVALUATION_PRESET, SMALL_EVALUATION_PRESET = "quick", "required"
"""Every analysis of the dossier with shorter trainings; and of a first look, what must be there."""


@dataclass(frozen=True)
class DemoResult:
    """Everything the demo made, for the table and the page."""

    config: PipelineConfig
    dataset: Dataset
    quality: QualityReport
    built: BuiltPanel
    split: Split
    scaler: Scaler
    proof: CausalityReport
    certificate: Certificate | None
    facts: StylisedFacts
    oracles: list[OracleResult]
    training: TrainingDemo | None
    """None where the panel is not proved: agents may not look at it."""
    evaluation: Evaluation | None
    """The dossier and its verdict; None where nothing was trained."""
    trading: TradingDemo | None
    """A week on paper; None where nothing was trained, or it is not asked for."""
    seconds: dict[str, float]
    """Step → wall time."""


def run_demo(
    config: PipelineConfig,
    workspace: Path,
    announce: Announce,
    *,
    training: str = DEMO_PRESET,
    evaluation: str = EVALUATION_PRESET,
    trades: bool = True,
) -> DemoResult:
    """Generate, check, build, prove, measure, train, evaluate, trade; each can be run on its own.

    Args:
        config: Market, splits, proof.
        workspace: Where everything goes.
        announce: Told of every step.
        training: Preset of the training.
        evaluation: Preset of the evaluation.
        trades: Whether the agents trade a week on paper; needs the extras serve and trade.
    """
    steps = _DemoSteps(announce)
    name = "demo-noise" if has_no_signal(config) else f"demo-{config.market.name}"
    dataset = steps.run("generate", lambda progress: _generate(config, workspace, name, progress))
    universe = load_universe(config.market.universe)
    trailing = config.quality.trailing_bars
    quality = steps.run(
        "validate", lambda _: validate_dataset(dataset, universe=universe, trailing_bars=trailing)
    )
    built = steps.run("features", lambda _: build_features(dataset, workspace))
    split = split_rows(built.inputs.closed_at, config.splits)
    scaler = fit_and_store_scaler(built, split, config.scaling)
    # Processes take a second to start: a first look is sooner done without them.
    jobs = 1 if evaluation == SMALL_EVALUATION_PRESET else os.cpu_count() or 1
    proof, certificate = steps.run(
        "prove causal", lambda progress: _prove(config, workspace, built, jobs, progress)
    )
    facts = steps.run(
        "stylised facts", lambda _: measure_facts(built.inputs, sectors=known_sectors())
    )
    cost_bps = 1e4 * CostProfile(**config.costs.model_dump()).one_way_frac
    oracles = steps.run(
        "known answers",
        lambda progress: answer_all(cost_bps=cost_bps, rule="long_only", progress=progress),
    )
    trained = evaluated = traded = None
    if certificate is not None:
        trained = steps.run(
            "train", lambda progress: _train(config, workspace, name, training, progress)
        )
        run = trained.run.id
        evaluated = steps.run(
            "evaluate", lambda progress: _evaluate(run, workspace, evaluation, jobs, progress)
        )
        if trades:
            # Its packages are extras, which a demo without the week does not need.
            from tradingbot.app.demo.trading import run_trading_demo

            judged = trained.run
            traded = steps.run(
                "trade", lambda progress: run_trading_demo(judged, workspace, progress)
            )
    return DemoResult(
        config, dataset, quality, built, split, scaler, proof, certificate, facts, oracles,
        trained, evaluated, traded, steps.seconds,
    )  # fmt: skip


def has_no_signal(config: PipelineConfig) -> bool:
    """Tell whether the market's signal means nothing, as on noise."""
    return config.market.params.get("kappa") == 0.0


def _generate(config: PipelineConfig, workspace: Path, name: str, progress: Progress) -> Dataset:
    source, store = synthetic_source(config.market), BarStore(workspace)
    return ingest(source, store, name=name, strict=config.quality.strict, progress=progress).dataset


def _prove(
    config: PipelineConfig, workspace: Path, built: BuiltPanel, jobs: int, progress: Progress
) -> tuple[CausalityReport, Certificate | None]:
    if jobs == 1:
        return prove_features(built, config, progress=progress)
    with prove_stream_beside(built.dataset, workspace, progress) as every_bar:
        return prove_features(built, config, progress=progress, every_bar=every_bar)


def _train(
    config: PipelineConfig, workspace: Path, dataset: str, preset: str, progress: Progress
) -> TrainingDemo:
    """Train on the dataset, divided, scaled and charged as the rest of the demonstration is."""
    overrides = {"dataset": dataset} | training_options(config, load_train_config(preset))
    return run_training_demo(
        workspace, progress_listeners(progress), preset=preset, overrides=overrides
    )


def training_options(config: PipelineConfig, training: TrainConfig) -> dict[str, object]:
    """Return what the demonstration's configuration changes of a training's, by dotted key."""
    splits = config.splits.model_dump(exclude_none=True)
    own: dict[str, object] = {f"splits.{key}": value for key, value in splits.items()}
    own |= {f"scaling.{key}": value for key, value in config.scaling.model_dump().items()}
    usual = cost_profile(training.task.costs, training.task.cost_rates)
    rates = config.costs.model_dump().items()
    return own | {
        f"task.cost_rates.{key}": rate for key, rate in rates if getattr(usual, key) != rate
    }


def _evaluate(run: str, workspace: Path, preset: str, jobs: int, progress: Progress) -> Evaluation:
    request = EvaluationRequest(
        run=run,
        config=load_evaluate_config(preset),
        command=f"tradingbot evaluate {run} --preset {preset}",
    )
    return evaluate_run(request, workspace, jobs=jobs, progress=progress)


class _DemoSteps:
    """Runs steps one after another and keeps how long each took."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self.seconds: dict[str, float] = {}

    def run(self, name: str, work: Callable[[Progress], Result]) -> Result:
        progress = self._announce(name)
        start = time.perf_counter()
        result = work(progress)
        self.seconds[name] = time.perf_counter() - start
        return result
