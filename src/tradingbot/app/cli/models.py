"""`tradingbot models list | show | promote | rollback | verify`: versions of served models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_json, print_table, print_text, show_json

if TYPE_CHECKING:
    from tradingbot.serving.bundle import BundleManifest
    from tradingbot.serving.model_versions import ModelVersion
    from tradingbot.serving.registry import ModelRegistry

app = typer.Typer(help="List, show, promote, roll back and verify models that can be served.")

VersionArgument = Annotated[
    str, Argument(metavar="VERSION", help="Version such as v3, or the beginning of its hash.")
]
ReasonOption = Annotated[str, Option(metavar="TEXT", help="Why; kept with the decision.")]
_EXIT_FINDINGS, _DIGITS = 1, 12


@app.command("list")
def list_models(context: typer.Context, as_json: JsonOption = False) -> None:
    """List all versions, the newest last.

    Example: [bold]tradingbot models list[/bold]
    """
    versions = _registry(context).versions()
    if show_json(as_json, [_plain(version) for version in versions]):
        return
    rows = [
        (
            *(version.name, version.state, version.run, _verdict(version)),
            *(version.registered_at, version.bundle_sha256[:_DIGITS]),
        )
        for version in versions
    ]
    columns = ["version", "state", "run", "verdict", "registered (UTC)", "bundle"]
    print_table("Models", columns, rows, unbroken=("version", "state"))
    if not versions:
        invocation_of(context).print_hint("no model yet; make one with: tradingbot export RUN")


@app.command("show")
def show_model(
    context: typer.Context, reference: VersionArgument, as_json: JsonOption = False
) -> None:
    """Show a version: what it was made of, what it may do, every decision about it.

    Example: [bold]tradingbot models show v1[/bold]
    """
    from tradingbot.serving.bundle import read_bundle

    registry = _registry(context)
    version = registry.version(reference)
    path = registry.bundle_path(version)
    manifest = read_bundle(path, sha256=version.bundle_sha256).manifest
    if as_json:
        told = manifest.model_dump(mode="json", exclude={"acting": {"scalers"}})
        print_json({**_plain(version), "bundle": path, "manifest": told})
        return
    periods = [(f"{name} period", str(days)) for name, days in manifest.periods.items()]
    rows = [
        ("state", version.state),
        ("verdict", _verdict(version)),
        ("run", f"{manifest.run.id}, checkpoint {manifest.run.checkpoint}"),
        ("data", manifest.run.data_label),
        *periods,
        ("agents", f"{len(manifest.symbols)}: {_first(manifest.symbols)}"),
        ("features", _features(manifest)),
        ("encoder", f"{manifest.sizes.width} numbers of {manifest.sizes.lookback_bars} bars"),
        ("confidence", manifest.confidence.replace("_", " ")),
        ("difference to PyTorch", f"{manifest.parity.largest_difference:.2g}"),
        ("bundle", str(path)),
        ("sha256", version.bundle_sha256),
    ]
    print_table(f"Model {version.name}", ["what", "value"], rows, unbroken=("what",))
    events = [
        (event.at, event.kind, event.to, event.accepted or "", event.reason)
        for event in version.events
    ]
    columns = ["at (UTC)", "decision", "state", "accepted verdict", "reason"]
    print_table("Decisions", columns, events)


@app.command("promote")
def promote_model(
    context: typer.Context,
    reference: VersionArgument,
    to: Annotated[
        str | None, Option(help="shadow, paper or retired; by default the next state.")
    ] = None,
    accept: Annotated[
        str | None,
        Option(metavar="VERDICT", help="Promote with this verdict all the same: NO-GO."),
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Move a version forward: candidate, shadow (sends no orders), paper (trades), retired.

    The bundle is verified first. A model that did not pass the gates is refused; with --accept and
    its verdict it is promoted, and that is recorded for ever. What was in the state before retires.

    Example: [bold]tradingbot models promote v2[/bold]

    Example: [bold]tradingbot models promote v2 --to paper --accept NO-GO --reason drill[/bold]
    """
    from tradingbot.domain.errors import ConfigError, suggest
    from tradingbot.serving.model_versions import STATES

    known = STATES[1:]
    if to is not None and to not in known:
        rule = f"--to must be {', '.join(known[:-1])} or {known[-1]}"
        raise ConfigError(rule, was=repr(to), remedy=suggest(to, known))
    state: Any = to
    now = datetime.now(UTC)
    registry = _registry(context)
    version = registry.promote(reference, at=now, to=state, accept=accept, reason=reason)
    _tell(version, as_json=as_json)


@app.command("rollback")
def roll_back_model(
    context: typer.Context,
    reference: Annotated[
        str | None,
        Argument(metavar="VERSION", help="By default the one on paper before the current."),
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put a version on paper again that was there before; a server that runs follows.

    Example: [bold]tradingbot models rollback[/bold]

    Example: [bold]tradingbot models rollback v1 --reason "fills worsened"[/bold]
    """
    now = datetime.now(UTC)
    version = _registry(context).roll_back(reference, at=now, reason=reason)
    _tell(version, as_json=as_json)


@app.command("verify")
def verify_models(
    context: typer.Context,
    reference: Annotated[
        str | None, Argument(metavar="VERSION", help="By default all of them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify bundles: hashes, operators, features, golden vectors; and every decision's hash.

    Exits with 0 where all is whole, with 1 where something is not.

    Example: [bold]tradingbot models verify[/bold]
    """
    registry = _registry(context)
    chosen = None if reference is None else registry.version(reference)
    problems = registry.problems(chosen)
    names = [each.name for each in registry.versions() if chosen in (None, each)]
    document = {"models": names, "problems": problems, "whole": not problems}
    if not show_json(as_json, document):
        for name, problem in problems.items():
            print_text(f"{name}: {problem}")
        whole = len([name for name in names if name not in problems])
        print_text(f"{whole} of {len(names)} models are whole")
    if problems:
        raise typer.Exit(_EXIT_FINDINGS)


def _registry(context: typer.Context) -> ModelRegistry:
    from tradingbot.serving.registry import ModelRegistry

    return ModelRegistry(invocation_of(context).workspace)


def _plain(version: ModelVersion) -> dict[str, Any]:
    names = ("name", "state", "run", "verdict", "registered_at", "bundle_sha256", "events")
    return {name: getattr(version, name) for name in names} | {"accepted": version.accepted}


def _features(manifest: BundleManifest) -> str:
    """Say how many features are made of bars, as `/v1/model` lists them, and what else is read."""
    n_of_bars = len(manifest.feature_ids)
    n_others = manifest.sizes.n_features - n_of_bars
    return f"{n_of_bars} of bars" + (f", {n_others} probabilities of moves" if n_others else "")


def _first(names: Sequence[str], count: int = 8) -> str:
    return ", ".join(names[:count]) + (", …" if len(names) > count else "")


def _verdict(version: ModelVersion) -> str:
    return f"{version.verdict}, accepted" if version.accepted else version.verdict


def _tell(version: ModelVersion, *, as_json: bool) -> None:
    if not show_json(as_json, _plain(version)):
        print_text(f"{version.name} is {version.state}: run {version.run}, {_verdict(version)}")
