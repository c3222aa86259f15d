"""The steps from a stored dataset to a certified panel, as functions that commands call.

Nothing is printed here; every step takes what it needs and returns what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from tradingbot.configuration.pipeline import (
    MarketConfig,
    PipelineConfig,
    ScalingConfig,
    SplitsConfig,
)
from tradingbot.data.calendar import time_zone_of
from tradingbot.data.quality.check import Severity
from tradingbot.data.quality.report import QualityReport
from tradingbot.data.quality.validation import validate
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.splits import Gap, Split, SplitDates, split_by_date, split_by_ratio
from tradingbot.data.store import Dataset
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import DataError
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.domain.universe import Universe
from tradingbot.features.causality.certificate import Certificate
from tradingbot.features.causality.prover import ProofPlan
from tradingbot.features.causality.subject import CausalityReport, ProofVerdict
from tradingbot.features.inputs import MarketInputs, TimeArray, build_inputs
from tradingbot.features.panel import Panel, build_panel, panel_folder, panel_specs
from tradingbot.features.panel_scaler import fit_panel_scaler, store_panel_scaler
from tradingbot.features.proof_subjects import certify_panel
from tradingbot.features.scaling import Scaler
from tradingbot.features.spec import FeatureSpec, spec_hash


@dataclass(frozen=True)
class BuiltPanel:
    """A panel with what it was made from."""

    dataset: Dataset
    inputs: MarketInputs
    specs: Sequence[FeatureSpec]
    panel: Panel


def synthetic_source(config: MarketConfig) -> SyntheticSource:
    """Return the source of the market a configuration asks for."""
    return SyntheticSource(
        universe=load_universe(config.universe),
        start=config.start,
        end=config.end,
        market=config.name,
        seed=config.seed,
        timeframe=config.timeframe,
        grid=config.grid,
        params=config.params,
    )


def validate_dataset(
    dataset: Dataset, *, universe: Universe | None, trailing_bars: int
) -> QualityReport:
    """Judge a stored dataset by every rule there is."""
    return validate(
        dataset.load_bars(),
        dataset.load_covariates(),
        provenance=dataset.manifest.provenance,
        universe=universe,
        quarantine=dataset.load_quarantine(),
        trailing_bars=trailing_bars,
    )


def read_inputs(dataset: Dataset) -> MarketInputs:
    """Lay a dataset on its time grid, in the zone of its exchange."""
    return build_inputs(
        dataset.load_bars(),
        dataset.load_covariates(),
        time_zone=time_zone_of(dataset.manifest.provenance.calendar),
    )


def build_features(
    dataset: Dataset,
    workspace: Path,
    *,
    accept: Collection[str] = (),
    feature_set: FeatureSet = "default",
) -> BuiltPanel:
    """Compute and store the panel of a dataset, or open the one that is already there.

    Args:
        dataset: What to build from.
        workspace: Where panels are stored.
        accept: Codes of errors in the readiness report that were looked at and are no defects.
        feature_set: Which features per bar.

    Raises:
        DataError: If the readiness report has an error that is not accepted: stamps that are off
            by an hour are a look-ahead that no proof could see.
    """
    if not panel_of(dataset, workspace, feature_set).exists():
        require_ready(dataset, accept)
    inputs = read_inputs(dataset)
    specs = panel_specs(inputs.covariates, feature_set)
    panel = build_panel(
        inputs,
        specs,
        dataset_hash=dataset.manifest.content_sha256,
        root=workspace,
        synthetic=dataset.manifest.provenance.synthetic,
        accepted_findings=accept,
    )
    return BuiltPanel(dataset, inputs, specs, panel)


def require_ready(dataset: Dataset, accept: Collection[str] = ()) -> None:
    """Refuse a dataset whose readiness report has an error that was not accepted by its code.

    Raises:
        DataError: Naming the codes.
    """
    report = validate_dataset(dataset, universe=None, trailing_bars=1)
    errors = {f.code for f in report.findings if f.severity is Severity.ERROR}
    open_errors = sorted(errors - set(accept))
    if not report.ready and open_errors:
        raise DataError(
            "dataset must be ready before features are built from it",
            was=f"errors: {', '.join(open_errors)}",
            where=dataset.id,
            remedy=f"See tradingbot data validate {dataset.id}; mend the import, or say "
            f"--accept {open_errors[0]} if you looked and it is no defect",
        )


def panel_of(dataset: Dataset, workspace: Path, feature_set: FeatureSet = "default") -> Path:
    """Return where the panel of a dataset with a set of features is, or would be, stored."""
    specs = panel_specs(dataset.manifest.covariates, feature_set)
    return panel_folder(workspace, dataset.manifest.content_sha256, spec_hash(specs))


def split_rows(closed_at: TimeArray, config: SplitsConfig) -> Split:
    """Divide a time grid as a configuration says."""
    gap = Gap(purge_bars=config.purge_bars, embargo_bars=config.embargo_bars)
    if isinstance(config.train, date) and isinstance(config.validation, date):
        assert isinstance(config.test, date)  # the configuration's own rule
        first_day = date.fromisoformat(str(closed_at[0])[:10])
        dates = SplitDates(
            # A bar that closed at midnight belongs to the day before.
            train_from=config.train_from or first_day - timedelta(days=1),
            validation_from=config.train + timedelta(days=1),
            test_from=config.validation + timedelta(days=1),
            test_until=config.test,
        )
        return split_by_date(closed_at, dates=dates, gap=gap)
    ratios = (float(config.train), float(config.validation), float(config.test))  # type: ignore[arg-type]
    return split_by_ratio(closed_at, ratios=ratios, gap=gap)


def fit_and_store_scaler(built: BuiltPanel, split: Split, config: ScalingConfig) -> Scaler:
    """Fit a scaler on the training rows of a panel and store it beside the panel."""
    scaler = fit_panel_scaler(built.panel, split.train, config)
    store_panel_scaler(built.panel, scaler)
    return scaler


def prove_features(
    built: BuiltPanel,
    config: PipelineConfig,
    *,
    progress: Progress = ignore_progress,
    every_bar: Callable[[], tuple[ProofVerdict, ...]] | None = None,
) -> tuple[CausalityReport, Certificate | None]:
    """Prove a panel and its scaler causal, write the certificate; None where an output leaks.

    Args:
        built: What is proved.
        config: Split, scaling and rounds.
        progress: Told after each recomputation.
        every_bar: See `ProofPlan`.
    """
    split = split_rows(built.inputs.closed_at, config.splits)
    scaler = fit_and_store_scaler(built, split, config.scaling)
    plan = ProofPlan(
        boundaries=(split.train.stop, split.validation.start, split.test.start),
        common_rounds=config.proof.common_rounds,
        staggered_rounds=config.proof.staggered_rounds,
        seed=config.proof.seed,
        every_bar=every_bar,
    )
    return certify_panel(
        built.panel,
        built.inputs,
        built.specs,
        train_rows=split.train.stop,
        plan=plan,
        scaler=scaler,
        progress=progress,
    )
