"""From a source to a stored dataset: fetch, screen, set bad rows aside, save atomically."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tradingbot.data.dataset_names import require_name
from tradingbot.data.quality.check import Finding
from tradingbot.data.quality.validation import screen
from tradingbot.data.schema import COVARIATE_KEY
from tradingbot.data.sources.source import BarSource, Progress, RawBars, ignore_progress
from tradingbot.data.store import BarStore, Dataset
from tradingbot.domain.errors import DataError, suggest
from tradingbot.domain.universe import Universe

_NAMED = 5


@dataclass(frozen=True)
class Ingested:
    """A stored dataset and what was noticed on the way in."""

    dataset: Dataset
    findings: tuple[Finding, ...]


def ingest(
    source: BarSource,
    store: BarStore,
    *,
    name: str,
    universe: Universe | None = None,
    strict: bool = False,
    extra_covariates: pl.DataFrame | None = None,
    progress: Progress = ignore_progress,
) -> Ingested:
    """Fetch bars, screen them and store what is usable, with the rest in quarantine.

    All or nothing: on any error, or a kill, the store is as it was, and the same call completes.

    Args:
        source: Where the bars come from.
        store: Where they go.
        name: What the dataset will be called from now on.
        universe: Symbols that are expected; others are refused. None accepts any.
        strict: Refuse instead of quarantining.
        extra_covariates: Frame in the covariate schema, e.g. sentiment, stored beside the bars.
        progress: Told what is being done.

    Raises:
        DataError: For an unknown symbol, a file-level defect, or nothing usable left.
        UserError: Whatever else the source or the disk refuses.
    """
    require_name(name)  # before a long download, not after
    raw = source.fetch(progress)
    if universe is not None:
        _require_known(raw.bars, universe)
    screening = screen(raw.bars, strict=strict)
    if screening.clean.is_empty():
        raise DataError(
            "some row must be usable",
            was=f"all {screening.quarantine.height} quarantined",
            where=name,
            remedy=_reasons(screening.findings),
        )
    dataset = store.save(
        screening.clean,
        raw.provenance,
        name=name,
        covariates=_join_covariates(raw, extra_covariates),
        quarantine=screening.quarantine,
    )
    return Ingested(dataset, screening.findings)


def join_covariates(
    dataset: Dataset, covariates: pl.DataFrame, store: BarStore, *, name: str
) -> Dataset:
    """Store the bars of a dataset again, with covariates beside them: as if imported together.

    Args:
        dataset: Stays as it is.
        covariates: Frame in the covariate schema, e.g. sentiment.
        store: Where the new dataset goes.
        name: What it will be called; may be the name of the old one.

    Raises:
        DataError: If the dataset has a covariate of that name, or none of the symbols.
    """
    require_name(name)
    there, new = dataset.load_covariates(), covariates["name"].unique()
    again = sorted({*there["name"].unique()} & {*new})
    if again:
        raise DataError(
            "a covariate must be joined once",
            was=f"{again[0]}, which is there",
            where=name,
            remedy="Join it to a dataset without it",
        )
    if not {*covariates["symbol"].unique()} & {*dataset.manifest.symbols}:
        raise DataError(
            "covariates must be about symbols of the dataset",
            was=", ".join(sorted(covariates["symbol"].unique())[:_NAMED]),
            where=name,
            remedy="Name symbols as the dataset does; data show lists them",
        )
    return store.save(
        dataset.load_bars(),
        dataset.manifest.provenance,
        name=name,
        covariates=pl.concat([there, covariates]).sort(COVARIATE_KEY),
        quarantine=dataset.load_quarantine(),
    )


def _reasons(findings: Sequence[Finding]) -> str | None:
    """Each reason once, with its rows over all symbols, the most frequent first."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.message] += finding.count
    return "; ".join(f"{reason}: {rows}" for reason, rows in counts.most_common(3)) or None


def _require_known(bars: pl.DataFrame, universe: Universe) -> None:
    found = bars["symbol"].drop_nulls().unique().sort()
    unknown = [symbol for symbol in found if symbol not in set(universe.symbols)]
    if unknown:
        hint = suggest(unknown[0], universe.symbols)
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise DataError(
            f"every symbol must belong to universe {universe.name}",
            was=", ".join(unknown[:_NAMED]) + more,
            remedy=hint
            if hint.startswith("Did you mean")
            else "Take a subset with --symbols, rename with --rename, or leave out --universe",
        )


def _join_covariates(raw: RawBars, extra: pl.DataFrame | None) -> pl.DataFrame | None:
    frames = [frame for frame in (raw.covariates, extra) if frame is not None]
    return pl.concat(frames).sort(COVARIATE_KEY) if frames else None
