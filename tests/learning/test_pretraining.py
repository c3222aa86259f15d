"""An encoder that sees single returns only learns to infer what prices hide (synthetic markets)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.envs import World, synthetic_world
from tradingbot.envs.auxiliary import auxiliary_targets
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.evaluation.oracle.action_rule import (
    DEFAULT_COST_FRAC,
    ActionRule,
    Information,
)
from tradingbot.evaluation.oracle.linear_oracle import VIEWS
from tradingbot.evaluation.oracle.simulation import simulate_targets
from tradingbot.evaluation.oracle.switching import solve_signal
from tradingbot.learning.generators import make_generator
from tradingbot.learning.pretraining.config import AuxiliaryWeights, PretrainingConfig
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.networks.encoders.catalogue import EncoderConfig, build_encoder, encoder_preset

TRAIN_BARS, TEST_BARS = 3_528, 1_500
TRAIN = IndexRange(0, TRAIN_BARS)
FloatArray = NDArray[np.float64]


def generated(kind: str, n_symbols: int, seed: int) -> tuple[World, SyntheticMarket]:
    n_bars = TRAIN_BARS + TEST_BARS
    world = synthetic_world(kind, n_symbols=n_symbols, n_bars=n_bars, seed=seed, train=TRAIN)
    market = synthetic_market(kind, n_symbols=n_symbols, n_bars=n_bars, seed=seed, params={})
    return world, market


def returns_only(world: World) -> torch.Tensor:
    """The scaled return of the last bar, and nothing that averages over bars."""
    column = world.feature_names.index("return_1")
    return torch.tensor(world.features[..., column : column + 1])


def judge(market: SyntheticMarket, answer: FloatArray) -> tuple[float, float]:
    """Correlation with the Kalman estimate, and share of its net return with its thresholds."""
    view = VIEWS[market.name](market, Information.ATTAINABLE)
    thresholds, _ = solve_signal(
        view.model, cost_frac=DEFAULT_COST_FRAC, action_rule=ActionRule.LONG_ONLY
    )
    estimate = view.signal[TRAIN_BARS:]

    def net(signal: FloatArray) -> float:
        targets = thresholds.positions(signal, lowest=0.0)
        opens, closes = market.opens[TRAIN_BARS:], market.closes[TRAIN_BARS:]
        played = simulate_targets(opens, closes, targets, cost_frac=DEFAULT_COST_FRAC)
        return float(played.mean())

    answer = answer.T / answer.std()
    correlation = float(np.corrcoef(answer.ravel(), estimate.ravel())[0, 1])
    return correlation, net(answer) / net(estimate)


def pretrained_answer(
    world: World, config: PretrainingConfig, encoder_config: EncoderConfig
) -> FloatArray:
    table, targets = returns_only(world), auxiliary_targets(world, train=TRAIN)
    encoder = build_encoder(encoder_config, 1, make_generator(0, "encoder"))
    pretrainer = Pretrainer(encoder, table, targets, config, seed=0)
    pretrainer.complete()
    answers = pretrainer.answers(TRAIN_BARS, table.shape[1])
    return answers["next_return"].double().numpy()


WITHOUT_EXPERT = AuxiliaryWeights(expert_action=0.0)


def test_reversion_that_hides_in_single_returns_is_found_out_of_sample() -> None:
    world, market = generated("hidden_reversion", 24, seed=0)
    config = PretrainingConfig(weights=WITHOUT_EXPERT, updates=100)
    encoder = EncoderConfig(kind="mlp", n_layers=2, width=32, lookback_bars=16)

    correlation, share = judge(market, pretrained_answer(world, config, encoder))

    assert correlation > 0.6
    assert share > 0.6


def test_single_return_says_little_of_the_reversion_by_itself() -> None:
    """The control of the test above: without memory the same measure stays low."""
    world, market = generated("hidden_reversion", 24, seed=0)
    row = -returns_only(world)[:, TRAIN_BARS:, 0].double().numpy()

    correlation, share = judge(market, row)

    assert correlation < 0.6
    assert share < 0.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "lookback_bars"), [("hidden_trend", 64), ("hidden_reversion", 24)]
)
def test_hidden_markets_are_captured_by_60_percent(kind: str, lookback_bars: int) -> None:
    world, market = generated(kind, 48, seed=1)
    config = PretrainingConfig(weights=WITHOUT_EXPERT, updates=150)
    encoder = replace(encoder_preset("tiny"), lookback_bars=lookback_bars)

    correlation, share = judge(market, pretrained_answer(world, config, encoder))

    assert correlation > 0.7
    assert share > 0.6
