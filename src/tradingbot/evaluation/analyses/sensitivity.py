"""The same policy under other costs, delays, limits and capital.

What is left is asked of alpha, so that the market's rise or fall neither pays for costs nor hides
them; the net return stands beside. Every condition is a lane of one simulation where that is
possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy
from tradingbot.data.factor import MarketFactor
from tradingbot.data.splits import IndexRange
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.settings import SensitivitySettings
from tradingbot.evaluation.analyses.side_by_side import copies_by_depth, on_copies
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, backtest_all
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.dossier.robustness import Sensitivity, SensitivityRow
from tradingbot.evaluation.metrics.returns import annual_sharpe, max_drawdown
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval
from tradingbot.market.bars import VOLATILITY_BARS
from tradingbot.market.costs import CostProfile

FloatArray = NDArray[np.float64]
Axis = Literal["cost", "slippage", "position limit", "delay", "capital"]
_BASIS_POINTS = 1e4


@dataclass(frozen=True, eq=False)
class Setting:
    """What is traded, by whom and when."""

    world: World
    env: EnvConfig
    """Rules, costs and reward of the run."""
    policy: Policy
    """Of rows of the world."""
    bars: IndexRange
    """Bars that are traded: the first decision's to the last close's."""
    bars_per_year: float
    factor: MarketFactor | None = None
    """The market that returns are taken apart by; None: the net return is judged."""

    def alpha(self, played: Backtest) -> FloatArray | None:
        """Return alpha (S, N) of a backtest; None without a market."""
        return None if self.factor is None else attribute_backtest(played, self.factor).alpha

    def backtests(
        self, policies: Sequence[PolicyUnderTest], env: EnvConfig | None = None
    ) -> tuple[Backtest, ...]:
        """Backtest policies, under the run's rules or others."""
        return backtest_all(
            self.world,
            env or self.env,
            policies,
            bars_per_year=self.bars_per_year,
            bars=self.bars,
        )

    def at_capital(
        self, capitals: Sequence[float], costs: CostProfile
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return net returns (S, N) of the sleeves and (S,) of all together, at each capital."""
        world, bars = self.world, self.bars
        # Impact is told from the volatility of the bars before.
        kept = IndexRange(max(0, bars.start - VOLATILITY_BARS - 1), bars.stop)
        own_ccy = self.env.rules.account.initial_cash_ccy * world.n_symbols
        depths = [own_ccy / capital for capital in capitals]
        copied = replace(
            self,
            world=copies_by_depth(world, kept, depths),
            policy=on_copies(self.policy, world, kept),
            bars=IndexRange(bars.start - kept.start, bars.stop - kept.start),
        )
        (played,) = copied.backtests([PolicyUnderTest("capital", copied.policy, costs)])
        shape = (len(depths), world.n_symbols)
        returns = played.returns.reshape(played.n_bars, *shape)
        equity = played.equity.reshape(played.n_bars + 1, *shape).mean(axis=2)
        whole = np.ascontiguousarray((equity[1:] / equity[:-1] - 1.0).T)
        return [(returns[:, place], whole[place]) for place in range(len(depths))]


@dataclass(frozen=True, eq=False)
class PortfolioSetting(Setting):
    """One account of all symbols: the whole chain trades, and its sleeves pay the same costs."""

    subject: PortfolioRun | None = None

    def backtests(
        self, policies: Sequence[PolicyUnderTest], env: EnvConfig | None = None
    ) -> tuple[Backtest, ...]:
        """Play the chain; other rules are those of the portfolio's own account."""
        assert self.subject is not None
        return self.subject.backtest_all(policies, self.bars, env=env)

    def at_capital(
        self, capitals: Sequence[float], costs: CostProfile
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Give the portfolio's account so much; its sleeves trade as they did."""
        found = []
        for capital in capitals:
            account = replace(self.env.rules.account, initial_cash_ccy=capital)
            env = replace(self.env, rules=replace(self.env.rules, account=account))
            under_test = PolicyUnderTest("capital", self.policy, costs)
            (played,) = self.backtests([under_test], env)
            found.append((played.returns, played.portfolio_returns))
        return found


def sweep(setting: Setting, settings: SensitivitySettings) -> Sensitivity:
    """Trade under every condition.

    Raises:
        DataError: If there are too few bars for an interval.
    """
    policy, costs = setting.policy, setting.env.costs
    conditions: dict[str, list[tuple[CostProfile | None, int]]] = {
        "surface": [(one_way(c), late) for late in settings.delay_bars for c in settings.cost_bps],
        "delay": [(None, late) for late in settings.delay_bars],
        "slippage": [
            (replace(costs, slippage_frac=each / _BASIS_POINTS), 0)
            for each in settings.slippage_bps
        ],
    }
    tried = [
        PolicyUnderTest(axis, policy, *each) for axis in conditions for each in conditions[axis]
    ]
    played = iter(setting.backtests(tried))
    surface, by_delay, by_slippage = ([*islice(played, len(each))] for each in conditions.values())
    shape = (len(settings.delay_bars), len(settings.cost_bps))
    judged = [each.returns if (own := setting.alpha(each)) is None else own for each in surface]
    left = np.array([_net_bps(each) for each in judged]).reshape(shape)
    capital, capacity = _by_capital(setting, settings, _net_bps(by_delay[0].returns))
    rows = [
        *_rows(setting, "cost", settings.cost_bps, surface[: len(settings.cost_bps)]),
        *_rows(setting, "slippage", settings.slippage_bps, by_slippage),
        *_by_limit(setting, settings, by_delay[0]),
        *_rows(setting, "delay", settings.delay_bars, by_delay),
        *capital,
    ]
    return Sensitivity(
        rows=tuple(rows),
        cost_bps=settings.cost_bps,
        delay_bars=settings.delay_bars,
        surface_bps=tuple(tuple(line.tolist()) for line in left),
        break_even_cost_bps=tuple(
            break_even_bps(settings.cost_bps, line.tolist()) for line in left
        ),
        assumed_cost_bps=one_way_bps(setting.env.costs),
        capacity_ccy=capacity,
        judged="net return" if setting.factor is None else "alpha",
    )


def one_way(cost_bps: float) -> CostProfile:
    """Return a profile that costs so much per side, whatever for."""
    return CostProfile(commission_frac=cost_bps / _BASIS_POINTS, slippage_frac=0.0)


def one_way_bps(costs: CostProfile) -> float:
    """Return what a fill costs by a profile, without impact and borrowing."""
    return costs.one_way_frac * _BASIS_POINTS


def _by_limit(
    setting: Setting, settings: SensitivitySettings, as_it_is: Backtest
) -> list[SensitivityRow]:
    """Limits are constants of a simulation: one for each, but for the run's own."""
    rows = []
    for share in settings.limit_shares:
        rules = setting.env.rules
        limit = share * rules.limits.max_position_frac
        limits = replace(rules.limits, max_position_frac=limit)
        env = replace(setting.env, rules=replace(rules, limits=limits))
        played = as_it_is
        if share < 1.0:
            (played,) = setting.backtests([PolicyUnderTest(f"limit {limit}", setting.policy)], env)
        rows.extend(_rows(setting, "position limit", [limit], [played]))
    return rows


def _by_capital(
    setting: Setting, settings: SensitivitySettings, without_impact_bps: float
) -> tuple[list[SensitivityRow], float | None]:
    """Return a row for each capital, and the capacity."""
    costs = setting.env.costs
    pushing = replace(costs, impact_coef=costs.impact_coef or settings.impact_coef)
    played = setting.at_capital(settings.capital_ccy, pushing)
    rows = [
        _row("capital", capital, returns, setting.bars_per_year, portfolio=portfolio)
        for capital, (returns, portfolio) in zip(settings.capital_ccy, played, strict=True)
    ]
    net = [row.net_bps_per_bar.estimate for row in rows]
    return rows, capacity_ccy(settings.capital_ccy, net, without_impact_bps)


def _rows(
    setting: Setting, axis: Axis, values: Sequence[float], played: Sequence[Backtest]
) -> list[SensitivityRow]:
    rows = []
    for value, each in zip(values, played, strict=True):
        portfolio, alpha = each.portfolio_returns, setting.alpha(each)
        row = _row(axis, value, each.returns, each.bars_per_year, portfolio=portfolio)
        own = None if alpha is None else net_bps_interval(alpha.mean(axis=1))
        rows.append(replace(row, alpha_bps_per_bar=own))
    return rows


def _row(
    axis: Axis, value: float, returns: FloatArray, bars_per_year: float, *, portfolio: FloatArray
) -> SensitivityRow:
    return SensitivityRow(
        axis=axis,
        setting=float(value),
        net_bps_per_bar=net_bps_interval(returns),
        sharpe_annual=annual_sharpe(portfolio, bars_per_year=bars_per_year),
        max_drawdown_frac=max_drawdown(portfolio),
    )


def _net_bps(returns: FloatArray) -> float:
    return float(returns.mean()) * _BASIS_POINTS


def measure_sensitivity(subject: EvaluatedRun, settings: SensitivitySettings) -> Sensitivity:
    """Sweep the conditions.

    Raises:
        DataError: If the test part has too few bars.
    """
    parts = (subject.data.world, subject.env, subject.policy, subject.bars("test"))
    known = (subject.bars_per_year, subject.data.factor)
    if isinstance(subject, PortfolioRun):
        return sweep(PortfolioSetting(*parts, *known, subject), settings)
    return sweep(Setting(*parts, *known), settings)


def break_even_bps(cost_bps: Sequence[float], net_bps: Sequence[float]) -> float | None:
    """Return the one-way cost at which nothing is left, by straight lines between points.

    A policy that does not look at costs loses in proportion to them, so the line is nearly exact.

    Args:
        cost_bps: C rising costs.
        net_bps: (C,) mean net return per bar at each.

    Returns:
        None where nothing is left even at the first cost; infinite where the last still leaves
        something.
    """
    if net_bps[0] <= 0.0:
        return None
    for place in range(1, len(cost_bps)):
        before, after = net_bps[place - 1], net_bps[place]
        if after <= 0.0:
            share = before / (before - after)
            return cost_bps[place - 1] + share * (cost_bps[place] - cost_bps[place - 1])
    return math.inf


def capacity_ccy(
    capital_ccy: Sequence[float], net_bps: Sequence[float], without_impact_bps: float
) -> float | None:
    """Return the capital at which impact takes half of the net return.

    Between two capitals the return falls with the root of capital, as impact does.

    Args:
        capital_ccy: Rising capitals.
        net_bps: Mean net return per bar at each, with impact.
        without_impact_bps: The same without any.

    Returns:
        None where it earns nothing, or the largest capital leaves more than half.
    """
    half = 0.5 * without_impact_bps
    if without_impact_bps <= 0.0:
        return None
    root_before, net_before = 0.0, without_impact_bps
    for capital, net in zip(capital_ccy, net_bps, strict=True):
        root = math.sqrt(capital)
        if net <= half:
            share = (net_before - half) / (net_before - net)
            return (root_before + share * (root - root_before)) ** 2
        root_before, net_before = root, net
    return None
