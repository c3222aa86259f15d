"""`tradingbot bench cluster`: what a cluster costs beside processes, and that kills move no bit."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import progress_bar
from tradingbot_benchmarks.cli.table import OutOption, keep_records, tell_if_busy, tell_records

app = typer.Typer()


@app.command("cluster")
def bench_cluster(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer items, deaths, updates.")] = False,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure three Ray nodes on this machine against processes on the same cores (two minutes).

    Outcomes are compared before anything is timed. Then: overhead of items with a tenth of a second
    of work, empty items per second, how long the item of a killed worker waits, and whether
    trainings whose workers are killed end with the bits of those that are not. Synthetic data.

    Needs the extra: cluster.

    Example: [bold]tradingbot bench cluster --json[/bold]
    """
    from tradingbot.cluster.connection import require_ray

    require_ray()
    from tradingbot_benchmarks.cluster.bench import FULL, QUICK, measure_cluster

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = keep_records(measure_cluster(QUICK if quick else FULL, progress), out)
    tell_records(
        "Cluster benchmark (3 Ray nodes on this machine; CPU, synthetic)", found, wants_json=as_json
    )
