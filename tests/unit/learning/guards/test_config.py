"""Limits that make no sense are refused in one line."""

from __future__ import annotations

import math

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.guards import GuardConfig
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.codes import RULE_CODES
from tradingbot.learning.guards.config import InterventionConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"one_action": 1.2}, "one_action must lie in"),
        ({"one_action": 0.95}, "one_action must not exceed"),
        ({"low_entropy": 0.05}, "low_entropy must not lie below low_entropy_critical"),
        ({"unexecuted": 0.95}, "unexecuted must not exceed"),
        ({"patience": 0}, "patience must be 1 or more"),
        ({"kept_updates": 10}, "kept_updates must be more"),
        ({"warm_up_steps": -1}, "warm_up_steps must be 0 or more"),
        ({"flat_is_allowed": "no"}, "flat_is_allowed must be of type bool"),
        ({"reward_growth": 1.0}, "reward_growth must be above 1"),
        ({"gradient_growth": 0.5}, "gradient_growth must be above 1"),
        ({"reward_scale": math.nan}, "reward_scale must be above 0"),
        ({"reward_scale": -1.0}, "reward_scale must be above 0, was -1.0"),
        ({"reward_floor": -1.0}, "reward_floor must be 0 or more, was -1.0"),
        ({"gradient_floor": -0.5}, "gradient_floor must be 0 or more, was -0.5"),
        ({"explained_variance": 1.5}, r"explained_variance must lie in \(-inf, 1\]"),
        ({"explained_variance": -0.9}, "explained_variance must not lie below"),
    ],
)
def test_guard_that_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GuardConfig(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strongest": "rollback"}, "Did you mean 'roll_back'"),
        ({"on_warning": "shout"}, "a response must be a known one"),
        ({"by_rule": (("ALL_HOLD", "hold"),)}, "a response must be a known one"),
        ({"by_rule": (("ALL_HOLDS", "warn"),)}, "Did you mean 'ALL_HOLD'"),
        ({"boost_factor": 0.9}, "boost_factor must be 1 or more"),
        ({"max_boost": 0.5}, "max_boost must be 1 or more"),
        ({"roll_back_share": 0.0}, "roll_back_share must lie in"),
        ({"roll_back_learning_rate": 1.5}, "roll_back_learning_rate must lie in"),
        ({"roll_back_entropy": 0.5}, "roll_back_entropy must be 1 or more"),
        ({"max_roll_backs": -1}, "max_roll_backs must be 0 or more"),
        ({"cooldown_steps": -1}, "cooldown_steps must be 0 or more"),
    ],
)
def test_intervention_that_makes_no_sense_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        InterventionConfig(**changes)


def test_codes_of_older_versions_are_read_as_those_of_today() -> None:
    config = InterventionConfig(by_rule=(("LOW_SPREAD", "halt"), ("SPREAD_FALLS", "warn")))

    assert config.by_rule == (("LOW_ENTROPY", "halt"), ("ENTROPY_FALLS", "warn"))


def test_codes_that_are_told_without_torch_are_those_of_the_catalogue() -> None:
    assert tuple(rule.code for rule in RULES) == RULE_CODES
