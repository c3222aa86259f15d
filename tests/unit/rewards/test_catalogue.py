"""The catalogue of terms: found by name, extended by registration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from fixtures.reward_steps import rollout
from tradingbot.domain.errors import ConfigError
from tradingbot.rewards import (
    RewardTerm,
    catalogue,
    register,
    registered_terms,
    reward_stack,
    reward_term,
)
from tradingbot.rewards.terms.profit import PnlOptions


@pytest.fixture
def gain_term() -> Iterator[RewardTerm]:
    """A term of one's own, taken out again afterwards."""
    term = RewardTerm(
        "gain_alone", 1, lambda step, options, xp: step.gain, PnlOptions, objective="profit"
    )
    yield term
    catalogue._TERMS.pop(term.name, None)


def test_term_of_ones_own_is_stacked_after_the_others(gain_term: RewardTerm) -> None:
    register(gain_term)
    register(gain_term)  # once more is no mistake
    *_, (rules, done) = rollout("discrete", 4)

    stack = reward_stack({"gain_alone": 2.0, "log_growth": 1.0})

    assert stack.names == ("log_growth", "gain_alone")
    assert stack(rules, done).shape == (2, 32)


def test_name_that_is_taken_is_refused(gain_term: RewardTerm) -> None:
    with pytest.raises(ConfigError, match="name of its own, was pnl"):
        register(dataclasses.replace(gain_term, name="pnl"))


def test_unknown_term_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'drawdown'"):
        reward_term("drawdwon")


def test_listing_cannot_be_changed(gain_term: RewardTerm) -> None:
    with pytest.raises(TypeError):
        registered_terms()["x"] = gain_term  # type: ignore[index]
