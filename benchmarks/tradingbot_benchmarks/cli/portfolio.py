"""`tradingbot bench portfolio`: how fast portfolios are, and what masters learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.cli.options import split_commas
from tradingbot.app.console import Progress, progress_bar
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot_benchmarks.cli.table import OutOption, keep_records, tell_if_busy, tell_records

if TYPE_CHECKING:
    from tradingbot_benchmarks.portfolio.known_answers import MasterMeasurement
    from tradingbot_benchmarks.record import BenchRecord

app = typer.Typer()
STAGES = ("backtest", "masters", "tuning")
_LEARNERS = ("direct", "ppo")


@app.command("portfolio")
def bench_portfolio(
    quick: Annotated[
        bool, typer.Option("--quick", help="16 sleeves and one short master; no studies.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(help=f"These, by commas; all if left out: {', '.join(STAGES)}."),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(help="Of the masters: direct if left out, or ppo (a minute of a core each)."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds of each kind of sleeves; 3.")
    ] = None,
    sleeves: Annotated[
        int | None, typer.Option(min=2, help="Sleeves of the known answers; 6.")
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a portfolio of 143 sleeves over two years, and masters beside their oracle.

    Positions and cash are compared with plain loops before anything is timed. A master takes about
    half a minute of a core; four kinds of synthetic sleeves are learned with each seed. Studies of
    tuning are made beside random search of equal budget (extra: tune; not measured without). Each
    record is told on stderr as soon as it is measured.

    Example: [bold]tradingbot bench portfolio --json --out records.json[/bold]

    Example: [bold]tradingbot bench portfolio --only masters --seeds 5 --sleeves 12[/bold]
    """
    wanted = STAGES if only is None else split_commas(only, "--only", "stages", "backtest")
    for name in wanted:
        require_known(name, STAGES, "--only must name stages of the benchmark")
    given = {"--learner": learner, "--seeds": seeds, "--sleeves": sleeves}
    _require_effect({key: each for key, each in given.items() if each is not None}, wanted, quick)
    by = learner or "direct"
    require_known(by, _LEARNERS, "--learner must be one that masters learn by")
    from tradingbot_benchmarks.portfolio.known_answers import PPO_MEASUREMENT, MasterMeasurement

    tell_if_busy()
    usual = PPO_MEASUREMENT if by == "ppo" else MasterMeasurement()
    masters = replace(usual, n_sleeves=sleeves or 6, seeds=tuple(range(1, (seeds or 3) + 1)))
    if quick:
        short = replace(masters, n_bars=36_000, updates=100, measured_bars=500)
        masters = replace(short, seeds=(1,), kinds=("changing",))
    with progress_bar("bench") as progress:
        found = keep_records(_measured(wanted, masters, progress, quick=quick), out)
    tell_records("Portfolio benchmark (synthetic; CPU)", found, wants_json=as_json)


def _require_effect(given: Mapping[str, object], wanted: Sequence[str], quick: bool) -> None:
    """Refuse options of masters where no master learns, and seeds where there is one.

    Raises:
        ConfigError: Naming the first.
    """
    for option, value in given.items():
        if "masters" not in wanted:
            rule = f"{option} must stand with the stage masters, which alone it is of"
            remedy = f"Leave {option} out, or add masters to --only"
        elif quick and option == "--seeds":
            rule, remedy = "--seeds must stand without --quick, which has one", "Leave one out"
        else:
            continue
        raise ConfigError(rule, was=f"{option} {value}", remedy=remedy)


def _measured(
    wanted: Sequence[str], masters: MasterMeasurement, progress: Progress, *, quick: bool
) -> Iterator[BenchRecord]:
    """Yield the records of these stages as they come."""
    from tradingbot_benchmarks.portfolio.backtest import PortfolioSize, measure_backtest
    from tradingbot_benchmarks.portfolio.known_answers import measure_masters
    from tradingbot_benchmarks.tuning.bench import measure_tuning

    if "backtest" in wanted:
        yield measure_backtest(PortfolioSize(16 if quick else 143), progress)
    if "masters" in wanted:
        yield from measure_masters(masters, progress)
    if "tuning" in wanted:
        yield from measure_tuning(progress, quick=quick)
