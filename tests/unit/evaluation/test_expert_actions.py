"""What a rule does at every bar, as classes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fixtures.trading_worlds import small_world
from tradingbot.agents.baselines.catalogue import rule_policy
from tradingbot.agents.policy import PolicyInputs
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


def test_expert_acts_on_every_symbol_and_mostly_holds() -> None:
    world = small_world()
    rule = rule_policy("expert", seed=0, regime_names=world.regime_names)

    actions = expert_actions(world, rule)

    assert ((actions == 2).sum(1) >= 1).all()
    position = np.cumsum(actions - 1, axis=1)
    assert np.isin(position, (0, 1)).all()  # buys when flat, sells when long, nothing else
    assert (actions == 1).mean() > 0.8


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
