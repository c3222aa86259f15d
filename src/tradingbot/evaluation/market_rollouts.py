"""Rollouts for commands and pages: from a dataset or a generated market to figures per policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from tradingbot.agents import RULES, Policy
from tradingbot.data.calendar import TradingCalendar, time_zone_of
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.sources.synthetic import SyntheticSource, regenerate
from tradingbot.data.store import Dataset
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import ConfigError, DataError, suggest
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.envs.build_world import world_from_market, world_from_panel
from tradingbot.envs.price_world import world_of_prices
from tradingbot.envs.synthetic_market import inputs_of_market
from tradingbot.envs.world import World, cut_world
from tradingbot.evaluation.backtest import bars_between, baseline, sleeve_config
from tradingbot.evaluation.backtest.baselines import ORACLES, oracle_policy, warm_up_bars
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.policy_names import is_model, is_run
from tradingbot.evaluation.rollout import AccountFigures, PolicyRollout, account_figures, roll_out
from tradingbot.features.panel import Panel, panel_specs
from tradingbot.features.pipeline import panel_of, read_inputs, require_ready
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.reference import declared_strategies
from tradingbot.supervised.table import ModelTable, table_of_inputs, table_of_panel

USUAL_RULES = ("random", "buy_and_hold", "expert")
"""Policies that are rolled out by default."""


@dataclass(frozen=True, eq=False)
class RolloutMarket:
    """A market that policies trade on, and what is needed to judge them there."""

    world: World
    market: SyntheticMarket | None
    """With latent state, for oracles; None where the bars were observed."""
    bars_per_year: float
    """By the exchange's calendar."""
    scaled: Callable[[], World] | None = None
    """Returns the same bars with features, where the world has none."""
    table: Callable[[], ModelTable] | None = None
    """Returns the same bars as classifiers see them; None where bars were cut off."""
    dataset_sha256: str | None = None
    """Of a stored dataset, as its panel names it."""
    time_zone: str = "UTC"
    """Of the exchange."""


@dataclass(frozen=True, eq=False)
class RolloutReport:
    """A rollout with its figures and the terms they hold under."""

    rollout: PolicyRollout
    performance: tuple[PolicyPerformance, ...]
    """Of each policy."""
    accounts: tuple[AccountFigures, ...]
    """Of each policy, in account currency."""
    costs: str
    """Name of the cost profile."""
    reward: str
    """Name of the reward."""
    seed: int
    """Of policies that draw."""
    bars_per_year: float


@dataclass(frozen=True)
class RolloutTerms:
    """What is asked of a rollout."""

    policies: tuple[str, ...] = ()
    """Names; the rules, and the oracle of a synthetic market, by default."""
    costs: str = "alpaca"
    reward: str = "v31"
    seed: int = 0


def market_of_prices(dataset: Dataset, workspace: Path) -> RolloutMarket:
    """Make the bars of a dataset a market to trade on, for policies that read prices alone.

    Its panel is opened only for a strategy that looks at scaled features.

    Raises:
        DataError: If the readiness report has an error, and no panel says that it was accepted.
    """
    if not panel_of(dataset, workspace).exists():
        require_ready(dataset)
    provenance = dataset.manifest.provenance
    word = "synthetic" if provenance.synthetic else "observed"
    label = f"dataset {dataset.id[:8]}, {word}"
    world = world_of_prices(read_inputs(dataset), label=label, synthetic=provenance.synthetic)
    made = _stored_market(world, provenance, lambda: market_of_dataset(dataset, workspace).world)
    digest = dataset.manifest.content_sha256
    return replace(made, table=partial(_stored_table, dataset, workspace), dataset_sha256=digest)


def market_of_dataset(
    dataset: Dataset, workspace: Path, *, start: date | None = None, end: date | None = None
) -> RolloutMarket:
    """Open the panel of a dataset as a market to trade on; without a certificate it is refused.

    Args:
        dataset: What the panel was built from.
        workspace: Where panels are stored.
        start: First day of the rollout; features remember the days before.
        end: Last day, included.

    Raises:
        UncertifiedPanelError: If the panel was not proved free of look-ahead.
        DataError: If the days hold no bar.
    """
    panel = Panel.open(panel_of(dataset, workspace))
    return market_of_panel(panel, dataset.manifest.provenance, start=start, end=end)


def market_of_panel(
    panel: Panel, provenance: Provenance, *, start: date | None = None, end: date | None = None
) -> RolloutMarket:
    """Make an opened panel a market to trade on; see `market_of_dataset`."""
    world, digest = world_from_panel(panel), panel.manifest.dataset_sha256
    if start is not None or end is not None:
        bars = bars_between(world, start, end)
        world = cut_world(world, bars.start, bars.stop - 1)
        return replace(_stored_market(world, provenance), dataset_sha256=digest)
    made = _stored_market(world, provenance)
    return replace(made, table=partial(table_of_panel, panel), dataset_sha256=digest)


