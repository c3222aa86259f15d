"""`tradingbot backtest`: runs and rules on one period, with what it cost and every trade."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import (
    GENERATED_DAYS,
    USUAL_UNIVERSE,
    MarketParamsOption,
    MarketSeedOption,
    read_options,
    require_file,
    require_market,
    require_market_options,
    require_one_market,
    require_order,
    require_picture,
    runs_root,
)
from tradingbot.app.cli.performance_table import flat_figures, print_backtests, terms_of
from tradingbot.app.console import print_note, progress_bar, show_json
from tradingbot.data.atomic import chosen_by
from tradingbot.domain.errors import ConfigError

if TYPE_CHECKING:
    from tradingbot.evaluation import market_rollouts

app = typer.Typer()

_MOST_BPS = 500.0


@app.command("backtest")
def backtest_policies(  # noqa: PLR0913 - one option for each thing that identifies a backtest
    context: typer.Context,
    names: Annotated[
        list[str],
        Argument(
            help="Runs (id, its beginning, or folder), rules (sma_cross:fast=20,slow=100), "
            "strategies of plugins, module:object, supervised models (model:NAME); beside a "
            "portfolio run allocation rules over its sleeves (allocation:NAME).",
            show_default=False,
        ),
    ],
    dataset: Annotated[
        str | None, Option(help="Dataset with a proved panel, for rules and models without a run.")
    ] = None,
    market: Annotated[
        str | None, Option(help="Synthetic market, for rules and models without a run.")
    ] = None,
    part: Annotated[
        str | None,
        Option(
            help="train, validation or test: of the split of a run, or of a model on its own data "
            "(test if left out); else of the split that data split shows (all bars if left out)."
        ),
    ] = None,
    start: Annotated[
        datetime | None,
        Option("--from", "--start", formats=["%Y-%m-%d"], help="First day, instead of a --part."),
    ] = None,
    end: Annotated[
        datetime | None, Option("--to", "--end", formats=["%Y-%m-%d"], help="Last day, included.")
    ] = None,
    costs: Annotated[
        str | None, Option(help="free, alpaca, retail or impact; a run's own by default.")
    ] = None,
    cost_bps: Annotated[
        float | None,
        Option(
            min=0.0,
            max=_MOST_BPS,
            help="Cost of each fill in basis points instead of commission, slippage and spread.",
        ),
    ] = None,
    delay: Annotated[
        int, Option(min=0, max=100, help="Bars that decisions wait beyond the next open.")
    ] = 0,
    allow_short: Annotated[
        bool,
        Option("--allow-short", help="Rules and strategies may sell short; a run has its own."),
    ] = False,
    factor: Annotated[
        str | None,
        Option(
            help="The market that results are taken apart by: equal_weight of the other symbols, "
            "a symbol of the data (SPY), or none; a run's own if left out, else equal_weight."
        ),
    ] = None,
    universe: Annotated[
        str | None, Option(help=f"Universe of a --market; {USUAL_UNIVERSE} if left out.")
    ] = None,
    seed: MarketSeedOption = None,
    params: MarketParamsOption = None,
    trades: Annotated[Path | None, Option(help="Write every trade into this CSV file.")] = None,
    out: Annotated[
        Path | None,
        Option(help="Draw equity and drawdown: a .png, a .svg, or a page with trades (.html)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Backtest runs, rules and strategies of your own: net of costs, with intervals and trades.

    Rules: flat, buy_and_hold, momentum, momentum_quarter, macd, sma_cross, residual_reversal,
    expert, trend_follower, random; on a synthetic market also oracle and omniscient. Rules beside a
    run trade its symbols and bars; alone they begin as soon as all have the past they need.
    Parameters: name:key=value,key=value. A model is long while its P(up) reaches a threshold (the
    base rate of a rise if left out), on its own data, a run's, or others whose bars came later. A
    run or model on its test bars is counted in the ledger of trials, once for the same days, costs
    and delay. Says of each whether it has an edge, and the cost at which its alpha ends. A
    portfolio run is one account of all symbols; what stands beside it is one portfolio each.
    Allocation rules: equal_weight, inverse_volatility, minimum_variance, mean_variance,
    hierarchical_risk_parity, confidence_weighted, best_single_agent, all_cash.

    Example: [bold]tradingbot backtest my-run buy_and_hold --trades trades.csv[/bold]

    Example: [bold]tradingbot backtest my-run --cost-bps 5 --delay 1 --json[/bold]

    Example: [bold]tradingbot backtest macd buy_and_hold --market planted --out page.html[/bold]

    Example: [bold]tradingbot backtest sma_cross:fast=10,slow=40 macd --market planted[/bold]

    Example: [bold]tradingbot backtest model:trees:threshold=0.4 buy_and_hold --part test[/bold]

    Example: [bold]tradingbot backtest residual_reversal --dataset us143 --allow-short
    --costs free[/bold]

    Example: [bold]tradingbot backtest my-master buy_and_hold allocation:equal_weight[/bold]

    Example: [bold]tradingbot backtest my_strategy --plugin mine.py --dataset us143[/bold]
    """
    from tradingbot.data.factor import require_factor
    from tradingbot.data.universes import load_universe
    from tradingbot.evaluation.policy_names import require_known_policies, require_models_later

    invocation = invocation_of(context)
    _require_period(part, start, end)
    require_file(trades, "--trades", "trades.csv")
    if out is not None:
        require_picture(out, "--out", (".html", ".png", ".svg"))
    _require_costs(costs, cost_bps)
    _require_place(invocation, dataset, market)
    draws = "random" in names
    universe, seed = require_market_options(market, universe, params, seed, draws=draws)
    has_market = dataset is not None or market is not None
    require_known_policies(names, runs_root(invocation), has_market=has_market)
    if allow_short:
        _require_rule(names)
    workspace, day = invocation.workspace, _first_day(part, start)
    if dataset is not None:
        _require_dataset(names, workspace, dataset, day, factor)
    if market is not None:
        require_market(market, universe, read_options(params, "--set"))
        asked = {"name": market, "universe": universe, "seed": seed}
        require_factor(factor or "none", load_universe(universe).symbols)
        require_models_later(names, workspace, asked, day, GENERATED_DAYS[0])
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.data.atomic import atomic_file
    from tradingbot.evaluation.pipeline.backtest_terms import BacktestTerms
    from tradingbot.evaluation.pipeline.backtests import backtest_named
    from tradingbot.evaluation.pipeline.test_access import count_test_access
    from tradingbot.evaluation.pipeline.trades_csv import trades_csv
    from tradingbot.facade.picture import draw_backtests
    from tradingbot.market.costs import cost_profile

    terms = BacktestTerms(
        part=part,  # type: ignore[arg-type]  # one of the three, as was just made sure of
        start=start.date() if start else None,
        end=end.date() if end else None,
        costs=cost_profile(costs) if costs else None,
        cost_bps=cost_bps,
        delay_bars=delay,
        seed=seed,
        factor=factor,
        allow_short=allow_short,
    )
    place = _place(names, workspace, dataset, market, universe, seed, params)
    with progress_bar("backtest") as progress:
        played = backtest_named(names, workspace, terms, market=place, progress=progress)
    found, figures = played.backtests, played.figures()
    # Whatever can be refused was refused: now figures are shown, so now they are counted.
    with chosen_by("--trades", trades), ExitStack() as stack:
        if trades is not None:
            temporary = stack.enter_context(atomic_file(trades))
            temporary.write_text(trades_csv(found), encoding="utf-8")
        count_test_access(played.accesses)
    if out is not None:
        with chosen_by("--out", out):
            draw_backtests(found, [each.performance for each in figures], out, terms_of(figures))
    if not show_json(as_json, [flat_figures(each) for each in figures]):
        print_backtests(figures)
    if trades is not None:
        print_note(f"{sum(len(each.trades) for each in found):,} trades: {trades}")
    if out is not None:
        print_note(f"drawn: {out}")


