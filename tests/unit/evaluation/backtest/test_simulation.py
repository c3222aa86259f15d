"""Which engine a simulation takes follows from the call alone."""

from __future__ import annotations

import pytest

from fixtures.trading_worlds import small_world
from tradingbot.agents.baselines.market_rules import RandomTargets
from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.backtest import PolicyUnderTest, simulation, sleeve_config
from tradingbot.evaluation.backtest.backtests import simulate_policies

FIRST, BARS = 200, 20


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for every time the compiled program is asked for; nothing is compiled."""
    questions: list[str] = []
    monkeypatch.setattr(simulation, "native_trade", lambda *_: questions.append("asked"))
    return questions


def play(*, native: bool | None = None) -> None:
    policies = [PolicyUnderTest("random", RandomTargets(1))]
    bars = IndexRange(FIRST, FIRST + BARS + 1)
    simulate_policies(small_world(), sleeve_config(), policies, bars, native=native)


@pytest.mark.parametrize(("many", "questions"), [(BARS + 1, 0), (BARS, 3)])
def test_engine_is_chosen_by_the_bars_of_the_call_however_many_went_before(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], many: int, questions: int
) -> None:
    monkeypatch.setattr(simulation, "_MANY_BARS", many)

    for _ in range(3):
        play()

    assert len(asked) == questions


def test_engine_that_is_asked_for_is_taken_whatever_the_bars(asked: list[str]) -> None:
    play(native=True)
    assert len(asked) == 1
    play(native=False)
    assert len(asked) == 1
