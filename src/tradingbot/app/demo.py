"""The product's main job, end to end, on a synthetic market: what `make demo` runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tradingbot.app.configuration import PipelineConfig
from tradingbot.app.facts import known_sectors
from tradingbot.app.oracles import answer_all
from tradingbot.app.pipeline import (
    BuiltPanel,
    build_features,
    fit_and_store_scaler,
    prove_features,
    split_rows,
    synthetic_source,
    validate_dataset,
)
from tradingbot.app.rollouts import (
    RolloutReport,
    RolloutTerms,
    roll_out_policies,
    subject_of_panel,
)
from tradingbot.app.training.demo import (
    DEMO_PRESET,
    TrainingDemo,
    progress_listeners,
    run_training_demo,
)
from tradingbot.data.ingest import ingest
from tradingbot.data.quality import QualityReport
from tradingbot.data.sources.source import Progress
from tradingbot.data.splits import Split
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.universes import load_universe
from tradingbot.evaluation.oracle.result import OracleResult
from tradingbot.evaluation.stylised_facts import StylisedFacts, measure_facts
from tradingbot.features.causality import CausalityReport, Certificate
from tradingbot.features.scaling import Scaler

Result = TypeVar("Result")
Announce = Callable[[str], Progress]
"""Called with a step's name; returns where the step reports its progress."""


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
    rollout: RolloutReport | None
    """None where the panel is not proved: policies may not look at it."""
    training: TrainingDemo
    seconds: dict[str, float]
    """Step → wall time."""


def run_demo(
    config: PipelineConfig, workspace: Path, announce: Announce, *, training: str = DEMO_PRESET
) -> DemoResult:
    """Generate, check, build, prove, measure, trade, train; every step can be run on its own.

    Args:
        config: Market, splits, proof.
        workspace: Where everything goes.
        announce: Told of every step.
        training: Preset of the training.
    """
    steps = _Steps(announce)
    store = BarStore(workspace)
    name = f"demo-{config.market.name}"
    source = synthetic_source(config.market)
    dataset = steps.run(
        "generate",
        lambda progress: (
            ingest(
                source, store, name=name, strict=config.quality.strict, progress=progress
            ).dataset
        ),
    )
    universe = load_universe(config.market.universe)
    trailing = config.quality.trailing_bars
    quality = steps.run(
        "validate",
        lambda _: validate_dataset(dataset, universe=universe, trailing_bars=trailing),
    )
    built = steps.run("features", lambda _: build_features(dataset, workspace))
    split = split_rows(built.inputs.closed_at, config.splits)
    scaler = fit_and_store_scaler(built, split, config.scaling)
    proof, certificate = steps.run(
        "prove causal", lambda progress: prove_features(built, config, progress=progress)
    )
    facts = steps.run(
        "stylised facts", lambda _: measure_facts(built.inputs, sectors=known_sectors())
    )
    cost_bps = 1e4 * (config.costs.commission_frac + config.costs.slippage_frac)
    oracles = steps.run(
        "known answers",
        lambda progress: answer_all(cost_bps=cost_bps, rule="long_only", progress=progress),
    )
    rollout = None
    if certificate is not None:
        rollout = steps.run(
            "rollout",
            lambda progress: roll_out_policies(
                subject_of_panel(built.panel, dataset.manifest.provenance),
                RolloutTerms(seed=config.market.seed),
                progress=progress,
            ),
        )
    trained = steps.run(
        "train",
        lambda progress: run_training_demo(
            workspace, progress_listeners(progress), preset=training
        ),
    )
    return DemoResult(
        config, dataset, quality, built, split, scaler, proof, certificate, facts, oracles,
        rollout, trained, steps.seconds,
    )  # fmt: skip


class _Steps:
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
