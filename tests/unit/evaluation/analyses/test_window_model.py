"""A run whose agents see a model gets windows: the model is fitted anew for each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingSpec,
    open_with_own_model,
    retraining_config,
)
from tradingbot.evaluation.analyses.retraining.training import prepare_retraining, retrain
from tradingbot.evaluation.analyses.settings import WalkForwardSettings
from tradingbot.evaluation.analyses.walk_forward import walk_forward_specs
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.model_manifest import list_models
from tradingbot.training.config_files import override_config
from tradingbot.training.data import open_data
from tradingbot.training.session import begin_run
from tradingbot.training.supervised.fit import ModelRequest, train_model

FIT = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2), seed=4)
WINDOWS = WalkForwardSettings(8, 8, first_share_frac=0.8, steps_share_frac=0.2)


def job(name: str) -> ModelRequest:
    return ModelRequest(name, "lightgbm", {"max_rounds": 8, "patience": 3}, FIT, proof_rounds=1)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a model and a run named `seer` that sees it."""
    folder = tmp_path_factory.mktemp("seer")
    train_model(tiny_config(), job("trees"), folder)
    begin_run(tiny_config(task__probabilities="trees"), folder, name="seer")
    return folder


@pytest.fixture(scope="module")
def seer(workspace: Path) -> EvaluatedRun:
    return open_evaluated_run("seer", workspace)


@pytest.fixture(scope="module")
def order(seer: EvaluatedRun) -> RetrainingSpec:
    return walk_forward_specs(seer, WINDOWS)[0]


def test_probabilities_of_a_window_are_those_of_a_model_trained_for_its_split(
    seer: EvaluatedRun, order: RetrainingSpec, workspace: Path
) -> None:
    wanted = retraining_config(order, seer.config)
    with pytest.raises(DataError, match="must not have been fitted on bars"):
        open_data(wanted, workspace)  # the run's own model has seen too much

    found = open_with_own_model(wanted, workspace)

    train_model(wanted, job("window"), workspace)
    trained = open_data(override_config(wanted, {"task.probabilities": "window"}), workspace)
    np.testing.assert_array_equal(found.world.probabilities, trained.world.probabilities)
    np.testing.assert_array_equal(found.whole.probabilities, trained.whole.probabilities)
    assert found.split == trained.split
    assert len(np.unique(found.world.probabilities)) > 10
    assert not np.array_equal(found.world.probabilities, seer.data.world.probabilities)
    assert found.identity.data_sha256 != seer.data.identity.data_sha256


def test_window_is_trained_and_traded_and_nothing_is_stored(
    seer: EvaluatedRun, order: RetrainingSpec, workspace: Path
) -> None:
    before = {line.name for line in list_models(workspace)}

    trained = retrain(prepare_retraining(order, seer.config, seer.data, workspace))

    assert trained.parts
    assert trained.trained_until < trained.parts[0].first_day
    assert not trained.failed
    assert {line.name for line in list_models(workspace)} == before
