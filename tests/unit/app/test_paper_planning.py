"""What the plan of a session refuses before the session has a folder."""

from __future__ import annotations

import numpy as np
import pytest

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
