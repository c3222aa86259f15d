"""`tradingbot market`: synthetic markets, what is known about them, and what policies do there."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli import rollout
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_note, print_table, progress_bar, show_json

app = typer.Typer(help="List synthetic markets, compute oracles, measure facts, roll out policies.")
app.add_typer(rollout.app)


@app.command("list")
def list_markets(as_json: JsonOption = False) -> None:
    """List the synthetic markets with their parameters.

    Example: [bold]tradingbot market list[/bold]
    """
    from tradingbot.data.synthetic.registry import known_markets

    specs = [(spec.name, spec.summary, spec.defaults().model_dump()) for spec in known_markets()]
    keys = ("name", "summary", "defaults")
    if show_json(as_json, [dict(zip(keys, spec, strict=True)) for spec in specs]):
        return
    rows = [(*spec[:2], ", ".join(f"{k}={v}" for k, v in spec[2].items())) for spec in specs]
    print_table("Synthetic markets", ["name", "what it is", "parameters"], rows)
    print_note("Next: tradingbot data generate --name easy --market planted --set kappa=0.1")


@app.command("oracle")
def show_oracle(
    context: typer.Context,
    dataset: Annotated[
        str | None, Argument(help="A synthetic dataset; without one, the table of all markets.")
    ] = None,
    cost_bps: Annotated[
        float, Option(min=0.0, max=1000.0, help="Cost per unit of turnover, basis points.")
    ] = 1.2,
    rule: Annotated[str, Option(help="long_only or long_short.")] = "long_only",
    as_json: JsonOption = False,
) -> None:
    """Compute the best policy known for a market, by dynamic programming and by simulation.

    Example: [bold]tradingbot market oracle[/bold]

    Example: [bold]tradingbot market oracle easy --cost-bps 5[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.evaluation.oracle.known_answers import answer_all, answer_dataset, oracle_rows

    if dataset is None:
        with progress_bar("oracles") as progress:
            results = answer_all(cost_bps=cost_bps, rule=rule, progress=progress)
    else:
        found = BarStore(invocation_of(context).workspace).open(dataset)
        results = answer_dataset(found, cost_bps=cost_bps, rule=rule)
    if show_json(as_json, results):
        return
    columns, rows = oracle_rows(results)
    first = results[0]
    print_table(
        f"Oracles (synthetic, cost {cost_bps:g} bp, {rule})",
        columns,
        rows,
        caption=f"{first.symbols} symbols × {first.bars:,} bars, seed {first.seed}; "
        "net basis points per bar and symbol; 95 % intervals",
    )


@app.command("facts")
def show_facts(
    context: typer.Context,
    datasets: Annotated[list[str], Argument(help="One or more datasets, side by side.")],
    as_json: JsonOption = False,
) -> None:
    """Measure stylised facts: tails, clustering, leverage, day shape, correlation.

    Example: [bold]tradingbot market facts demo us143[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.evaluation.dataset_facts import measure_dataset

    store = BarStore(invocation_of(context).workspace)
    found = {name: store.open(name) for name in datasets}
    measured = {name: measure_dataset(dataset) for name, dataset in found.items()}
    if show_json(as_json, measured):
        return
    kinds = [
        f"{name} ({'synthetic' if dataset.manifest.provenance.synthetic else 'real'})"
        for name, dataset in found.items()
    ]
    facts = [facts.as_dict() for facts in measured.values()]
    rows = [
        (fact, *(f"{f[fact].median:.3g} [{f[fact].low:.3g}, {f[fact].high:.3g}]" for f in facts))
        for fact in facts[0]
    ]
    print_table("Stylised facts: median over symbols [quartiles]", ["fact", *kinds], rows)
