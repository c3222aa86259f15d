"""`tradingbot compare RUN RUN …`: what differs in settings, data, results and behaviour."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import look_up_run, require_picture
from tradingbot.app.console import print_json, print_note, print_table, print_text, progress_bar
from tradingbot.domain.errors import ConfigError

if TYPE_CHECKING:
    from tradingbot.evaluation.comparison.record import RunComparison

app = typer.Typer()


@app.command("compare")
def compare_all(
    context: typer.Context,
    references: Annotated[
        list[str],
        Argument(
            metavar="RUN",
            help="Ids of runs, beginnings of them, or folders; others are compared with the first.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, Option(help="Write a page (.html): differences with intervals, charts.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare finished runs: what differs in settings, data, results and behaviour.

    Every run trades its own test part at its own costs. Differences are of bars that both traded,
    with 95 % intervals of the pair; where bars, symbols, data or costs differ it is said. Looks at
    test bars are counted in the ledger of trials, once for the same weights, days and costs. For a
    quick look at settings and last figures: tradingbot runs compare.

    Example: [bold]tradingbot compare us143-first us143-second --out compared.html[/bold]

    Example: [bold]tradingbot compare base wider deeper --json[/bold]
    """
    invocation = invocation_of(context)
    if out is not None:
        require_picture(out, "--out", (".html",))
    _require_runs(invocation, references)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.data.atomic import chosen_by, write_text
    from tradingbot.evaluation.comparison.measure import compare_runs
    from tradingbot.evaluation.comparison.page import render_comparison

    with progress_bar("compare") as progress:
        found = compare_runs(references, invocation.workspace, progress=progress)
    if out is not None:
        with chosen_by("--out", out):
            write_text(out, render_comparison(found))
    if as_json:
        from tradingbot.evaluation.dossier.codec import to_plain

        print_json(to_plain(found))
        return
    _print_comparison(found)
    if out is not None:
        print_note(f"drawn: {out}")


def _require_runs(invocation: Invocation, references: list[str]) -> None:
    """Refuse runs that cannot be compared, before anything heavy is imported."""
    from tradingbot.runs.comparison import state_of

    if len(references) < 2:
        rule, remedy = "two runs or more must be given", "List them with: tradingbot runs list"
        raise ConfigError(rule, was=len(references), remedy=remedy)
    runs = [look_up_run(invocation, reference) for reference in references]
    for run in runs:
        if state_of(run) != "finished":
            remedy = f"Go on with it: tradingbot train --resume {run.id}"
            rule = "runs must be finished to be compared"
            raise ConfigError(rule, was=state_of(run), where=run.id, remedy=remedy)
    names = [run.id for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        rule = "runs must be named once each"
        raise ConfigError(rule, was=f"{twice} twice", remedy="Leave one out")


def _print_comparison(found: RunComparison) -> None:
    from tradingbot.evaluation.comparison.page import words_of
    from tradingbot.evaluation.performance.table import write_interval

    names = [each.run for each in found.runs]
    word = "synthetic" if found.is_synthetic else "observed bars, simulated trading"
    print_text(f"{len(found.config)} settings differ")
    if found.config:
        print_table(
            "Configuration", ["key", *names], [(row.name, *row.values) for row in found.config]
        )
    rows: list[tuple[Any, ...]] = [
        (
            *(each.run, f"{each.first_day} … {each.last_day}", f"{each.bars:,}"),
            *(f"{each.performance.total_return_frac:+.1%}",),
            *(write_interval(each.performance.sharpe_annual),),
            *(write_interval(each.performance.net_bps_per_bar), f"{each.costs_bps:.1f}"),
        )
        for each in found.runs
    ]
    columns = ["run", "test part", "bars", "return", "Sharpe/yr [95 %]", "bp/bar [95 %]", "cost bp"]
    print_table(f"Results ({word}, net of costs)", columns, rows)
    differences = [
        (
            *(each.run, f"{each.bars:,}", write_interval(each.net_bps_per_bar)),
            *(write_interval(each.alpha_bps_per_bar), write_interval(each.sharpe_annual)),
            write_interval(each.exposure_frac.scaled(100)),
        )
        for each in found.differences
    ]
    if differences:
        columns = ["run", "shared bars", "bp/bar", "alpha bp/bar", "Sharpe/yr", "exposure %"]
        print_table(f"Less {names[0]} [95 % of the pair]", columns, differences)
    for line in words_of(found):
        print_text(line)
    for each in found.differences:
        for caveat in each.caveats:
            print_text(f"{each.run}: {caveat}")
    for run, why in found.unpaired:
        print_text(f"{run}: no difference: {why}")
