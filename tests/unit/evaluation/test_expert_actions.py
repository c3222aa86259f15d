"""What a rule does at every bar, as classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import small_world
from tradingbot.agents.baselines.catalogue import rule_policy
from tradingbot.agents.baselines.expert import INDICATOR_BARS
from tradingbot.agents.policy import PolicyInputs
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.evaluation.backtest.rule_features import expert_indicators
from tradingbot.evaluation.demonstrations import expert_actions


def test_position_that_is_asked_for_is_bought_once_held_and_sold() -> None:
    world = small_world()

    def rule(seen: PolicyInputs) -> Tensor:
        bar = seen.row % world.n_bars
        return ((bar >= 5) & (bar < 9)).to(seen.size.dtype)

    actions = expert_actions(world, rule)

    assert actions.shape == (3, 420)
    assert (actions[:, 5] == 2).all()
    assert (actions[:, 9] == 0).all()
    assert np.isin(np.delete(actions, (5, 9), axis=1), 1).all()


def test_trend_follower_acts_on_every_symbol_and_mostly_holds() -> None:
    world = small_world()
    rule = rule_policy("trend_follower", seed=0, regime_names=world.regime_names)

    actions = expert_actions(world, rule)

    assert ((actions == 2).sum(1) >= 1).all()
    position = np.cumsum(actions - 1, axis=1)
    assert np.isin(position, (0, 1)).all()  # buys when flat, sells when long, nothing else
    assert (actions == 1).mean() > 0.8


def test_expert_buys_and_sells_every_symbol_and_holds_more_often() -> None:
    world = small_world()

    actions = expert_actions(world, baseline("expert", world))

    assert ((actions == 2).sum(1) >= 3).all()
    assert ((actions == 0).sum(1) >= 3).all()
    assert (actions == 1).mean() > 0.5
    assert (actions[:, :14] == 1).all()  # no indicator is defined before


def test_expert_told_for_all_bars_at_once_does_what_it_does_bar_by_bar() -> None:
    world = small_world()
    expert = baseline("expert", world)

    at_once = expert_actions(world, expert)
    bar_by_bar = expert_actions(world, lambda seen: expert(seen))

    assert np.array_equal(at_once, bar_by_bar)
    assert at_once.dtype == bar_by_bar.dtype


def test_expert_reads_what_traders_do() -> None:
    """Against formulas of a textbook, written down anew on one symbol."""
    world = small_world()
    close, volume = world.prices[0, :, 3], world.prices[0, :, 4]

    found = expert_indicators(world)

    bar = 200
    window = close[bar - 19 : bar + 1]
    low, high = (window.mean() + side * 2.0 * window.std() for side in (-1, 1))
    assert found.band[0, bar] == pytest.approx((close[bar] - low) / (high - low))
    assert found.volume[0, bar] == pytest.approx(volume[bar] / volume[bar - 19 : bar + 1].mean())
    assert 0.0 < found.rsi[0, bar] < 100.0
    assert np.isfinite(np.stack(found)[:, :, INDICATOR_BARS:]).all()
    assert not np.isfinite(found.macd[:, INDICATOR_BARS - 1]).any()


def test_rule_sees_the_row_and_the_features_of_its_bar() -> None:
    world = small_world()
    rows: list[Tensor] = []

    def rule(seen: PolicyInputs) -> Tensor:
        rows.append(seen.row)
        bar = int(seen.row[0]) % world.n_bars
        assert torch.equal(seen.features, torch.from_numpy(world.features[:, bar].copy()))
        return torch.zeros_like(seen.size)

    expert_actions(world, rule)

    assert sorted(torch.cat(rows).tolist()) == list(range(3 * 420))
