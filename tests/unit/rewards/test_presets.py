"""Presets have the weights of the specification; configurations change them by name."""

from __future__ import annotations

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.rewards import RewardConfig, reward_preset
from tradingbot.rewards.presets import REWARD_PRESETS

SPECIFIED = {
    "v31": {
        "pnl": 0.75,
        "cost": 0.10,
        "sharpe": 0.03,
        "drawdown": 0.02,
        "diversity": 0.07,
        "repeat": 0.05,
        "intrinsic_action": 0.01,
    },
    "prototype": {
        "pnl": 0.40,
        "cost": 0.15,
        "time_efficiency": 0.15,
        "sharpe": 0.05,
        "drawdown": 0.10,
        "sizing": 0.05,
    },
    "sharpe": {"pnl": 0.62, "cost": 0.20, "time_efficiency": 0.06, "repeat": 0.08},
    "objectives": {
        "roi": 0.40,
        "loss": 0.25,
        "frequency": 0.15,
        "time_efficiency": 0.10,
        "novelty": 0.10,
    },
    "log_growth": {"log_growth": 1.0},
    "differential_sharpe": {"differential_sharpe": 1.0},
}


@pytest.mark.parametrize("name", SPECIFIED)
def test_preset_has_the_specified_weights(name: str) -> None:
    assert reward_preset(name).weights == SPECIFIED[name]


def test_no_preset_is_unspecified() -> None:
    assert set(REWARD_PRESETS) == set(SPECIFIED)


@pytest.mark.parametrize("name", SPECIFIED)
def test_preset_stays_within_one(name: str) -> None:
    low, high = reward_preset(name).bounds

    assert -1.0 <= low < high <= 1.0


def test_unknown_preset_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"reward preset must be known, was 'v32'.*'v31'"):
        reward_preset("v32")


def test_config_changes_weights_and_options_of_a_preset() -> None:
    config = RewardConfig(
        "v31", weights={"hold": 0.2, "diversity": 0.0}, options={"pnl": {"realised_only": True}}
    )
    stack = config.stack()

    expected = {**SPECIFIED["v31"], "hold": 0.2}
    del expected["diversity"]
    assert stack.weights == expected
    assert getattr(stack.layers[0].options, "realised_only") is True  # noqa: B009
    assert getattr(reward_preset("v31").layers[0].options, "realised_only") is False  # noqa: B009


def test_config_without_changes_is_the_default_preset() -> None:
    assert RewardConfig().stack() == reward_preset("v31")


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "nope"},
        {"weights": {"nope": 1.0}},
        {"options": {"pnl": {"nope": 1.0}}},
        {"options": {"hold": {"winner": -0.1}}},
    ],
)
def test_config_is_refused_when_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        RewardConfig(**wrong)  # type: ignore[arg-type]
