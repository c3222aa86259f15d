"""What decides on a trained policy: alpha, on the second half of validation. Synthetic data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fixtures.tiny_portfolio import master_config
from fixtures.tiny_training import tiny_config
from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.learning.learner import Learner
from tradingbot.learning.shrinkage import Play, Shrinkage, ShrinkageConfig
from tradingbot.training import results
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import halves, open_data
from tradingbot.training.setup import build_training_setup

RULE = {"environment.portfolio.sleeves": "sma_cross:fast=1,slow=4", "market.start": "2025-01-02"}


def test_first_half_of_validation_comes_before_the_second() -> None:
    assert halves(IndexRange(10, 21)) == (IndexRange(10, 15), IndexRange(15, 21))


@pytest.mark.parametrize(
    ("config", "decides"),
    [
        (tiny_config(**{"validation.shrink": True}), "decide"),
        (master_config(**RULE | {"validation.shrink": True}), "decide_allocation"),
    ],
    ids=["agents", "master"],
)
def test_second_half_of_validation_decides_by_alpha(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: TrainConfig, decides: str
) -> None:
    data = open_data(config, tmp_path)
    setup = build_training_setup(config, data, seed=5)
    bars = halves(data.split.validation)[1]
    expected = results.backtest_agents(setup, data, bars, setup.learner.act)
    alpha = torch.from_numpy(attribute_backtest(expected, data.factor).alpha)
    net = torch.from_numpy(expected.returns)
    decide, found = getattr(results, decides), []

    def deciding(learner: Learner, play: Play, blocks: ShrinkageConfig) -> Shrinkage:
        found.append(play(learner.act))
        return decide(learner, play, blocks)

    monkeypatch.setattr(results, decides, deciding)
    results.select_by_validation(setup, data)

    assert not torch.equal(alpha, net)
    assert torch.equal(found[0].judged, alpha)
    assert torch.equal(found[0].net, net)