def market_of_source(source: SyntheticSource, *, prices_alone: bool = False) -> RolloutMarket:
    """Generate a market in memory and make it one to trade on.

    Args:
        source: What to generate.
        prices_alone: Leave features out until a strategy looks at them.

    Raises:
        ConfigError: If the market or a parameter is unknown or out of range.
        DataError: If the period is too short for features.
    """
    market = source.generate()
    label = f"synthetic market {market.name!r}, seed {market.seed}"

    def with_features() -> World:
        return world_from_market(market, label=label)

    world = (
        world_of_prices(inputs_of_market(market), label=label, synthetic=True)
        if prices_alone
        else with_features()
    )
    provenance = Provenance(
        provider=source.id,
        timeframe=source.timeframe,
        grid=BarGrid(source.grid),
        calendar=source.universe.calendar,
        synthetic=True,
    )
    per_year = _bars_per_year(world, provenance)
    zone, table = time_zone_of(provenance.calendar), partial(generated_table, market)
    return RolloutMarket(world, market, per_year, with_features, table, time_zone=zone)


def generated_table(market: SyntheticMarket) -> ModelTable:
    """Return a generated market as classifiers see it."""
    inputs = inputs_of_market(market)
    return table_of_inputs(inputs, panel_specs(inputs.covariates))


def _stored_table(dataset: Dataset, workspace: Path) -> ModelTable:
    return table_of_panel(Panel.open(panel_of(dataset, workspace)))


def roll_out_policies(
    subject: RolloutMarket, terms: RolloutTerms, *, progress: Progress = ignore_progress
) -> RolloutReport:
    """Roll policies out and measure them.

    Raises:
        ConfigError: If a policy, the costs or the reward are unknown.
        DataError: If an oracle is asked of observed data, or there are too few bars.
    """
    costs = cost_profile(terms.costs)
    policies = choose_policies(subject, terms, costs)
    with torch_threads(1):  # a few hundred lanes are too few to share out
        rollout = roll_out(
            subject.world,
            sleeve_config(costs, reward=terms.reward),
            policies,
            bars_per_year=subject.bars_per_year,
            progress=progress,
        )
    return RolloutReport(
        rollout=rollout,
        performance=tuple(
            policy_performance(each, "oracle" if each.policy in ORACLES else "baseline")
            for each in rollout.backtests
        ),
        accounts=tuple(account_figures(each) for each in rollout.backtests),
        costs=terms.costs,
        reward=terms.reward,
        seed=terms.seed,
        bars_per_year=subject.bars_per_year,
    )


def choose_policies(
    subject: RolloutMarket, terms: RolloutTerms, costs: CostProfile
) -> Mapping[str, Policy]:
    """Make the policies that are asked for; without names the usual ones."""
    names = terms.policies or default_policies(subject)
    known = (*RULES, *ORACLES, *declared_strategies())
    for name in names:
        if is_run(name) or is_model(name):
            remedy = suggest(name, known)
            raise ConfigError("policy must be a known one", was=repr(name), remedy=remedy)
    return {name: named_policy(name, subject, costs, seed=terms.seed) for name in names}


def named_policy(name: str, subject: RolloutMarket, costs: CostProfile, *, seed: int) -> Policy:
    """Make a rule, a strategy of one's own or an oracle for a market.

    Raises:
        ConfigError: If there is none of that name, or a parameter is unknown.
        DataError: If an oracle is asked of observed data, or a strategy looks ahead.
    """
    if name not in ORACLES:
        return baseline(name, subject.world, seed=seed, scaled=subject.scaled)
    if subject.market is None:
        rule = f"policy {name!r} must have a synthetic market: it reads the latent state"
        remedy = f"Leave it out: --policies {','.join(USUAL_RULES)}"
        raise DataError(rule, was="observed data", where=subject.world.label, remedy=remedy)
    return oracle_policy(
        subject.market, subject.world, cost_frac=costs.one_way_frac, information=ORACLES[name]
    )


def read_prices_alone(names: Sequence[str]) -> bool:
    """Tell whether no policy reads features or regimes, so that bars alone are enough.

    Models read a table of their own.

    Raises:
        ConfigError: If a name or parameter is unknown.
    """
    rules = [name for name in names if not (name in ORACLES or is_model(name))]
    return all(warm_up_bars(name) is not None for name in rules)


def warm_up_of(names: Sequence[str]) -> int:
    """Return the bars that must lie before the first decision of all policies."""
    rules = [name for name in names if not (name in ORACLES or is_model(name))]
    return max((warm_up_bars(name) or 0 for name in rules), default=0)


def default_policies(subject: RolloutMarket) -> Sequence[str]:
    """Name the usual rules, and the oracle where the market is a synthetic one."""
    return (*USUAL_RULES, "oracle") if subject.market is not None else USUAL_RULES


def _stored_market(
    world: World, provenance: Provenance, scaled: Callable[[], World] | None = None
) -> RolloutMarket:
    market = regenerate(provenance) if provenance.has_latent_state else None
    per_year, zone = _bars_per_year(world, provenance), time_zone_of(provenance.calendar)
    return RolloutMarket(world, market, per_year, scaled, time_zone=zone)


def _bars_per_year(world: World, provenance: Provenance) -> float:
    first, last = world.closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    calendar = TradingCalendar.load(provenance.calendar, first.item(), last.item())
    return calendar.bars_per_year(Timeframe.parse(provenance.timeframe), provenance.grid)
