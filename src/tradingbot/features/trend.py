"""Trend and momentum: moving averages, MACD, ADX, RSI, stochastics, seeded as TA-Lib seeds them."""

from __future__ import annotations

from math import inf

from tradingbot.features.graph.nodes import Node, apply, lag, mean, rolling, since, smooth
from tradingbot.features.price import CLOSE, CLOSE_CHANGE, HIGH, LOW, relative_to_close
from tradingbot.features.spec import FeatureSpec, technical

FAST_BARS, SLOW_BARS, SIGNAL_BARS = 12, 26, 9
DIRECTION_BARS = 14

SMA_20 = mean(CLOSE, 20)


def _moving_average(bars: int) -> FeatureSpec:
    average = mean(CLOSE, bars)
    return technical(
        name=f"sma_{bars}",
        unit="quote currency",
        raw=average,
        network=relative_to_close(average),
        formula=f"mean of the last {bars} closes",
        network_formula=f"sma_{bars} / close − 1",
        network_range=(-1.0, inf),
        nan_policy=f"NaN for the first {bars - 1} bars",
        description="Simple moving average of the close",
    )


def _exponential_average(x: Node, bars: int, *, start: int) -> Node:
    """Smooth with weight 2 / (bars + 1) from the simple average at tick `start` on."""
    return smooth(x, 2.0 / (bars + 1), start=start, seed=mean(x, bars))


# TA-Lib starts the fast average late, so that both averages begin at the same bar.
_LINE = _exponential_average(CLOSE, FAST_BARS, start=SLOW_BARS - 1) - _exponential_average(
    CLOSE, SLOW_BARS, start=SLOW_BARS - 1
)
_MACD_START = SLOW_BARS + SIGNAL_BARS - 2
_SIGNAL = _exponential_average(_LINE, SIGNAL_BARS, start=_MACD_START)


def _macd(name: str, raw: Node, formula: str) -> FeatureSpec:
    return technical(
        name=name,
        unit="quote currency",
        raw=raw,
        network=raw / CLOSE,
        formula=formula,
        network_formula=f"{name} / close",
        network_range=(-inf, inf),
        nan_policy=f"NaN for the first {_MACD_START} bars",
        description="Moving-average convergence and divergence (12, 26, 9)",
    )


def _directional_movement(towards: Node, against: Node) -> Node:
    """Movement of the range in one direction where it exceeds that in the other, else 0."""
    return apply("maximum", towards, 0.0) * apply("exceeds", towards, against)


def _directional_average(movement: Node) -> Node:
    """Smooth as Wilder does; the seed is the sum of 13 movements, as in TA-Lib, not 14."""
    seed = rolling("sum", movement, DIRECTION_BARS - 1) / DIRECTION_BARS
    return smooth(movement, 1.0 / DIRECTION_BARS, start=DIRECTION_BARS - 1, seed=seed)


def _directional_index() -> Node:
    up, down = HIGH - lag(HIGH, 1), lag(LOW, 1) - LOW
    plus = _directional_average(_directional_movement(up, down))
    minus = _directional_average(_directional_movement(down, up))
    # 0 / 0, no movement at all, is NaN: the average then keeps its value, as in TA-Lib.
    index = 100.0 * (apply("absolute", plus - minus) / (plus + minus))
    start = 2 * DIRECTION_BARS - 1
    seed = mean(since(apply("fill", index, 0.0), DIRECTION_BARS), DIRECTION_BARS)
    return smooth(index, 1.0 / DIRECTION_BARS, start=start, seed=seed)


sma_10 = _moving_average(10)
sma_20 = _moving_average(20)
macd_line = _macd("macd_line", since(_LINE, _MACD_START), "EMA_12(close) − EMA_26(close)")
macd_signal = _macd("macd_signal", _SIGNAL, "EMA_9(macd_line)")
macd_histogram = _macd("macd_histogram", _LINE - _SIGNAL, "macd_line − macd_signal")

_ADX = _directional_index()
adx_14 = technical(
    name="adx_14",
    unit="0 to 100",
    raw=_ADX,
    network=_ADX / 100.0,
    formula="Wilder average over 14 bars of 100·|DI⁺ − DI⁻| / (DI⁺ + DI⁻)",
    network_formula="adx_14 / 100",
    network_range=(0.0, 1.0),
    nan_policy="NaN for the first 27 bars; no movement counts as 0 in the seed, later keeps it",
    description="Average directional index: strength of a trend, whatever its direction",
)


STRENGTH_BARS = 14
RANGE_BARS, SMOOTHING_BARS = 14, 3
_STOCHASTIC_START = RANGE_BARS - 1 + 2 * (SMOOTHING_BARS - 1)


def _wilder_average(x: Node) -> Node:
    seed = mean(x, STRENGTH_BARS)
    return smooth(x, 1.0 / STRENGTH_BARS, start=STRENGTH_BARS, seed=seed)


_GAIN = _wilder_average(apply("maximum", CLOSE_CHANGE, 0.0))
_LOSS = _wilder_average(apply("maximum", -CLOSE_CHANGE, 0.0))

rsi_14 = technical(
    name="rsi_14",
    unit="0 to 100",
    raw=100.0 * apply("divide_or", _GAIN, _GAIN + _LOSS, 0.0),
    network=apply("divide_or", _GAIN - _LOSS, _GAIN + _LOSS, 0.0),
    formula="100 · gain / (gain + loss), Wilder averages over 14 bars",
    network_formula="(gain − loss) / (gain + loss) = rsi_14 / 50 − 1",
    network_range=(-1.0, 1.0),
    nan_policy="NaN for the first 14 bars; price never moved: raw 0 (as TA-Lib), network 0",
    description="Relative strength index",
)

_LOWEST = rolling("lowest", LOW, RANGE_BARS)
_RANGE = rolling("highest", HIGH, RANGE_BARS) - _LOWEST


def _smoothed(position: Node, times: int) -> Node:
    for _ in range(times):
        position = mean(position, SMOOTHING_BARS)
    return since(position, _STOCHASTIC_START)


def _stochastic(name: str, times: int, formula: str) -> FeatureSpec:
    raw = apply("divide_or", CLOSE - _LOWEST, _RANGE, 0.0)
    centred = apply("divide_or", (CLOSE - _LOWEST) * 2.0 - _RANGE, _RANGE, 0.0)
    return technical(
        name=name,
        unit="0 to 100",
        raw=100.0 * _smoothed(raw, times),
        network=_smoothed(centred, times),
        formula=formula,
        network_formula=f"{name} / 50 − 1",
        network_range=(-1.0, 1.0),
        nan_policy="NaN for the first 17 bars; a bar without range counts as raw 0, network 0",
        description="Slow stochastic oscillator (14, 3, 3), simple averages",
    )


stochastic_k = _stochastic(
    "stochastic_k", 1, "mean over 3 bars of 100 · (close − lowest_14) / (highest_14 − lowest_14)"
)
stochastic_d = _stochastic("stochastic_d", 2, "mean over 3 bars of stochastic_k")
