"""What an oracle hands back: terms, policy, expectation, and the simulation that checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket
from tradingbot.evaluation.oracle import simulation
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information, require_cost
from tradingbot.evaluation.oracle.switching import SwitchThresholds
from tradingbot.evaluation.statistics.interval import Interval

_YEAR = np.timedelta64(365 * 24 + 6, "h")


@dataclass(frozen=True)
class Terms:
    """Under which an oracle is the best policy known."""

    cost_frac: float
    """Cost per unit of turnover."""
    action_rule: ActionRule
    information: Information

    def __post_init__(self) -> None:
        """Refuse a cost that is none."""
        require_cost(self.cost_frac)


@dataclass(frozen=True)
class Simulated:
    """Figures of a policy played on one generated market, per bar and symbol."""

    net_bps_per_bar: Interval
    sharpe_per_bar: Interval
    """Mean of the symbols' Sharpe ratios."""
    sharpe_annual: Interval
    """The same times the square root of bars per year; takes no account of autocorrelation."""
    turnover_frac: float


@dataclass(frozen=True)
class OracleResult:
    """The best policy known for one synthetic market, expected and simulated."""

    market: str
    params: Mapping[str, str | int | float | bool]
    seed: int
    terms: Terms
    first_close: np.datetime64
    last_close: np.datetime64
    bars: int
    symbols: int
    expected_net_bps: float | None
    """By dynamic programming, per bar and symbol; None where only the simulation gives it."""
    expected_turnover_frac: float | None
    """None where only the simulation gives it."""
    expected_sharpe_per_bar: float | None
    """None where only the simulation gives it."""
    thresholds: SwitchThresholds | None
    """In standard deviations of the signal; None where the state is not a single number."""
    is_optimal: bool
    """False where the policy is a reference within reach but not proved to be the best."""
    simulated: Simulated
    label: str = "synthetic"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found, before it is played on the market it was found for."""

    targets: FloatArray
    """(T, N) position decided at close t."""
    is_optimal: bool
    is_independent: bool = False
    """True where symbols share nothing, so that each is a replicate."""
    net_bps: float | None = None
    turnover_frac: float | None = None
    sharpe_per_bar: float | None = None
    thresholds: SwitchThresholds | None = None


def play(market: SyntheticMarket, terms: Terms, answer: Answer) -> OracleResult:
    """Play an answer on its market, and put both together with the period and terms."""
    return OracleResult(
        market=market.name,
        params=market.params,
        seed=market.seed,
        terms=terms,
        first_close=market.closed_at[0],
        last_close=market.closed_at[-1],
        bars=market.shape[0],
        symbols=market.shape[1],
        expected_net_bps=answer.net_bps,
        expected_turnover_frac=answer.turnover_frac,
        expected_sharpe_per_bar=answer.sharpe_per_bar,
        thresholds=answer.thresholds,
        is_optimal=answer.is_optimal,
        simulated=_simulate(market, answer, terms.cost_frac),
    )


def _simulate(market: SyntheticMarket, answer: Answer, cost_frac: float) -> Simulated:
    net = simulation.simulate_targets(
        market.opens, market.closes, answer.targets, cost_frac=cost_frac
    )[1:]
    intervals = (
        simulation.intervals_over_symbols
        if answer.is_independent
        else simulation.intervals_over_time
    )
    mean, sharpe = intervals(net)
    per_year = (len(market.closed_at) - 1) / ((market.closed_at[-1] - market.closed_at[0]) / _YEAR)
    return Simulated(
        net_bps_per_bar=mean.scaled(1e4),
        sharpe_per_bar=sharpe,
        sharpe_annual=sharpe.scaled(float(np.sqrt(per_year))),
        turnover_frac=simulation.mean_turnover(answer.targets),
    )
