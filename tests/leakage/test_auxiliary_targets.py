"""Auxiliary answers see no bar beyond their horizon, and none outside the training period."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tradingbot.data.splits import IndexRange
from tradingbot.domain.seeding import stream
from tradingbot.envs import World, synthetic_world
from tradingbot.envs.auxiliary import auxiliary_targets
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.evaluation.demonstrations import expert_actions
from tradingbot.learning.pretraining.targets import AuxiliaryTarget

TRAIN = IndexRange(0, 450)


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=3, n_bars=600, seed=8, train=TRAIN)


def changed_from(world: World, bar: int) -> World:
    """Other prices, volumes, features and regimes from a bar on, the bar included."""
    draw = stream(2, "future")
    prices, features, regimes = world.prices.copy(), world.features.copy(), world.regimes.copy()
    prices[:, bar:, :4] *= np.exp(draw.normal(0.0, 0.05, prices[:, bar:, :1].shape))
    prices[:, bar:, 4] *= draw.uniform(0.1, 9.0, prices[:, bar:, 4].shape)
    features[:, bar:] = draw.uniform(-1.0, 1.0, features[:, bar:].shape)
    regimes[:, bar:] = draw.uniform(-1.0, 1.0, regimes[:, bar:].shape)
    return replace(world, prices=prices, features=features, regimes=regimes)


def targets_of(world: World) -> dict[str, AuxiliaryTarget]:
    rule = baseline("expert", world)
    return auxiliary_targets(world, train=TRAIN, expert=expert_actions(world, rule))


def test_bars_after_the_training_period_change_no_answer(world: World) -> None:
    before, after = targets_of(world), targets_of(changed_from(world, TRAIN.stop))

    assert set(before) == {"next_return", "volatility", "volume_class", "regime", "expert_action"}
    for name in before:
        assert torch.equal(before[name].values, after[name].values), name
        assert torch.equal(before[name].valid, after[name].valid), name


def test_bars_beyond_the_horizon_change_no_answer_and_those_within_do(world: World) -> None:
    cut = 400
    before, after = targets_of(world), targets_of(changed_from(world, cut))

    for name, target in before.items():
        beyond = cut - target.horizon_bars  # the last answer before this looks at bar cut − 1
        assert torch.equal(target.values[:, :beyond], after[name].values[:, :beyond]), name
        assert torch.equal(target.valid[:, :beyond], after[name].valid[:, :beyond]), name
        within = slice(beyond, cut + 20)
        assert not torch.equal(target.values[:, within], after[name].values[:, within]), name


def test_answers_ahead_do_look_ahead(world: World) -> None:
    """The horizon that is stated is not longer than the one that is used."""
    cut = 400
    before, after = targets_of(world), targets_of(changed_from(world, cut))

    for name, target in before.items():
        if target.horizon_bars:
            first = cut - target.horizon_bars
            differs = target.values[:, first] != after[name].values[:, first]
            assert bool(differs.any()), name
