"""`tradingbot bench serve`: how long a served model takes to answer, also over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import progress_bar
from tradingbot_benchmarks.cli.table import tell_if_busy, tell_records

app = typer.Typer()


@app.command("serve")
def bench_serve(
    quick: Annotated[bool, typer.Option("--quick", help="A small model, timed less.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure a served model of 143 agents, in process and over HTTP (some minutes).

    Weights are drawn, sizes are the product's. ONNX Runtime, PyTorch and the server are compared on
    the same bars before anything is timed; all use one thread. Then: one symbol in process and over
    HTTP, a new bar of all symbols, five times as many requests as can be answered, 1,000 swaps
    under load. Needs the extra: serve.

    Example: [bold]tradingbot bench serve --json[/bold]
    """
    from tradingbot.serving import onnx_runtime  # noqa: F401 - it says which extra is missing
    from tradingbot_benchmarks.serving.bench import FULL, QUICK, measure_serving

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = measure_serving(QUICK if quick else FULL, progress)
    tell_records("Serving benchmark (drawn weights; CPU, one thread)", found, wants_json=as_json)
