"""`tradingbot bench`: speed, measured against references in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.cli.options import require_picture
from tradingbot.app.console import print_json, print_note, print_table, progress_bar

if TYPE_CHECKING:
    from tradingbot.app.bench.data_bench import Measured

app = typer.Typer(help="Measure speed and memory; results are checked for equality first.")


@app.callback()
def _keep_verbs() -> None:
    """Measure speed and memory; results are checked for equality first."""


@app.command("data")
def bench_data(
    quick: Annotated[bool, typer.Option("--quick", help="Only 143 symbols × 2 years.")] = False,
    curve: Annotated[
        Path | None, typer.Option(help="Draw the growth of time and memory as a PNG file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure generating, checking, features, panel and streaming (two to three minutes).

    The features are compared with a per-symbol pandas + TA-Lib loop, the stream with the batch,
    before anything is timed. Needs the extra: bench.

    Example: [bold]tradingbot bench data --json[/bold]
    """
    from tradingbot.app.bench.data_bench import measure, records
    from tradingbot.app.bench.record import describe_machine

    if curve is not None:
        require_picture(curve, "--curve")
    with progress_bar("bench") as progress:
        measured = measure(curve=not quick, progress=progress)
    found = records(measured)
    if curve is not None:
        _draw(measured, curve)
    if as_json:
        print_json(found)
        return
    rows = [
        (r.name, _show(r.value, r.unit), _show(r.reference, r.unit), r.reference_name, r.ratio)
        for r in found
    ]
    print_table(
        "Data benchmark (synthetic bars; median of three fresh processes)",
        ["what", "measured", "reference", "", "reference ÷ measured"],
        rows,
    )
    for key, value in describe_machine().items():
        print_note(f"{key}: {value}")


def _show(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:.3f} s" if value >= 0.1 else f"{value * 1e3:.3f} ms"


def _draw(measured: Measured, path: Path) -> None:
    from tradingbot.app.bench.data_bench import STAGES
    from tradingbot.data.atomic import atomic_file
    from tradingbot.evaluation.figures.scaling_curve import Measurement, draw_scaling

    points = [
        Measurement(
            "daily bars" if size.timeframe == "1d" else "hourly bars",
            figures["rows"],
            {stage: figures[stage] for stage in STAGES},
            figures["peak_bytes"],
        )
        for size, figures in measured.items()
    ]
    figure = draw_scaling(points, title="Seconds by stage (synthetic bars)")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    print_note(f"Drew {path}")
