"""`tradingbot features`: named causal numbers, the panel, and the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import ConfigOption, DatasetArgument, read_settings
from tradingbot.app.console import print_note, print_table, progress_bar, show_json
from tradingbot.domain.feature_set import FeatureSet

if TYPE_CHECKING:
    from tradingbot.domain.feature_set import FeatureSet

FeaturesOption = Annotated[
    str | None,
    Option("--features", help="Set of features: default, or relative with those of one's own."),
]

app = typer.Typer(help="List features, build panels, prove them free of look-ahead.")


@app.command("list")
def list_features(as_json: JsonOption = False) -> None:
    """List every registered feature with its unit, lookback and range.

    Example: [bold]tradingbot features list[/bold]
    """
    from tradingbot.features.registry import registered_features, set_of

    rows = [
        {
            **{key: getattr(spec, key) for key in ("id", "family", "unit", "lookback_bars")},
            "set": set_of(spec),
            "remembers": "lookback" if spec.finite_memory else "everything",
            "formula": spec.formula,
            "network_formula": spec.network_formula,
            "network_range": f"[{spec.network_range[0]:g}, {spec.network_range[1]:g}]",
            "nan_policy": spec.nan_policy,
        }
        for spec in registered_features().values()
    ]
    if show_json(as_json, rows):
        return
    shown = (
        "id",
        "set",
        "family",
        "unit",
        "lookback_bars",
        "formula",
        "network_formula",
        "network_range",
    )
    print_table(
        f"{len(rows)} features",
        ["id", "set", "family", "unit", "lookback", "raw form", "network form", "network range"],
        [[row[key] for key in shown] for row in rows],
    )


@app.command("build")
def build(
    context: typer.Context,
    dataset: DatasetArgument,
    config: ConfigOption = None,
    features: FeaturesOption = None,
    accept: Annotated[
        list[str] | None,
        Option("--accept", help="Code of an error that you looked at and is no defect."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a dataset's panel, and fit the scaler on its training part.

    Refuses a dataset with open errors. The panel cannot be used until it is proved causal.

    Example: [bold]tradingbot features build demo[/bold]
    """
    from tradingbot.data.quality.registry import require_error_codes
    from tradingbot.data.store import BarStore
    from tradingbot.features.pipeline import build_features, fit_and_store_scaler, split_rows

    accepted = require_error_codes(accept or ())
    settings, workspace = read_settings(invocation_of(context), config)
    chosen = _feature_set(features, settings.features)
    with progress_bar("features") as progress:
        progress(0, 2, "compute")
        found = BarStore(workspace).open(dataset)
        built = build_features(found, workspace, accept=accepted, feature_set=chosen)
        progress(1, 2, "fit scaler on training rows")
        split = split_rows(built.inputs.closed_at, settings.splits)
        scaler = fit_and_store_scaler(built, split, settings.scaling)
        progress(2, 2, "stored")
    valid = float(built.panel.numpy("valid").mean())
    manifest = built.panel.manifest
    figures = {"valid_frac": valid, "scaler_sha256": scaler.sha256}
    if show_json(as_json, {"folder": built.panel.folder, "manifest": manifest, **figures}):
        return
    rows = [
        ("panel", built.panel.folder.name),
        ("kind", "synthetic" if manifest.synthetic else "real"),
        *((name, " × ".join(map(str, shape))) for name, shape in manifest.shapes.items()),
        ("valid", f"{valid:.2%} of all (symbol, bar) cells"),
        ("spec hash", manifest.spec_sha256[:16]),
        ("scaler", f"{scaler.kind}, fitted on rows {scaler.train_first}…{scaler.train_last}"),
    ]
    print_table("Panel (N, T, F)", ["", ""], rows)
    option = "" if chosen == "default" else f" --features {chosen}"
    invocation_of(context).print_hint(f"Next: tradingbot features prove-causal {dataset}{option}")


