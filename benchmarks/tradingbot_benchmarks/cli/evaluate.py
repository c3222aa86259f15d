"""`tradingbot bench evaluate`: how fast backtests are, and how often the verdict is GO."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.executor_options import (
    PROCESSES,
    AddressOption,
    ExecutorOption,
    TokenOption,
    choose_workers,
    usual_count,
)
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import progress_bar
from tradingbot.executors.workers import workers_by
from tradingbot_benchmarks.cli.table import tell_if_busy, tell_records

app = typer.Typer()


@app.command("evaluate")
def bench_evaluate(  # noqa: PLR0913 - one option for each thing that is measured
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Eight symbols instead of 143.")] = False,
    noise: Annotated[int, typer.Option(min=0, help="Noise markets to judge.")] = 0,
    planted: Annotated[int, typer.Option(min=0, help="Planted markets to judge.")] = 0,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure backtests beside backtesting.py (a minute), and how often the verdict is GO.

    Trades and equity of both programs are compared before anything is timed. A market is generated,
    learned from and judged whole, in one to two minutes of a core. Needs the extra: bench.

    Example: [bold]tradingbot bench evaluate --json[/bold]

    Example: [bold]tradingbot bench evaluate --noise 100 --planted 40[/bold]

    Example: [bold]tradingbot bench evaluate --noise 400 --executor ray[/bold]
    """
    workers = choose_workers(invocation_of(context), executor, address, token_file)
    from tradingbot_benchmarks.evaluation.backtest import FULL, QUICK, measure_backtests
    from tradingbot_benchmarks.evaluation.go_rates import NOISE, PLANTED, measure_rates
    from tradingbot_benchmarks.simulator.native_bench import measure_native_step

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = measure_backtests(QUICK if quick else FULL, progress)
        found.append(measure_native_step())
        counts = {NOISE: noise, PLANTED: planted}
        with workers_by(workers):
            found += measure_rates(counts, jobs=usual_count(workers), progress=progress)
    tell_records(
        "Evaluation benchmark (synthetic bars; CPU, one thread)", found, wants_json=as_json
    )
