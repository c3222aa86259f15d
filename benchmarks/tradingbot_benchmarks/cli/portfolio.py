"""`tradingbot bench portfolio`: how fast portfolios are, and what masters learn."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, progress_bar
from tradingbot_benchmarks.cli.table import print_records, show_figure, tell_if_busy

app = typer.Typer()


@app.command("portfolio")
def bench_portfolio(
    quick: Annotated[
        bool, typer.Option("--quick", help="16 sleeves, and one seed of changing sleeves.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each kind of sleeves.")] = 3,
    sleeves: Annotated[int, typer.Option(min=2, help="Sleeves of the known answers.")] = 6,
    as_json: JsonOption = False,
) -> None:
    """Measure a portfolio of 143 sleeves over two years, and masters beside their oracle.

    Positions and cash are compared with plain loops before anything is timed. A master takes about
    half a minute of a core; four kinds of synthetic sleeves are learned with each seed. Studies of
    tuning are made beside random search of equal budget (extra: tune; not measured without). Each
    record is told on stderr as soon as it is measured.

    Example: [bold]tradingbot bench portfolio --json[/bold]

    Example: [bold]tradingbot bench portfolio --seeds 5 --sleeves 12[/bold]
    """
    from tradingbot_benchmarks.portfolio.backtest import PortfolioSize, measure_backtest
    from tradingbot_benchmarks.portfolio.known_answers import MasterMeasurement, measure_masters
    from tradingbot_benchmarks.record import describe_machine
    from tradingbot_benchmarks.tuning.bench import measure_tuning

    tell_if_busy()
    size = PortfolioSize(n_symbols=16) if quick else PortfolioSize()
    masters = MasterMeasurement(n_sleeves=sleeves, seeds=tuple(range(1, seeds + 1)))
    if quick:
        masters = MasterMeasurement(n_sleeves=sleeves, seeds=(1,), kinds=("changing",))
    found = []
    with progress_bar("bench") as progress:
        for record in chain(
            [measure_backtest(size, progress)],
            measure_masters(masters, progress),
            measure_tuning(progress, quick=quick),
        ):
            print_note(f"{record.name}: {show_figure(record.value, record.unit)}; {record.note}")
            found.append(record)
    if as_json:
        print_json(found)
        return
    print_records("Portfolio benchmark (synthetic; CPU)", found)
    for key, value in describe_machine().items():
        print_note(f"{key}: {value}")