def _require_rule(names: list[str]) -> None:
    """Refuse to sell short where nothing could: runs have their own rules, models are long."""
    from tradingbot.evaluation.policy_names import is_model, runs_among

    if all(is_model(name) or name in runs_among(names) for name in names):
        rule = "--allow-short must stand with a rule or strategy: runs and models have their own"
        raise ConfigError(rule, was=", ".join(names), remedy="Leave it out, or name a rule")


def _require_period(part: str | None, start: datetime | None, end: datetime | None) -> None:
    if part is not None and (start is not None or end is not None):
        rule = "--part must stand without --from and --to"
        raise ConfigError(rule, was="both", remedy="Leave the part or the days out")
    if part not in (None, "train", "validation", "test"):
        rule = "--part must be train, validation or test"
        raise ConfigError(rule, was=repr(part), remedy="For other days, give --from and --to")
    require_order(start, end)


def _first_day(part: str | None, start: datetime | None) -> date | None:
    """Return the day from which on models are asked about; None for that of the data."""
    # Where a part begins is told by its bars: too late to be asked about here.
    return date.max if part is not None else start.date() if start else None


def _require_costs(costs: str | None, cost_bps: float | None) -> None:
    from tradingbot.configuration.part_names import FILL_COST_NAMES, require_costs

    if costs is not None:
        require_costs(costs, "--costs")
    if cost_bps is not None and costs in FILL_COST_NAMES:
        rule = f"--cost-bps must stand without --costs {costs}, all of which it replaces"
        raise ConfigError(rule, was="both", remedy="Leave one out")


def _require_place(invocation: Invocation, dataset: str | None, market: str | None) -> None:
    require_one_market(dataset, market, "Leave one out")
    if dataset is not None:
        from tradingbot.data.store import BarStore

        BarStore(invocation.workspace).open(dataset)


def _require_dataset(
    names: list[str], workspace: Path, dataset: str, first_day: date | None, factor: str | None
) -> None:
    """Refuse models that do not fit a dataset, and a market that it does not have."""
    from tradingbot.data.factor import require_factor
    from tradingbot.data.store import BarStore
    from tradingbot.evaluation.policy_names import require_models_fit

    stored = BarStore(workspace).open(dataset)
    require_models_fit(names, stored, workspace, first_day)
    require_factor(factor or "none", stored.manifest.symbols)


def _place(
    names: list[str],
    workspace: Path,
    dataset: str | None,
    market: str | None,
    universe: str,
    seed: int,
    params: list[str] | None,
) -> market_rollouts.RolloutMarket | None:
    from tradingbot.app.cli.rollout import generated_market
    from tradingbot.data.store import BarStore
    from tradingbot.evaluation import market_rollouts

    if dataset is None and market is None:
        return None
    prices_alone = market_rollouts.read_prices_alone(names)
    if dataset is not None:
        open_market = (
            market_rollouts.market_of_prices if prices_alone else market_rollouts.market_of_dataset
        )
        return open_market(BarStore(workspace).open(dataset), workspace)
    assert market is not None  # one of the two, as was made sure of
    values = read_options(params, "--set")
    # Days are chosen from the market, not for it: rules look back before the first of them.
    return generated_market(market, universe, (None, None), seed, values, prices_alone)
