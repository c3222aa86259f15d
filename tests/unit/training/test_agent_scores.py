"""Checkpoints are chosen by alpha: what the market gave does not count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.tiny_training import tiny_config
from tradingbot.data.splits import IndexRange
from tradingbot.learning.shrinkage import Act
from tradingbot.learning.task import Observation
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.data import TrainingData, halves, open_data
from tradingbot.training.setup import TrainingSetup, build_training_setup

DRIFT = 2e-3
"""What every symbol of the rising market gains per bar."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainingSetup, TrainingData]:
    """Two agents without costs on bars that all rise. Synthetic."""
    config = tiny_config(task__costs="free")
    data = open_data(config, tmp_path_factory.mktemp("scores"))
    rise = np.exp(DRIFT * np.arange(data.world.prices.shape[1]))[None, :, None]
    worlds = {
        name: replace(
            world, prices=np.concatenate([world.prices[..., :4] * rise, world.prices[..., 4:]], -1)
        )
        for name, world in (("world", data.world), ("whole", data.whole))
    }
    data = replace(data, **worlds)
    return build_training_setup(config, data, seed=5), data


def scores(made: tuple[TrainingSetup, TrainingData], act: Act) -> dict[str, Tensor]:
    setup, data = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup.learner, "act", act)
        return scores_on(choosing_bars(data), setup, data)


def test_holding_a_rising_market_scores_by_its_net_return_and_not_by_alpha(
    made: tuple[TrainingSetup, TrainingData],
) -> None:
    held = scores(made, lambda seen: torch.ones_like(seen.row, dtype=torch.float32))

    assert (held["return_bp"] > 10.0).all()
    assert (held["sharpe"] > 1.0).all()
    for alpha, net in (("alpha_bp", "return_bp"), ("alpha_sharpe", "sharpe")):
        assert held[alpha].mean().abs() < 0.1 * held[net].mean()
    assert held["highest"].tolist() == [1.0, 1.0]


def test_who_knows_which_symbol_does_better_scores_above_who_holds_all(
    made: tuple[TrainingSetup, TrainingData],
) -> None:
    _, data = made
    close = data.world.prices[..., 3]
    opens = data.world.prices[..., 0]
    ahead = np.zeros_like(close)
    ahead[:, :-1] = close[:, 1:] / opens[:, 1:]
    better = torch.from_numpy(ahead > ahead.mean(axis=0)).reshape(-1).float()

    def know(seen: Observation) -> Tensor:
        return better[seen.row]

    held = scores(made, lambda seen: torch.ones_like(seen.row, dtype=torch.float32))
    known = scores(made, know)

    assert known["alpha_sharpe"].mean() > held["alpha_sharpe"].mean() + 5.0
    assert (known["trades_per_1000"] > 100.0).all()
    assert ((known["entropy"] > 0.0) & (known["entropy"] < 1.0)).all()


def test_whoever_stays_out_scores_nothing(made: tuple[TrainingSetup, TrainingData]) -> None:
    idle = scores(made, lambda seen: torch.zeros_like(seen.row, dtype=torch.float32))

    for name in ("alpha_bp", "alpha_sharpe", "return_bp", "sharpe", "trades_per_1000"):
        assert idle[name].tolist() == [0.0, 0.0]


def test_weights_are_chosen_on_the_first_half_of_validation_by_alpha(tmp_path: Path) -> None:
    config = tiny_config()
    data = open_data(config, tmp_path)

    assert config.plan.score == "alpha_sharpe"
    assert choosing_bars(data) == halves(data.split.validation)[0]
    assert isinstance(choosing_bars(data), IndexRange)
