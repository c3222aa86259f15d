"""Rules that cannot be are refused by name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.costs import CostProfile
from tradingbot.risk import RiskLimits

NAN = math.nan


@pytest.mark.parametrize(
    ("make", "name", "values"),
    [
        (AccountRules, "initial_cash_ccy", [0.0, -1.0, math.inf, NAN]),
        (AccountRules, "maintenance_frac", [1.0, 0.0, math.inf, NAN]),
        (AccountRules, "max_participation_frac", [0.0, 1.1, NAN]),
        (AccountRules, "stop_loss_frac", [0.0, -0.1, NAN]),
        (AccountRules, "take_profit_frac", [0.0, -1.0, NAN]),
        (AccountRules, "max_holding_bars", [0, -1, NAN]),
        (AccountRules, "position_loss_frac", [0.0, -0.1, NAN]),
        (AccountRules, "portfolio_loss_frac", [0.0, 1.1, NAN]),
        (ActionRules, "space", ["both", ""]),
        (ActionRules, "hold_zone", [-0.1, 1.0, NAN]),
        (ActionRules, "smoothing_bars", [0, -3, NAN]),
        (ActionRules, "entry_fracs", [(0.5, 0.5, 1.0), (0.1, 0.2), (0.5, 0.7, 1.1), (0, 0.5, 1)]),
        (ActionRules, "sell_partial_frac", [0.0, 1.0, NAN]),
        (ActionRules, "add_frac", [0.0, 1.1, NAN]),
        (ActionRules, "max_adds", [-1, NAN]),
        (ActionRules, "add_min_profit_frac", [-0.1, NAN]),
        (ActionRules, "max_repeats", [0, NAN]),
        (EpisodeRules, "episode_bars", [0, -1, NAN]),
        (EpisodeRules, "window_bars", [0, NAN]),
        (EpisodeRules, "fill_at", ["close", None]),
    ],
)
def test_rule_out_of_its_range_is_refused_by_name(
    make: Callable[..., object], name: str, values: list[object]
) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=name):
            make(**{name: value})


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        (
            {"action": ActionRules("discrete"), "limits": RiskLimits(allow_short=True)},
            "allow_short",
        ),
        ({"limits": RiskLimits(0.1, min_trade_ccy=10_001.0)}, "min_trade_ccy"),
        ({"account": AccountRules(maintenance_frac=1.6)}, "maintenance_frac"),
    ],
)
def test_rules_that_contradict_each_other_are_refused(rules: dict[str, object], name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        SimulatorParams(**rules)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RiskLimits(allow_short="no"), "allow_short must be of type bool, was 'no'"),
        (lambda: RiskLimits(max_stale_bars=1.5), "max_stale_bars must be of type int, was 1.5"),
        (lambda: RiskLimits(max_position_frac="0.5"), "max_position_frac must be of type float"),
        (lambda: RiskLimits(max_position_frac=True), "max_position_frac must be of type float"),
        (lambda: AccountRules(max_holding_bars=2.5), "max_holding_bars must be of type int"),
        (lambda: EpisodeRules(episode_bars=5.5), "episode_bars must be of type int, was 5.5"),
        (lambda: ActionRules(max_repeats=None), "max_repeats must be of type int, was None"),
        (lambda: CostProfile(slippage_frac="1bp"), "slippage_frac must be of type float"),
        (
            lambda: SimulatorParams(limits=RiskLimits(max_order_frac=1e-6)),
            "max_order_frac must allow the smallest trade, was 1e-06",
        ),
    ],
)
def test_rule_of_the_wrong_kind_is_refused(make, complaint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        make()