@app.command("prove-causal")
def prove_causal(
    context: typer.Context,
    dataset: DatasetArgument,
    config: ConfigOption = None,
    features: FeaturesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the future at many cuts, compare the past bit for bit, write the certificate.

    Stored supervised models that were fitted on this panel are proved with it. Exits with 0 where
    everything is proved, with 1 where something leaks (no certificate then).

    Example: [bold]tradingbot features prove-causal demo[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.features.pipeline import build_features, prove_features

    settings, workspace = read_settings(invocation_of(context), config)
    chosen = _feature_set(features, settings.features)
    found = BarStore(workspace).open(dataset)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.supervised.causality import registered_models

    built = build_features(found, workspace, feature_set=chosen)
    with registered_models(built.panel, workspace) as models, progress_bar("proof") as progress:
        report, certificate = prove_features(built, settings, progress=progress)
    document = {"causal": report.is_causal, "report": report, "certificate": certificate}
    if show_json(as_json, document):
        raise typer.Exit(0 if certificate else 1)
    for verdict in report.failures:
        print_note(
            f"{verdict.status}: {verdict.subject} {verdict.output}: "
            f"{verdict.offence or verdict.reason}"
        )
    proved = sum(verdict.is_causal for verdict in report.verdicts)
    rows = [
        ("outputs proved", f"{proved} of {len(report.verdicts)}"),
        ("past values compared bit for bit", f"{report.comparisons:,}"),
        ("recomputations with another future", f"{report.recomputations}"),
        ("common cuts", f"{len(report.common_cuts)}"),
        ("staggered (symbol, cut) pairs", f"{sum(map(len, report.staggered_cuts)):,}"),
        ("every bar, streaming = batch", "yes" if "every_bar" in report.subjects else "no"),
        ("supervised models", ", ".join(models) or "none"),
        ("certificate", certificate.sha256[:16] if certificate else "none: the panel stays locked"),
    ]
    print_table(f"Causality of {dataset} ({built.panel.folder.name})", ["", ""], rows)
    raise typer.Exit(0 if certificate else 1)


@app.command("show")
def show_panel(
    context: typer.Context,
    dataset: DatasetArgument,
    features: FeaturesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a dataset's panel as learners do: without a valid certificate it is refused.

    Example: [bold]tradingbot features show demo[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.features.panel import Panel
    from tradingbot.features.pipeline import panel_of

    workspace = invocation_of(context).workspace
    chosen = _feature_set(features, "default")
    panel = Panel.open(panel_of(BarStore(workspace).open(dataset), workspace, chosen))
    manifest, certificate = panel.manifest, panel.certificate
    found = {"folder": panel.folder, "manifest": manifest, "certificate": certificate}
    if show_json(as_json, found):
        return
    assert certificate is not None  # the gate above
    pairs = sum(map(len, certificate.staggered_cuts))
    rows = [
        ("folder", str(panel.folder)),
        ("kind", "synthetic" if manifest.synthetic else "real"),
        *((name, " × ".join(map(str, shape))) for name, shape in manifest.shapes.items()),
        ("features", ", ".join(manifest.features)),
        ("regimes", ", ".join(manifest.regimes)),
        ("covariates", ", ".join(manifest.covariates) or "none"),
        ("accepted errors", ", ".join(manifest.accepted_findings) or "none"),
        ("certificate", certificate.sha256[:16]),
        ("proved", f"{len(certificate.outputs)} outputs, {certificate.comparisons:,} comparisons"),
        ("cuts", f"{len(certificate.common_cuts)} common, {pairs:,} (symbol, cut) pairs"),
    ]
    print_table(f"Panel of {dataset}, certified causal", ["", ""], rows)


def _feature_set(option: str | None, configured: FeatureSet) -> FeatureSet:
    """Return the set that the option names, else that of the preset or file.

    Raises:
        ConfigError: If there is none of that name.
    """
    from tradingbot.domain.errors import require_known
    from tradingbot.features.registry import FEATURE_SETS

    if option is None:
        return configured
    require_known(option, FEATURE_SETS, "--features must be a set of features")
    return cast("FeatureSet", option)
