"""A run whose agents see a model gets windows: the model is fitted anew for each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.evaluation.retraining import carry_out, prepare_training
from tradingbot.app.evaluation.subject import Subject, open_subject
from tradingbot.app.evaluation.training_order import Order, order_config
from tradingbot.app.evaluation.walk_forward_piece import walk_forward_orders
from tradingbot.app.evaluation.window_model import open_with_own_model
from tradingbot.app.supervised.building import ModelRequest, train_model
from tradingbot.app.supervised.models import list_models
from tradingbot.app.training.config_files import changed
from tradingbot.app.training.data import open_data
from tradingbot.app.training.session import begin_run
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.walk_forward import WalkForwardSettings
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig

FIT = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2), seed=4)
WINDOWS = WalkForwardSettings(8, 8, first_share_frac=0.8, steps_share_frac=0.2)


def request(name: str) -> ModelRequest:
    return ModelRequest(name, "lightgbm", {"max_rounds": 8, "patience": 3}, FIT, proof_rounds=1)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a model and a run named `seer` that sees it."""
    folder = tmp_path_factory.mktemp("seer")
    train_model(tiny_config(), request("trees"), folder)
    begin_run(tiny_config(task__probabilities="trees"), folder, name="seer")
    return folder


@pytest.fixture(scope="module")
def seer(workspace: Path) -> Subject:
    return open_subject("seer", workspace)


@pytest.fixture(scope="module")
def order(seer: Subject) -> Order:
    return walk_forward_orders(seer, WINDOWS)[0]


def test_probabilities_of_a_window_are_those_of_a_model_trained_for_its_split(
    seer: Subject, order: Order, workspace: Path
) -> None:
    wanted = order_config(order, seer.config)
    with pytest.raises(DataError, match="must not have been fitted on bars"):
        open_data(wanted, workspace)  # the run's own model has seen too much

    found = open_with_own_model(wanted, workspace)

    train_model(wanted, request("window"), workspace)
    trained = open_data(changed(wanted, {"task.probabilities": "window"}), workspace)
    np.testing.assert_array_equal(found.world.probabilities, trained.world.probabilities)
    np.testing.assert_array_equal(found.whole.probabilities, trained.whole.probabilities)
    assert found.split == trained.split
    assert len(np.unique(found.world.probabilities)) > 10
    assert not np.array_equal(found.world.probabilities, seer.data.world.probabilities)
    assert found.identity.data_sha256 != seer.data.identity.data_sha256


def test_window_is_trained_and_traded_and_nothing_is_stored(
    seer: Subject, order: Order, workspace: Path
) -> None:
    before = {line.name for line in list_models(workspace)}

    trained = carry_out(prepare_training(order, seer.config, seer.data, workspace))

    assert trained.parts
    assert trained.trained_until < trained.parts[0].first_day
    assert not trained.failed
    assert {line.name for line in list_models(workspace)} == before
