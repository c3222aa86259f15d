"""What an oracle hands back: terms, policy, expectation, and the simulation that checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.intervals import intervals_over_symbols, intervals_over_time
from tradingbot.evaluation.oracle.signal_model import SwitchThresholds
from tradingbot.evaluation.oracle.simulation import mean_turnover, simulate_targets
from tradingbot.evaluation.statistics.interval import Interval

FloatArray = NDArray[np.float64]

_YEAR = np.timedelta64(365 * 24 + 6, "h")


@dataclass(frozen=True)
class Terms:
    """Under which an oracle is the best policy known."""

    cost_frac: float
    """Cost per unit of turnover."""
    action_rule: ActionRule
    information: Information


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


@dataclass(frozen=True)
class Answer:
    """What a solver found, before it is put beside the market it was found for."""

    is_optimal: bool
    net_bps: float | None = None
    turnover_frac: float | None = None
    sharpe_per_bar: float | None = None
    thresholds: SwitchThresholds | None = None


def report(
    market: SyntheticMarket, terms: Terms, answer: Answer, simulated: Simulated
) -> OracleResult:
    """Put an answer and its simulation together with the market, period and terms they are for."""
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
        simulated=simulated,
    )


def play(
    market: SyntheticMarket, targets: FloatArray, *, cost_frac: float, independent: bool
) -> Simulated:
    """Play targets on a market and measure them.

    Args:
        market: The generated market.
        targets: (T, N) position decided at close t.
        cost_frac: Cost per unit of turnover.
        independent: True where symbols share nothing, so that each is a replicate.
    """
    net = simulate_targets(market.opens, market.closes, targets, cost_frac=cost_frac)[1:]
    mean, sharpe = intervals_over_symbols(net) if independent else intervals_over_time(net)
    per_year = (len(market.closed_at) - 1) / ((market.closed_at[-1] - market.closed_at[0]) / _YEAR)
    return Simulated(
        net_bps_per_bar=mean.scaled(1e4),
        sharpe_per_bar=sharpe,
        sharpe_annual=sharpe.scaled(float(np.sqrt(per_year))),
        turnover_frac=mean_turnover(targets),
    )
