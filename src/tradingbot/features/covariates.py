"""What lies beside the bar: sentiment, other covariates, and the day of the week."""

from __future__ import annotations

from math import inf

from tradingbot.features.graph.nodes import Input, apply
from tradingbot.features.spec import FeatureSpec, technical

NEUTRAL_SENTIMENT = 0.5

_SCORE = apply("fill", Input(name="sentiment", optional=True), NEUTRAL_SENTIMENT)

sentiment = technical(
    name="sentiment",
    unit="0 to 1",
    raw=_SCORE,
    network=2.0 * _SCORE - 1.0,
    formula="last score available by the bar's close",
    network_formula="2 · sentiment − 1",
    network_range=(-1.0, 1.0),
    nan_policy="defined at every bar; neutral 0.5 (network 0) where no score is available yet",
    description="Sentiment score, carried forward from when it became available",
)


def covariate(name: str) -> FeatureSpec:
    """Describe a dataset's covariate, used as it is from when it became available."""
    node = Input(name=name)
    return FeatureSpec(
        name=name,
        unit="as given",
        family="covariate",
        raw=node,
        network=node,
        formula=f"last {name} available by the bar's close",
        network_formula="as is",
        network_range=(-inf, inf),
        nan_policy="NaN until the first value is available",
        description="Covariate of the dataset",
    )


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
