"""What is a symbol's own: returns without the market's part, against the other symbols.

The market is the equal weight of the *other* symbols, so that no symbol explains itself. Between
two bars of a symbol the market may have moved on: its level is summed up on the market's clock and
read at the symbol's bars, so that both returns span the same time.
"""

from __future__ import annotations

from math import inf

from tradingbot.features.graph.nodes import (
    Input,
    Node,
    across,
    apply,
    at_bars,
    lag,
    mean,
    over_symbols,
    rolling,
    running_sum,
    smooth,
)
from tradingbot.features.price import CLOSE, OPEN
from tradingbot.features.spec import FeatureSpec, technical
from tradingbot.features.volatility import LOG_RETURN

BETA_BARS, BETA_START = 245, 35  # 35 sessions of seven bars; estimated from the first five on
BETA_SPREAD = 0.4  # standard deviation of betas between symbols, the prior's
VOLATILITY_BARS = 70
REFERENCE_VOLATILITY = 0.01  # standard deviation per bar that maps to one half
SAME_HOUR_BARS = 36  # the bars of five sessions of seven, and the current one

SESSION_DAY = Input(name="session_day")
TIME_OF_DAY = Input(name="time_of_day")


def return_of_others(own: Node) -> Node:
    """Return the equal-weighted log return of the other symbols since one's own last bar.

    Args:
        own: Log return of each symbol between its bars.

    Returns:
        0 at bars at which no other symbol has a return.
    """
    average = apply("fill", over_symbols(own), 0.0)
    level = at_bars(running_sum(average, start=1, seed=average))
    others = apply("fill", across("mean_of_others", own), 0.0)
    return level - lag(level, 1) + (others - average)


def beta_to(market: Node, own: Node) -> Node:
    """Return the slope of own on market returns, of exponential weights, shrunk towards 1.

    The estimate of B bars has the variance own² / (B · market²); against the spread of betas
    between symbols it is weighed as Vasicek does, with 1 as the mean.
    """
    products = [
        smooth(x, 2.0 / (BETA_BARS + 1), start=BETA_START, seed=mean(x, BETA_START - 1))
        for x in (own * market, market * market, own * own)
    ]
    both, of_market, of_own = products
    error = of_own / (BETA_BARS * BETA_SPREAD**2)
    return apply("divide_or", both + error, of_market + error, 1.0)


def _less_others(x: Node) -> Node:
    return x - apply("fill", across("mean_of_others", x), 0.0)


_MARKET = return_of_others(LOG_RETURN)
_BETA = beta_to(_MARKET, LOG_RETURN)
RESIDUAL = LOG_RETURN - lag(_BETA, 1) * _MARKET
_START = RESIDUAL.warm_up_bars + VOLATILITY_BARS // 2
_VARIANCE = smooth(
    RESIDUAL * RESIDUAL,
    2.0 / (VOLATILITY_BARS + 1),
    start=_START,
    seed=mean(RESIDUAL * RESIDUAL, VOLATILITY_BARS // 2),
)
_VOLATILITY = apply("sqrt", _VARIANCE)


def _residual(bars: int) -> FeatureSpec:
    total = RESIDUAL if bars == 1 else rolling("sum", RESIDUAL, bars)
    scaled = apply("divide_or", total, _VOLATILITY * float(bars) ** 0.5, 0.0)
    return technical(
        name=f"residual_{bars}",
        unit="log return",
        raw=total,
        network=apply("squash", scaled * 0.5) * 2.0,
        formula=f"sum over {bars} bars of r − β·m, β as of the bar before"
        if bars > 1
        else "r − β·m, β as of the bar before",
        network_formula=f"2·squash(z / 2), z = residual_{bars} / (σ·√{bars})",
        network_range=(-2.0, 2.0),
        nan_policy=f"NaN for the first {scaled.warm_up_bars} bars; no movement: 0",
        description="Log return without the market's part",
    )


residual_1 = _residual(1)
residual_7 = _residual(7)
residual_35 = _residual(35)

_RANK = across("rank", residual_1.network)
residual_rank = technical(
    name="residual_rank",
    unit="−1 to 1",
    raw=_RANK,
    network=_RANK,
    formula="place of residual_1 / σ among the symbols with a bar, −1 lowest, 1 highest",
    network_formula="as is",
    network_range=(-1.0, 1.0),
    nan_policy=f"NaN for the first {_RANK.warm_up_bars} bars; equal values share their mean place",
    description="Cross-sectional rank of the last bar's own move",
)
market_beta = technical(
    name="market_beta",
    unit="none",
    raw=_BETA,
    network=_BETA - 1.0,
    formula="slope of r on m, exponential weights of 245 bars, shrunk towards 1 by its error",
    network_formula="market_beta − 1",
    network_range=(-inf, inf),
    nan_policy=f"NaN for the first {_BETA.warm_up_bars} bars; no movement: 1",
    description="Beta to the equal weight of the other symbols",
)
idiosyncratic_volatility = technical(
    name="idiosyncratic_volatility",
    unit="log return per bar",
    raw=_VOLATILITY,
    network=_VOLATILITY / (_VOLATILITY + REFERENCE_VOLATILITY),
    formula="σ: root of the mean square of r − β·m, exponential weights of 70 bars",
    network_formula="σ / (σ + 0.01)",
    network_range=(0.0, 1.0),
    nan_policy=f"NaN for the first {_START} bars",
    description="Volatility per bar of the part that is not the market's",
)

_NEW_DAY = apply("exceeds", SESSION_DAY - lag(SESSION_DAY, 1), 0.0)
_GAP = apply("only_where", apply("log_ratio", OPEN, lag(CLOSE, 1)), _NEW_DAY)
# A recursion of weight 1 takes what is new and keeps it where nothing is: until the next day.
_NIGHT = smooth(_GAP, 1.0, start=1, seed=apply("fill", _GAP, 0.0))
_DAY_OPEN = smooth(apply("only_where", OPEN, _NEW_DAY), 1.0, start=0, seed=OPEN)


def _part(name: str, own: Node, formula: str, description: str) -> FeatureSpec:
    node = _less_others(own)
    return technical(
        name=name,
        unit="log return",
        raw=node,
        network=node,
        formula=f"{formula}, less the mean of the other symbols",
        network_formula="as is",
        network_range=(-inf, inf),
        nan_policy=f"NaN for the first {node.warm_up_bars} bars; before the first night: 0",
        description=description,
    )


overnight_residual = _part(
    "overnight_residual",
    _NIGHT,
    "ln(first open of the day / last close of the day before)",
    "Own move of the last night",
)
intraday_residual = _part(
    "intraday_residual",
    apply("log_ratio", CLOSE, _DAY_OPEN),
    "ln(close / first open of the day)",
    "Own move of the day so far",
)
_SAME_HOUR = rolling("matching_mean", residual_1.network, SAME_HOUR_BARS, TIME_OF_DAY)
same_hour_residual = technical(
    name="same_hour_residual",
    unit="standard deviations",
    raw=_SAME_HOUR,
    network=_SAME_HOUR,
    formula="mean network form of residual_1 at bars of the last 35 that closed at this hour",
    network_formula="as is",
    network_range=(-2.0, 2.0),
    nan_policy=f"NaN for the first {_SAME_HOUR.warm_up_bars} bars; no bar of this hour: 0",
    description="Own move at the same hour of the days before",
)

RELATIVE = (
    *(residual_1, residual_7, residual_35, residual_rank, market_beta),
    *(idiosyncratic_volatility, overnight_residual, intraday_residual, same_hour_residual),
)
