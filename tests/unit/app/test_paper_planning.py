"""What the plan of a session refuses before the session has a folder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.app.paper.period import after_warm_up
from tradingbot.app.paper.planning import require_inputs
from tradingbot.domain.errors import DataError
from tradingbot.features.inputs import BAR_FIELDS, CovariateEvents, MarketInputs

NO_TIMES = np.array([], dtype="datetime64[us]")


def _inputs(**covariates: CovariateEvents) -> MarketInputs:
    nothing = np.empty((0, 1))
    bars = dict.fromkeys(BAR_FIELDS, nothing)
    return MarketInputs(("AAA",), NO_TIMES, nothing.astype(bool), bars, covariates)


def test_data_without_a_covariate_or_a_symbol_of_the_model_are_refused() -> None:
    reads = ("rsi_14-v1", "signal-v1")

    events = CovariateEvents(np.array([], dtype=np.int64), NO_TIMES, np.array([]))
    require_inputs(("AAA",), reads, _inputs(signal=events))
    with pytest.raises(DataError, match=r"every covariate.*none of signal\. Choose a --dataset"):
        require_inputs(("AAA",), reads, _inputs())
    with pytest.raises(DataError, match="every symbol of the model, was none of BBB"):
        require_inputs(("AAA", "BBB"), reads[:1], _inputs())


def test_nothing_is_decided_before_features_are_defined() -> None:
    at = np.datetime64("2025-10-01T14:30", "us") + np.arange(40) * np.timedelta64(1, "h")
    inputs = replace(_inputs(), closed_at=at)
    told: list[str] = []

    assert after_warm_up(24, 40, 25, inputs, told.append) == 24
    assert told == []
    assert after_warm_up(3, 40, 25, inputs, told.append) == 24
    assert told == ["the first decision is at 2025-10-02 14:30 UTC: features need 25 bars"]
    assert after_warm_up(3, None, 25, inputs, told.append) == 24
    assert "warms up: 3 of 25 bars are known" in told[-1]
    assert after_warm_up(3, 26, 25, inputs, told.append) == 24  # one to decide at, one after it
    with pytest.raises(DataError, match=r"beyond the 25 that .* need, was 25 bars\. Choose later"):
        after_warm_up(3, 25, 25, inputs, told.append)
