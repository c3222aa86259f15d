"""What the flight recorder does not ask of portfolios is refused, not overwritten."""

from __future__ import annotations

import pytest

from fixtures.tiny_portfolio import master_config
from tradingbot.domain.errors import ConfigError
from tradingbot.training.config_files import load_train_config


def test_limit_of_one_action_is_refused_for_portfolios() -> None:
    with pytest.raises(ConfigError, match=r"guards\.one_action_critical.*guards\.one_sleeve"):
        load_train_config("master", {"guards.one_action_critical": 0.95})
    with pytest.raises(ConfigError, match=r"guards\.one_sleeve.*environment\.kind must be"):
        load_train_config("quick", {"guards.one_sleeve": 0.9})
    assert master_config(**{"guards.one_sleeve": 0.9}).guards.one_sleeve == 0.9
