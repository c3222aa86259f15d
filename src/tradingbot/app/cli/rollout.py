"""`tradingbot market rollout`: policies side by side on one market."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import (
    GENERATED_DAYS,
    USUAL_UNIVERSE,
    MarketOption,
    MarketParamsOption,
    MarketSeedOption,
    read_options,
    require_market,
    require_market_options,
    require_order,
    require_picture,
)
from tradingbot.app.console import print_json, print_note, print_table, progress_bar
from tradingbot.domain.errors import ConfigError
from tradingbot.plugins.reference import split_names

if TYPE_CHECKING:
    from tradingbot.evaluation.market_rollouts import RolloutMarket, RolloutReport

app = typer.Typer()

Days = tuple[date | None, date | None]


@app.command("rollout")
def roll_out_market(  # noqa: PLR0913 - one option for each thing that identifies a rollout
    context: typer.Context,
    dataset: Annotated[
        str | None, Argument(help="A dataset whose panel is proved causal.", show_default=False)
    ] = None,
    market: MarketOption = None,
    policies: Annotated[
        str | None,
        Option(help="Rules, strategies of plugins, oracle, omniscient, by commas; else the usual."),
    ] = None,
    costs: Annotated[str, Option(help="free, alpaca, retail or impact.")] = "alpaca",
    reward: Annotated[str, Option(help="Preset whose terms are added up.")] = "v31",
    start: Annotated[
        datetime | None,
        Option(
            "--from",
            "--start",
            formats=["%Y-%m-%d"],
            help="First day; the first there is, or 2024-10-01 of a --market.",
        ),
    ] = None,
    end: Annotated[
        datetime | None,
        Option(
            "--to",
            "--end",
            formats=["%Y-%m-%d"],
            help="Last day, included; 2025-10-01 of a --market.",
        ),
    ] = None,
    universe: Annotated[
        str | None,
        Option(help=f"Universe of a --market, by name or CSV file; else {USUAL_UNIVERSE}."),
    ] = None,
    seed: MarketSeedOption = None,
    params: MarketParamsOption = None,
    out: Annotated[
        Path | None, Option(help="Write a page with pictures (.html); needs extra plot.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Roll out policies on a market: equity, trades, costs and reward terms of each.

    Every policy gets one long-only account per symbol. Rules: random, buy_and_hold, expert. The
    oracle knows a synthetic market by heart; it cannot be asked about observed bars.

    Example: [bold]tradingbot market rollout us143 --from 2025-08-01 --out page.html[/bold]

    Example: [bold]tradingbot market rollout --market planted --set kappa=0.1[/bold]

    Example: [bold]tradingbot market rollout us143 --policies expert,buy_and_hold --json[/bold]
    """
    from tradingbot.configuration.part_names import require_costs, require_reward
    from tradingbot.data.atomic import write_text
    from tradingbot.evaluation.policy_names import require_known_rules

    if out is not None:
        require_picture(out, "--out", (".html",))
    names = split_names(policies) if policies is not None else ()
    require_known_rules(names)
    require_costs(costs, "--costs")
    require_reward(reward, "--reward")
    require_order(start, end)
    draws = not names or "random" in names
    universe, seed = require_market_options(market, universe, params, seed, draws=draws)
    _require_place(invocation_of(context), dataset, market)
    if market is not None:
        require_market(market, universe, read_options(params, "--set"))
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.evaluation.market_rollouts import RolloutTerms, roll_out_policies

    terms = RolloutTerms(policies=names, costs=costs, reward=reward, seed=seed)
    days = (start.date() if start else None, end.date() if end else None)
    if dataset is not None:
        subject = _stored(invocation_of(context), dataset, days)
    else:
        assert market is not None  # one of the two, as was made sure of
        subject = generated_market(market, universe, days, seed, read_options(params, "--set"))
    with progress_bar("rollout") as progress:
        report = roll_out_policies(subject, terms, progress=progress)
    if out is not None:
        from tradingbot.evaluation.report import rollout_page

        write_text(out, rollout_page.render_rollout(report))
    if as_json:
        print_json(_as_record(report, out))
    else:
        _print_report(report, out)


def _require_place(invocation: Invocation, dataset: str | None, market: str | None) -> None:
    from tradingbot.data.store import BarStore
    from tradingbot.training.early_refusals import require_certified

    if (dataset is None) == (market is None):
        raise ConfigError(
            "either a dataset or --market must be given",
            was="neither" if dataset is None else "both",
            remedy="Try: tradingbot market rollout --market planted",
        )
    if dataset is not None:
        found = BarStore(invocation.workspace).open(dataset)
        require_certified(found, invocation.workspace, dataset)


def _stored(invocation: Invocation, dataset: str, days: Days) -> RolloutMarket:
    from tradingbot.data.store import BarStore
    from tradingbot.evaluation.market_rollouts import market_of_dataset

    start, end = days
    workspace = invocation.workspace
    return market_of_dataset(BarStore(workspace).open(dataset), workspace, start=start, end=end)


def generated_market(
    market: str,
    universe: str,
    days: Days,
    seed: int,
    params: dict[str, object],
    prices_alone: bool = False,
) -> RolloutMarket:
    """Generate a market of these days; a year by default."""
    from tradingbot.data.sources.synthetic import SyntheticSource
    from tradingbot.data.universes import load_universe
    from tradingbot.evaluation.market_rollouts import market_of_source

    start, end = days
    return market_of_source(
        SyntheticSource(
            universe=load_universe(universe),
            start=start or GENERATED_DAYS[0],
            end=end or GENERATED_DAYS[1],
            market=market,
            seed=seed,
            params=params,
        ),
        prices_alone=prices_alone,
    )


def _print_report(report: RolloutReport, out: Path | None) -> None:
    from tradingbot.evaluation.report import rollout_page

    word = "synthetic" if report.rollout.synthetic else "observed bars, simulated trading"
    print_table(
        f"Policies side by side ({word}, net of costs)",
        rollout_page.STATISTICS_COLUMNS,
        rollout_page.statistics_rows(report),
        caption=rollout_page.describe(report),
    )
    columns, rows = rollout_page.reward_rows(report)
    print_table(f"Reward {report.reward!r} per 1,000 bars, mean of the accounts", columns, rows)
    if out is not None:
        print_note(f"Page with pictures: {out}")


def _as_record(report: RolloutReport, out: Path | None) -> dict[str, object]:
    from tradingbot.evaluation.report import rollout_page

    rollout = report.rollout
    total = rollout.equity[-1] / rollout.initial_cash_ccy - 1.0
    terms = rollout.reward_terms.mean(axis=2)

    def by_policy(names: Sequence[str], rows: list[list[float]]) -> dict[str, dict[str, float]]:
        figures = [dict(zip(names, row, strict=True)) for row in rows]
        return dict(zip(rollout.policies, figures, strict=True))

    return {
        "synthetic": rollout.synthetic,
        "label": rollout.label,
        "terms": rollout_page.describe(report),
        "bars": rollout.n_bars,
        **{key: getattr(report, key) for key in ("costs", "reward", "seed", "bars_per_year")},
        "statistics": [
            {**vars(each), **vars(account)}
            for each, account in zip(report.performance, report.accounts, strict=True)
        ],
        "reward_terms": by_policy(rollout.reward_names, terms.T.tolist()),
        "total_return_by_symbol": by_policy(rollout.symbols, total.tolist()),
        "page": out,
    }
