"""Time: the day of the week at the exchange, as a point on a circle."""

from __future__ import annotations

from tradingbot.features.graph.nodes import Input, apply
from tradingbot.features.spec import FeatureSpec, technical

WEEKDAY = Input(name="weekday")  # Monday 0 … Sunday 6, of the bar's close in the exchange's zone


def _weekday(name: str, function: str) -> FeatureSpec:
    node = apply(f"day_{function}", WEEKDAY)
    return technical(
        name=name,
        unit="none",
        raw=node,
        network=node,
        formula=f"{function}(2π · weekday / 7), Monday 0, of the close in exchange time",
        network_formula="as is",
        network_range=(-1.0, 1.0),
        nan_policy="defined at every bar",
        description="Day of the week",
    )


weekday_sin = _weekday("weekday_sin", "sin")
weekday_cos = _weekday("weekday_cos", "cos")
