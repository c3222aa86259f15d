"""The table of metrics: complete, named, and NaN where an input is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.metrics import registry as m

RETURNS = np.array([0.01, -0.02, 0.015, 0.0, 0.004])
WHOLE = m.PerformanceSeries(
    returns=RETURNS,
    bars_per_year=252,
    reference=RETURNS[::-1],
    trade_pnl=[1.0, -0.5],
    trade_bars=[2, 3],
    turnover=np.full(5, 0.1),
    exposure=[0.0, 0.5, 0.5, 1.0, -1.0],
    costs=np.full(5, 0.0001),
    action_shares=[0.25, 0.5, 0.25],
    asked=np.array([True, False]),
    traded=np.array([True, True]),
)


def test_whole_outcome_has_every_figure() -> None:
    figures = m.measure(WHOLE)

    assert list(figures) == list(m.METRICS)
    assert all(type(figure) is float and math.isfinite(figure) for figure in figures.values())


def test_bare_outcome_has_nan_where_an_input_is_missing() -> None:
    figures = m.measure(m.PerformanceSeries(RETURNS, 252))
    of_returns = list(m.METRICS)[: list(m.METRICS).index("beta")]

    assert [name for name, figure in figures.items() if not math.isnan(figure)] == of_returns


def test_some_figures_come_in_the_order_asked_for() -> None:
    assert list(m.measure(WHOLE, ["sortino", "beta"])) == ["sortino", "beta"]
    assert m.measure(WHOLE, []) == {}


def test_unknown_metric_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'sharpe'"):
        m.measure(WHOLE, ["sharp"])


def test_every_metric_says_what_it_is() -> None:
    for name, metric in m.METRICS.items():
        assert metric.name == name
        assert metric.unit
        assert metric.description
        assert metric.undefined
    assert m.METRICS["sharpe"].higher_is_better is True
    assert m.METRICS["max_drawdown"].higher_is_better is False
    assert m.METRICS["beta"].higher_is_better is None


def test_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        m.METRICS["luck"] = m.METRICS["sharpe"]  # type: ignore[index]
