"""What a master takes from the campaign whose agents it divides capital among."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from fixtures.tiny_campaign import tiny_campaign
from tradingbot.campaign.master_phase import master_config
from tradingbot.campaign.request import campaign_config
from tradingbot.training.config_files import override_config


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("device", "cpu"),
        ("features", "relative"),
        ("scaling.kind", "minmax"),
        ("scaling.pooling", "per_symbol"),
        ("splits.purge_bars", 11),
        ("task.probabilities", "forest"),
        ("task.rules.limits.allow_short", True),
    ],
)
def test_master_has_what_the_agents_were_given(key: str, value: object) -> None:
    read, usual = attrgetter(key), tiny_campaign(master="master")
    told: Any = override_config(usual.config, {key: value})

    found = master_config(replace(usual, config=told), ("SPY",))

    assert read(master_config(usual, ("SPY",))) != value
    assert read(found) == read(told) == value


def test_master_of_a_generated_market_keeps_the_days_of_its_parts() -> None:
    own = campaign_config("prototype10", {}, "long-market", generates=True)
    assert own.splits.by == "date"

    assert master_config(tiny_campaign(master="master", config=own), ("SPY",)).splits == own.splits
