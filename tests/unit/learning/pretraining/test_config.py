"""Configurations of pre-training refuse what cannot be trained."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.pretraining.config import (
    PRETRAINING_PRESETS,
    AuxiliaryWeights,
    PretrainingConfig,
)
from tradingbot.learning.pretraining.learner import learning_rate_at


def test_default_weights_are_those_of_the_specification() -> None:
    assert AuxiliaryWeights().active == {
        "next_return": 0.2,
        "volatility": 0.15,
        "volume_class": 0.1,
        "expert_action": 0.3,
        "regime": 0.25,
    }


def test_weight_of_zero_switches_a_task_off() -> None:
    assert "regime" not in AuxiliaryWeights(regime=0.0).active


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"next_return": -0.1}, "next_return"),
        ({"next_return": float("nan")}, "next_return"),
        (dict.fromkeys(AuxiliaryWeights().active, 0.0), "next_return"),
        ({"regime": "much"}, "regime"),
    ],
)
def test_weights_that_cannot_be_are_refused(changes: dict[str, float], name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        AuxiliaryWeights(**changes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("updates", 0),
        ("segments", 0),
        ("segment_bars", 0),
        ("evaluate_every", 0),
        ("patience", 0),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
        ("max_gradient_norm", 0.0),
        ("input_noise", -1.0),
        ("held_out_frac", 0.0),
        ("held_out_frac", 1.0),
        ("score_blocks", 3),
        ("warm_up_updates", -1),
        ("mixed_precision", "yes"),
    ],
)
def test_setting_that_cannot_be_is_refused(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        PretrainingConfig(**{field: value})  # type: ignore[arg-type]


def test_learning_rate_rises_then_falls_to_nothing() -> None:
    config = PretrainingConfig(updates=100, warm_up_updates=10, learning_rate=1.0)

    rates = [learning_rate_at(config, update) for update in range(100)]

    assert 0.0 < rates[0] < rates[9] < rates[10] == 1.0
    assert all(later < earlier for earlier, later in pairwise(rates[10:]))
    assert 0.0 < rates[-1] < 0.001


def test_learning_rate_of_a_single_update_is_the_highest() -> None:
    assert learning_rate_at(PretrainingConfig(updates=1, learning_rate=0.5), 0) == 0.5


def test_presets_exist_for_both_kinds_of_device() -> None:
    assert set(PRETRAINING_PRESETS) == {"cpu", "gpu"}
    assert not PRETRAINING_PRESETS["cpu"].mixed_precision
