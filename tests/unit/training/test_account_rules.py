"""Accounts that show or allow too little for what is to learn are refused before data are read."""

from __future__ import annotations

import pytest

from tradingbot.agents.options.rules import OPTION_READS
from tradingbot.configuration.part_names import PRIVATE_NAMES
from tradingbot.domain.errors import ConfigError
from tradingbot.market.goals import GOAL_READS
from tradingbot.training.config_files import load_train_config


@pytest.mark.parametrize(
    ("preset", "missing", "words"),
    [
        ("hindsight", "drawdown", "return and drawdown for goals to be relabelled"),
        ("hindsight", "total_return", "return and drawdown for goals to be relabelled"),
        ("options", "entry_move", "options must see position, entry and return"),
        ("recovery_b", "drawdown", "return and drawdown for goals to be relabelled"),
    ],
)
def test_number_that_is_read_and_not_shown_is_told_with_its_place(
    preset: str, missing: str, words: str
) -> None:
    shown = [name for name in PRIVATE_NAMES if name != missing]

    with pytest.raises(ConfigError) as caught:
        load_train_config(preset, {"task.private": shown})

    assert words in str(caught.value)
    assert caught.value.was is not None
    assert caught.value.was.startswith(f"no {missing} among size")
    assert "setting task.private; conflicts with" in str(caught.value.where)
    assert str(caught.value.remedy).startswith(f"Add {missing} to task.private")


def test_accounts_that_show_what_is_read_are_accepted() -> None:
    load_train_config("hindsight", {"task.private": [*GOAL_READS]})
    load_train_config("options", {"task.private": [*OPTION_READS]})


@pytest.mark.parametrize("most", [0.03, 0.05])
def test_position_that_an_option_opens_must_fit_into_the_account(most: float) -> None:
    rule = "options.entry_position_frac must be below task.rules.limits.max_position_frac"
    narrow = {"task.rules.limits.max_position_frac": most}
    with pytest.raises(ConfigError, match=rule) as caught:
        load_train_config("options", narrow)
    assert "Set e.g. options.entry_position_frac=0.01" in str(caught.value)

    load_train_config("options", narrow | {"options.entry_position_frac": 0.01})
    load_train_config("options", {"task.rules.limits.max_position_frac": 0.06})
    load_train_config("quick", narrow)  # without options nothing is opened so
