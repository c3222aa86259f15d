"""Phase data: bars imported or generated, checked, turned into a certified panel with its scaler.

Every step is found again where it was made before: datasets and panels lie under the hash of their
content, and a certificate belongs to one panel.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tradingbot.campaign.request import CAMPAIGNS_FOLDER, CampaignRequest
from tradingbot.campaign.stored_bars import naming_the_import
from tradingbot.campaign.stream_proof import prove_stream_beside
from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.data.atomic import write_text
from tradingbot.data.ingest import ingest
from tradingbot.data.quality.check import Severity
from tradingbot.data.sources.files import FileSource
from tradingbot.data.sources.source import BarSource
from tradingbot.data.splits import IndexRange, Split
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.universe import Universe
from tradingbot.evaluation.gates.measurement import Finding
from tradingbot.executors.executor import Progress
from tradingbot.features.panel import Panel
from tradingbot.features.panel_manifest import read_certificate
from tradingbot.features.panel_scaler import panel_scalers
from tradingbot.features.pipeline import (
    BuiltPanel,
    build_features,
    panel_of,
    prove_features,
    split_rows,
    synthetic_source,
    validate_dataset,
)

READINESS_FILE = "readiness.json"
BARS_DIGITS = 12
"""Of the hash of bars, at the end of their label."""
LEAST_TRAINING_FRAC = 0.5
"""Of the training bars: with fewer, a symbol gets an agent only where it is asked for by name."""
_STEPS = 4
_TRAILING_BARS = 168
_BARS_TO_SHARE = 100_000
"""Below these a proof takes less time than a process takes to begin."""


@dataclass(frozen=True)
class PreparedData:
    """What the phase found out."""

    label: str
    symbols: tuple[str, ...]
    late: tuple[str, ...]
    """Those among them with too few bars of training for an agent, `LEAST_TRAINING_FRAC`."""
    words: str
    values: dict[str, Finding]
    """Metric of a gate → figure, or why there is none."""


def prepare_data(
    request: CampaignRequest,
    workspace: Path,
    progress: Progress,
    begun_with: str = "",
    jobs: int = 1,
) -> PreparedData:
    """Import or generate what is missing, check, build, prove.

    Args:
        request: The campaign.
        workspace: Where data are.
        progress: Told of steps.
        begun_with: Label of the data that the campaign learned from before; empty: it did not.
        jobs: Processes; with more than one, bars are fed to the proof in one of their own.

    Raises:
        UserError: If bars cannot be read or are not ready, or a feature looks ahead.
    """
    progress(0, _STEPS, "bars")
    dataset = _dataset(request, workspace, progress)
    require_bars_of_before(dataset, request, begun_with)
    progress(1, _STEPS, "readiness report")
    universe = _universe(dataset)
    report = validate_dataset(dataset, universe=universe, trailing_bars=_TRAILING_BARS)
    write_text(request.folder(workspace) / READINESS_FILE, report.to_json() + "\n")
    progress(2, _STEPS, "features")
    features = request.config.features
    built = build_features(dataset, workspace, accept=request.accept, feature_set=features)
    progress(3, _STEPS, "causality proof")
    _prove(request, built, workspace, progress, jobs)
    progress(_STEPS, _STEPS, "certified")
    manifest, label = dataset.manifest, _label_of(dataset, request)
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    words = (
        f"{manifest.rows:,} bars of {len(manifest.symbols)} symbols, "
        f"{manifest.first_closed_at:%Y-%m-%d} … {manifest.last_closed_at:%Y-%m-%d}; {errors} "
        f"errors and {warnings} warnings in {READINESS_FILE}; features proved causal"
    )
    split = split_rows(built.inputs.closed_at, request.config.splits)
    values = _values(request, dataset, universe, built, split)
    late = find_late_symbols(built.panel, split.train)
    if late and not request.config.symbols:
        few = f"fewer than {LEAST_TRAINING_FRAC:.0%} of the training bars"
        words += f"; without an agent, for they have {few}: {', '.join(late)}"
    return PreparedData(label, tuple(manifest.symbols), late, words, values)


def require_bars_of_before(dataset: Dataset, request: CampaignRequest, begun_with: str) -> None:
    """Refuse bars that were replaced under their name since a campaign learned from them.

    Raises:
        ConfigError: If the hash that ends the label is another.
    """
    now = _label_of(dataset, request)
    if begun_with and begun_with.split()[-1] != now.split()[-1]:
        raise ConfigError(
            "a campaign must go on with the bars that it began with",
            was=f"{begun_with} → {now.split()[-1]}",
            where=f"{CAMPAIGNS_FOLDER}/{request.name}",
            remedy="Choose another --name, or import the bars of before under that name",
        )


def _label_of(dataset: Dataset, request: CampaignRequest) -> str:
    """Return name, kind and the beginning of the hash of bars."""
    manifest = dataset.manifest
    kind = "synthetic" if manifest.provenance.synthetic else "observed bars"
    return f"{request.dataset} ({kind}), {manifest.content_sha256[:BARS_DIGITS]}"


def _dataset(request: CampaignRequest, workspace: Path, progress: Progress) -> Dataset:
    store = BarStore(workspace)
    if request.dataset in store.names():
        return store.open(request.dataset)
    source: BarSource
    if request.bars is not None:
        source = FileSource(request.bars)
    elif request.generates:
        source = synthetic_source(request.config.market)
    else:
        return store.open(request.dataset)  # refused there, with the names that are known

    def tell(done: int, total: int, label: str) -> None:
        progress(0, _STEPS, f"bars: {label} {done}/{total}" if total else f"bars: {label}")

    with naming_the_import(request):
        return ingest(source, store, name=request.dataset, progress=tell).dataset


def _universe(dataset: Dataset) -> Universe | None:
    """Return the universe that the bars were made for, where they name one."""
    with suppress(UserError):
        return load_universe(str(dataset.manifest.provenance.detail.get("universe", "")))
    return None


def _prove(
    request: CampaignRequest, built: BuiltPanel, workspace: Path, progress: Progress, jobs: int
) -> None:
    config = request.config
    with suppress(UserError):
        read_certificate(panel_of(built.dataset, workspace, config.features))
        return
    settings = PipelineConfig(
        features=config.features, scaling=config.scaling, splits=config.splits
    )

    def tell(done: int, total: int, label: str) -> None:
        progress(3, _STEPS, f"causality proof {done}/{total}" if total else "causality proof")

    with ExitStack() as stack:
        beside = None
        if jobs > 1 and built.inputs.present.size >= _BARS_TO_SHARE:
            fed = prove_stream_beside(built.dataset, workspace, tell, config.features)
            beside = stack.enter_context(fed)
        report, certificate = prove_features(built, settings, progress=tell, every_bar=beside)
    if certificate is None:
        failed = report.failures[0]
        raise DataError(
            "features must not look ahead",
            was=f"{failed.subject} {failed.output}: {failed.offence or failed.reason}",
            where=request.dataset,
            remedy=f"See: tradingbot features prove-causal {request.dataset}",
        )


def _values(
    request: CampaignRequest,
    dataset: Dataset,
    universe: Universe | None,
    built: BuiltPanel,
    split: Split,
) -> dict[str, Finding]:
    scaler = panel_scalers(built.panel, split.train, request.config.scaling)[0]
    covered: Finding = "the bars name no universe to compare them with"
    if universe is not None:
        there = set(dataset.manifest.symbols)
        covered = sum(symbol in there for symbol in universe.symbols) / len(universe.symbols)
    is_of_train = split.train.start <= scaler.train_first <= scaler.train_last < split.train.stop
    return {
        "universe_covered_frac": covered,
        "causality_certificate": 1.0,  # without one this line is not reached
        "scaler_of_train": float(is_of_train),
    }


def find_late_symbols(panel: Panel, train: IndexRange) -> tuple[str, ...]:
    """Return the symbols that were listed too late, or left too early, to learn from training."""
    bars = panel.numpy("valid")[:, train.start : train.stop]
    there = bars.sum(axis=1) / max(bars.any(axis=0).sum(), 1)
    few = np.flatnonzero(there < LEAST_TRAINING_FRAC)
    return tuple(panel.manifest.symbols[place] for place in few)


def require_symbols(found: PreparedData, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the symbols that get an agent: those that are wanted, or all but the late ones.

    Raises:
        ConfigError: If the data lack one.
    """
    missing = [symbol for symbol in wanted if symbol not in found.symbols]
    if missing:
        rule = "symbols that get an agent must be in the data"
        raise ConfigError(rule, was=missing[0], where=found.label, remedy="Leave it out")
    return wanted or tuple(symbol for symbol in found.symbols if symbol not in found.late)
