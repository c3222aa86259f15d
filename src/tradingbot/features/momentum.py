"""Momentum: RSI and the slow stochastic oscillator."""

from __future__ import annotations

from tradingbot.features.graph.nodes import Node, apply, mean, rolling, since, smooth
from tradingbot.features.price import CLOSE, CLOSE_CHANGE, HIGH, LOW
from tradingbot.features.spec import FeatureSpec

STRENGTH_BARS = 14
RANGE_BARS, SMOOTHING_BARS = 14, 3
_STOCHASTIC_START = RANGE_BARS - 1 + 2 * (SMOOTHING_BARS - 1)


def _wilder_average(x: Node) -> Node:
    seed = mean(x, STRENGTH_BARS)
    return smooth(x, 1.0 / STRENGTH_BARS, start=STRENGTH_BARS, seed=seed)


_GAIN = _wilder_average(apply("maximum", CLOSE_CHANGE, 0.0))
_LOSS = _wilder_average(apply("maximum", -CLOSE_CHANGE, 0.0))

rsi_14 = FeatureSpec(
    name="rsi_14",
    unit="0 to 100",
    family="technical",
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
    return FeatureSpec(
        name=name,
        unit="0 to 100",
        family="technical",
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
