"""`tradingbot export RUN`: a finished run as one bundle, registered as a candidate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import look_up_run, require_file
from tradingbot.app.console import print_note, print_table, print_text, show_json

app = typer.Typer()


@app.command("export")
def export(
    context: typer.Context,
    reference: Annotated[
        str, Argument(metavar="RUN", help="Id of a run, the beginning of it, or its folder.")
    ],
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write the bundle there as well.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Export a finished run as one ONNX bundle and register it as a candidate.

    The bundle holds encoder and heads of all agents, of a portfolio also the master over them,
    scalers, features with hashes, rules, golden vectors, the verdict of the gates and the data
    period. ONNX Runtime is compared with PyTorch on the run's own bars and on hostile ones; above
    a difference of 1e-5 nothing is written.

    Example: [bold]tradingbot export us143-first[/bold]

    Example: [bold]tradingbot export us143-first --out first.zip --json[/bold]
    """
    from tradingbot.app.model_export import export_model, require_exportable
    from tradingbot.data.atomic import chosen_by, require_writable

    invocation = invocation_of(context)
    run = look_up_run(invocation, reference)
    require_file(out, "--out", "bundle.zip")
    if out is not None:
        with chosen_by("--out", out):
            require_writable(out.absolute().parent)
    require_exportable(run)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    made = export_model(run, invocation.workspace, at=datetime.now(UTC), out=out)
    manifest = made.exported.manifest
    document = {
        "version": made.version.name,
        "state": made.version.state,
        "sha256": made.exported.sha256,
        "bundle": made.bundle,
        "verdict": manifest.verdict,
        "parity": manifest.parity,
        "note": made.note or None,
    }
    if show_json(as_json, document):
        return
    parity = manifest.parity
    print_text(f"{run.id} is model {made.version.name} ({made.version.state})")
    rows = [
        ("bundle", str(made.bundle)),
        ("sha256", made.exported.sha256),
        ("agents", len(manifest.symbols)),
        ("verdict", manifest.verdict.status),
        ("difference to PyTorch", f"{parity.largest_difference:.2g}, of at most 1e-05"),
        ("rows compared", f"{parity.n_real:,} of its data, {parity.n_hostile:,} hostile"),
        ("decisions that differ", f"{parity.n_decisions_differ} of {parity.n_decisions:,}"),
    ]
    print_table("Bundle", ["what", "value"], rows, unbroken=("what",))
    if made.note:
        print_note(f"no real bars were compared: {made.note}")
    taken = "" if made.version.passed else f" --accept {made.version.verdict!r}"
    invocation.print_hint(f"promote it with: tradingbot models promote {made.version.name}{taken}")
