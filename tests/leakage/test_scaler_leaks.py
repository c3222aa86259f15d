"""Scalers fitted past training, or that look at other bars when they scale, are caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from leakage.markets import synthetic_inputs
from tradingbot.domain.seeding import stream
from tradingbot.features import proof_subjects
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import panel_specs
from tradingbot.features.proof_subjects import prove_scaling_every_bar
from tradingbot.features.scaling import Scaler, fit_scaler

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
TRAIN_ROWS = 300


@cache
def market() -> MarketInputs:
    return synthetic_inputs(days=60, symbols=6)


def guilty() -> set[str]:
    specs = panel_specs(market().covariates)
    verdicts = prove_scaling_every_bar(market(), specs, TRAIN_ROWS)
    return {verdict.output for verdict in verdicts if not verdict.is_causal}


def past_training(seed: int) -> Callable[..., Scaler]:
    """Take a few rows more than were given, and call them training rows."""
    more = int(stream(seed, "rows").integers(1, 60))

    def fit(kind: Any, features: Any, valid: Any, train: slice, **names: Any) -> Scaler:
        return fit_scaler(kind, features, valid, slice(train.start, train.stop + more), **names)

    return fit


def test_sound_scalers_are_proved() -> None:
    assert guilty() == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_scaler_fitted_past_training_is_caught(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_subjects, "fit_scaler", past_training(seed))

    assert {"scaler/standard", "scaler/robust"} <= guilty()


@pytest.mark.parametrize("columns", [slice(None), slice(1, 3)], ids=["market", "two symbols"])
@pytest.mark.parametrize("seed", SEEDS)
def test_scaler_that_looks_ahead_at_one_row_in_a_hundred_is_caught(
    seed: int, columns: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, rows = Scaler.transform, stream(seed, "rows").random(10_000) < 0.01
    rows[TRAIN_ROWS + seed] = True

    def early(self: Scaler, features: Any, valid: Any = None, **names: Any) -> Any:
        scaled = honest(self, features, valid, **names)
        at = np.flatnonzero(rows[: scaled.shape[1] - 1])
        scaled[columns, at] = scaled[columns, at + 1]
        return scaled

    monkeypatch.setattr(Scaler, "transform", early)

    assert guilty() == {"scaled/standard", "scaled/minmax", "scaled/robust"}
