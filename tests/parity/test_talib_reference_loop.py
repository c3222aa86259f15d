"""The pandas and TA-Lib loop, the reference of the benchmark, gives the same numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fixtures.feature_markets import bars_of, closes_of, gappy_market, inputs_of, with_sentiment
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.registry import regime_features, technical_features
from tradingbot.features.spec import Form
from tradingbot_benchmarks.data.pandas_reference import reference_features

SPECS = (*technical_features(), *regime_features())


def frames_of(inputs: MarketInputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bars and covariates in the long form in which they are stored."""
    column, row = np.nonzero(inputs.present.T)
    symbols = np.array(inputs.symbols, dtype=object)
    bars = pd.DataFrame({name: values[row, column] for name, values in inputs.bars.items()})
    bars["symbol"] = symbols[column]
    bars["closed_at"] = pd.DatetimeIndex(inputs.closed_at[row]).tz_localize("UTC")
    events = inputs.covariates["sentiment"]
    covariates = pd.DataFrame(
        {
            "symbol": symbols[events.symbol_index],
            "name": "sentiment",
            "available_at": pd.DatetimeIndex(events.available_at).tz_localize("UTC"),
            "value": events.values,
        }
    )
    return bars, covariates


def complete_market() -> MarketInputs:
    return with_sentiment(inputs_of(bars_of(closes_of("random", 400, 5))))


@pytest.mark.parametrize("form", ["raw", "network"])
@pytest.mark.parametrize("inputs", [complete_market(), gappy_market(500, 6)], ids=["full", "gappy"])
def test_reference_loop_gives_the_same_features(inputs: MarketInputs, form: Form) -> None:
    features = compute_features(inputs, SPECS, form=form)

    expected = reference_features(*frames_of(inputs), form=form)

    assert sorted(expected) == sorted(features)
    for name, values in expected.items():
        np.testing.assert_allclose(
            features[name], values, rtol=1e-6, atol=1e-10, err_msg=name, strict=True
        )
