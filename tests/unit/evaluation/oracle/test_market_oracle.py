"""The way in refuses what it does not know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.data.synthetic.registry import known_markets
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.oracle import oracle_for
from tradingbot.evaluation.oracle.known_answers import (
    QUESTIONS,
    KnownAnswerCase,
    generate_on,
    hourly_grid,
)


def make(symbols=10):
    return generate_on(hourly_grid(symbols, 60), KnownAnswerCase("planted"), 0)


def test_every_registered_market_has_an_oracle_and_a_row():
    assert {question.market for question in QUESTIONS} == {spec.name for spec in known_markets()}


def test_market_without_an_oracle_is_refused_with_a_suggestion():
    with pytest.raises(ConfigError, match="Did you mean 'planted'"):
        oracle_for(replace(make(), name="plantd"))


@pytest.mark.parametrize("cost", [-1e-4, 1.5, float("nan")])
def test_cost_out_of_range_is_refused(cost):
    with pytest.raises(ConfigError, match="cost_frac"):
        oracle_for(make(), cost_frac=cost)


def test_market_too_small_for_an_interval_is_refused():
    with pytest.raises(DataError, match="8 symbols"):
        oracle_for(make(symbols=3))
