"""What SAC's configuration refuses."""

from __future__ import annotations

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.sac.config import SACConfig


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("buffer_size", 0),
        ("warm_up", -1),
        ("batch_size", 2.5),
        ("target_rate", 0.0),
        ("target_rate", 1.5),
        ("discount", 1.0),
        ("target_normalised_entropy", 1.0),
        ("temperature", 0.0),
        ("tune_temperature", "no"),
        ("act_levels", 1),
        ("precision", "float16"),
        ("gradient_steps", 0),
        ("gradient_clip", -1.0),
    ],
)
def test_config_with_an_impossible_value_names_the_field(field: str, value: object):
    with pytest.raises(ConfigError, match=field):
        SACConfig(**{field: value})


def test_defaults_are_those_of_the_specification():
    config = SACConfig()
    assert config.learning_rate.at(0) == 3e-4
    assert (config.buffer_size, config.warm_up, config.batch_size) == (100_000, 1_000, 256)
    assert (config.target_rate, config.discount) == (0.005, 0.99)
    assert config.actor.hidden == config.critic.hidden == (256, 256, 128)
