"""`tradingbot bench train`: learners beside SB3, and what the tools of the recovery cost."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.cli.options import split_commas
from tradingbot.app.console import progress_bar
from tradingbot.domain.errors import require_known
from tradingbot_benchmarks.cli.table import OutOption, keep_records, tell_if_busy, tell_records
from tradingbot_benchmarks.learning.stages import STAGES

app = typer.Typer()


@app.command("train")
def bench_train(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer agents and less time; extrapolates the whole.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(help=f"These, by commas; all if left out: {', '.join(STAGES)}."),
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure learners against Stable-Baselines3, a whole training, and growth with agents.

    Takes half an hour, a few minutes with --quick; most of it is SB3 on its way to the quality that
    both must reach. Every record is told on stderr as it is measured, with the load of the machine
    after it. Needs the extra: bench.

    Example: [bold]tradingbot bench train --json --out records.json[/bold]

    Example: [bold]tradingbot bench train --quick --only ppo_vs_sb3,sac_vs_sb3[/bold]
    """
    wanted = STAGES if only is None else split_commas(only, "--only", "stages", "ppo_vs_sb3")
    for name in wanted:
        require_known(name, STAGES, "--only must name stages of the benchmark")
    from tradingbot_benchmarks.learning.train import FULL, QUICK, measure_training

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = keep_records(measure_training(QUICK if quick else FULL, progress, only=wanted), out)
    tell_records("Training benchmark (synthetic markets; CPU)", found, wants_json=as_json)
