"""Rules that look back for long say where they had nothing to look back on."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.agents.baselines.catalogue import LOOKBACK_BARS, RULES
from tradingbot.agents.baselines.price_rules import QUARTER, MomentumConfig, momentum_targets
from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.backtest.baselines import is_silent, lookback_note, silent_bars

NEEDED = LOOKBACK_BARS["momentum"]


@pytest.mark.parametrize(
    ("name", "config"), [("momentum", MomentumConfig()), ("momentum_quarter", QUARTER)]
)
@pytest.mark.parametrize("start", [0, 300, 441, 1_700, 1_764, 1_800])
def test_silent_bars_are_those_without_a_target(
    name: str, config: MomentumConfig, start: int
) -> None:
    bars = IndexRange(start, 1_801 + 9)
    closes = np.exp(0.01 * np.arange(1_810.0))[None]  # it only rises: a target is never 0

    decided = momentum_targets(closes, config)[0, bars.start : bars.stop - 1]

    assert silent_bars(name, bars) == (decided == 0.0).sum()
    assert not is_silent(name, bars)


@pytest.mark.parametrize(("stop", "is_left_out"), [(NEEDED + 1, True), (NEEDED + 2, False)])
def test_rule_is_silent_where_not_one_decision_has_its_past(stop: int, is_left_out: bool) -> None:
    bars = IndexRange(1_000, stop)

    note = lookback_note("momentum", bars, "test")

    assert is_silent("momentum", bars) == is_left_out
    words = "is left out of test" if is_left_out else f"first {NEEDED - 1_000:,} bars of test"
    assert words in note
    assert "needs 1,764 bars" in note


def test_nothing_is_said_of_rules_that_have_what_they_need() -> None:
    long_enough = IndexRange(NEEDED, NEEDED + 50)

    assert [lookback_note(name, long_enough, "test") for name in RULES] == [""] * len(RULES)
    assert lookback_note("macd", IndexRange(0, 50), "test") == ""
    assert not is_silent("macd", IndexRange(0, 50))
