"""`tradingbot data`: what is stored, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from tradingbot.app.cli import data_in
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import ConfigOption, DatasetArgument, read_settings, require_picture
from tradingbot.app.console import print_note, print_table, print_text, show_json

if TYPE_CHECKING:
    from tradingbot.data.quality.report import QualityReport
    from tradingbot.data.store import Dataset

app = typer.Typer(help="Import, generate, download, check and list market data.")
app.add_typer(data_in.app)


@app.command("list")
def list_datasets(context: typer.Context, as_json: JsonOption = False) -> None:
    """List stored datasets.

    Example: [bold]tradingbot data list[/bold]
    """
    from tradingbot.data.store import BarStore

    invocation = invocation_of(context)
    store = BarStore(invocation.workspace)
    names: dict[str, list[str]] = {}
    for name, identity in store.names().items():
        names.setdefault(identity, []).append(name)
    rows = [_describe(dataset, names.get(dataset.id, [])) for dataset in store.datasets()]
    if show_json(as_json, rows):
        return
    columns = ["id", "names", "kind", "symbols", "bars", "first", "last", "quarantined"]
    print_table("Datasets", columns, [list(row.values()) for row in rows])
    if not rows:
        invocation.print_hint("None yet. Try: tradingbot data generate --name demo")


@app.command("show")
def show_dataset(
    context: typer.Context, dataset: DatasetArgument, as_json: JsonOption = False
) -> None:
    """Show a dataset's manifest: where its bars come from, and their hashes.

    Example: [bold]tradingbot data show demo[/bold]
    """
    from tradingbot.data.store import BarStore

    found = BarStore(invocation_of(context).workspace).open(dataset)
    if show_json(as_json, {"id": found.id, "folder": found.folder, "manifest": found.manifest}):
        return
    manifest = found.manifest
    rows: list[tuple[str, object]] = [
        ("folder", found.folder),
        ("content hash", manifest.content_sha256),
        *manifest.provenance.model_dump(exclude={"detail"}).items(),
        *((f"detail: {key}", value) for key, value in manifest.provenance.detail.items()),
        ("symbols", len(manifest.symbols)),
        ("bars", manifest.rows),
        ("first close", manifest.first_closed_at.isoformat()),
        ("last close", manifest.last_closed_at.isoformat()),
        ("covariates", ", ".join(manifest.covariates) or "none"),
        ("quarantined rows", manifest.quarantined_rows),
        ("code version", manifest.code_version),
    ]
    print_table(f"Dataset {found.id}", ["", ""], [(key, str(value)) for key, value in rows])


@app.command("verify")
def verify_data(
    context: typer.Context, dataset: DatasetArgument, as_json: JsonOption = False
) -> None:
    """Read every byte of a dataset and compare it with its hashes.

    Exits with 0 where all is whole, with 1 where a file is damaged, missing or edited.

    Example: [bold]tradingbot data verify demo[/bold]
    """
    from tradingbot.data.store import BarStore, verify_dataset

    folder = BarStore(invocation_of(context).workspace).find(dataset)
    files = verify_dataset(folder)
    whole = all(condition == "whole" for condition in files.values())
    if not show_json(as_json, {"dataset": folder.name, "files": files, "whole": whole}):
        print_table(f"Files of {folder.name}", ["file", "condition"], list(files.items()))
    raise typer.Exit(0 if whole else 1)


@app.command("validate")
def validate_data(  # noqa: PLR0913 - one option for each thing to compare with
    context: typer.Context,
    dataset: DatasetArgument,
    universe: Annotated[
        str | None, Option(help="Universe whose members must be there, and no others.")
    ] = None,
    trailing_bars: Annotated[int, Option(min=1, help="Last bars that must be complete.")] = 168,
    heat_map: Annotated[
        Path | None, Option(help="Draw the coverage as a PNG file (extra: plot).")
    ] = None,
    earlier: Annotated[
        str | None, Option(help="Dataset of an earlier delivery: what did the vendor change?")
    ] = None,
    quotes: Annotated[
        Path | None, Option(help="Parquet or CSV of quotes (symbol, quoted_at, bid, ask) to check.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a dataset by every rule; exits with 0 clean, 1 findings, 2 unusable.

    Example: [bold]tradingbot data validate demo --heat-map coverage.png[/bold]

    Example: [bold]tradingbot data validate us143 --earlier us143-last-month[/bold]
    """
    from tradingbot.data.quality.quote_checks import check_quotes
    from tradingbot.data.quality.revision import compare_revisions
    from tradingbot.data.sources.quotes import read_quotes
    from tradingbot.data.store import BarStore
    from tradingbot.data.universes import load_universe
    from tradingbot.features.pipeline import validate_dataset

    if heat_map is not None:
        require_picture(heat_map, "--heat-map")
    store = BarStore(invocation_of(context).workspace)
    found = store.open(dataset)
    members = load_universe(universe) if universe else None
    report = validate_dataset(found, universe=members, trailing_bars=trailing_bars)
    if earlier is not None:
        old_bars = store.open(earlier).load_bars()
        report = report.with_findings(compare_revisions(old_bars, found.load_bars()))
    if quotes is not None:
        report = report.with_findings(check_quotes(read_quotes(quotes)))
    if as_json:
        print_text(report.to_json())
    else:
        print_report(report, title=f"{dataset} ({found.id})")
    if heat_map is not None:
        _draw_heat_map(report, heat_map, title=f"{dataset} ({found.id})")
    raise typer.Exit(report.exit_code)


@app.command("split")
def show_split(
    context: typer.Context,
    dataset: DatasetArgument,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where training, validation and test begin and end, with purge and embargo.

    Example: [bold]tradingbot data split demo --preset demo[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.features.pipeline import read_inputs, split_rows

    settings, workspace = read_settings(invocation_of(context), config)
    found = BarStore(workspace).open(dataset)
    closed_at = read_inputs(found).closed_at
    split = split_rows(closed_at, settings.splits)
    rows = [
        {
            "part": part,
            "bars": len(rows),
            "first": str(closed_at[rows.start])[:16],
            "last": str(closed_at[rows.stop - 1])[:16],
        }
        for part in ("train", "validation", "test")
        for rows in (getattr(split, part),)
    ]
    if show_json(as_json, {"parts": rows, "gap": split.gap}):
        return
    gap = f"purge {split.gap.purge_bars} bars, embargo {split.gap.embargo_bars} bars"
    print_table(
        f"Split of {dataset} ({gap})",
        ["part", "bars", "first close", "last close"],
        [list(row.values()) for row in rows],
    )


def print_report(report: QualityReport, *, title: str) -> None:
    """Print a readiness report for people."""
    from tradingbot.data.quality.calendar_checks import LOW_COVERAGE_FRAC

    keys = ("severity", "code", "symbols", "count", "action", "message", "example")
    rows = [[row[key] for key in keys] for row in report.summary_rows()]
    columns = ["severity", "code", "symbols", "count", "action", "what", "example"]
    kind = ", synthetic" if report.synthetic else ""
    print_table(f"Readiness of {title}{kind}", columns, rows)
    covered = report.coverage.by_symbol
    expected, present = int(covered["expected"].sum()), int(covered["present"].sum())
    verdict = "ready" if report.ready else "not ready"
    if report.ready and present < LOW_COVERAGE_FRAC * expected:
        verdict = "ready, with gaps: see LOW_COVERAGE and what is missing before you trust it"
    print_note(
        f"{verdict}: {report.rows:,} bars, {present:,} of {expected:,} expected bars present "
        f"({present / max(expected, 1):.2%}), {report.quarantined_rows:,} rows in quarantine"
    )


def _draw_heat_map(report: QualityReport, path: Path, *, title: str) -> None:
    from tradingbot.data.atomic import atomic_file
    from tradingbot.evaluation.figures.coverage import draw_coverage_table

    figure = draw_coverage_table(report.coverage.by_month, title=f"Coverage of {title}")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    print_note(f"Drew {path}")


def _describe(dataset: Dataset, names: list[str]) -> dict[str, object]:
    manifest = dataset.manifest
    return {
        "id": dataset.id,
        "names": ", ".join(names),
        "kind": "synthetic" if manifest.provenance.synthetic else manifest.provenance.provider,
        "symbols": len(manifest.symbols),
        "bars": manifest.rows,
        "first": f"{manifest.first_closed_at:%Y-%m-%d}",
        "last": f"{manifest.last_closed_at:%Y-%m-%d}",
        "quarantined": manifest.quarantined_rows,
    }
