"""A run's checkpoint alone acts as the policy that its result is about."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fixtures.tiny_training import tiny_config
from tradingbot.agents.network_policy import TRADES
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.envs.world import cut_world
from tradingbot.evaluation.rollout import roll_out
from tradingbot.learning.shrinkage import Shrinkage
from tradingbot.runs import RunDirectory, latest_good
from tradingbot.runs.ledger import LEDGER_FILE
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import begin_run, resume_session
from tradingbot.training.setup import env_config

ENCODED = {
    "encoder__preset": "mlp",
    "pretraining__updates": 2,
    "pretraining__segment_bars": 16,
    "budget__steps_per_agent": 48,
}
SETTINGS: dict[str, dict[str, object]] = {
    "ppo": {
        "learner__name": "ppo",
        "learner__ppo__rollout_steps": 16,
        "learner__ppo__act_levels": 5,
        "validation__shrink": False,
    },
    "sac": {
        "learner__name": "sac",
        "learner__sac__buffer_size": 128,
        "learner__sac__batch_size": 16,
        "learner__sac__warm_up": 32,
        "learner__sac__steps_per_update": 8,
        "validation__shrink": False,
    },
    "frozen encoder": {**ENCODED, "validation__shrink": False},
    "learning encoder": {**ENCODED, "encoder__trainable": True, "validation__shrink": False},
}


def trained(workspace: Path, **options: object) -> tuple[RunDirectory, TrainConfig]:
    config = tiny_config(**options)
    return begin_run(config, workspace, name="done").run, config


def earned(
    run: RunDirectory, config: TrainConfig, data: TrainingData, workspace: Path | None = None
) -> np.ndarray[Any, Any]:
    """Roll the run's policy out over the test part; return what each agent's sleeve earned."""
    part = data.split.test
    cut = cut_world(data.world, part.start, part.stop - 1)
    policy = open_policy(run, data, part, workspace=workspace)
    rolled = roll_out(cut, env_config(config), {"agents": policy})
    return rolled.equity[-1, 0] / rolled.initial_cash_ccy - 1.0


def stored_returns(run: RunDirectory) -> list[float]:
    parts = json.loads((run.path / "result.json").read_text())["parts"]
    test = next(part for part in parts if part["part"] == "test")
    return [agent["total_return_frac"] for agent in test["agents"]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, TrainConfig]:
    return trained(tmp_path_factory.mktemp("done"))


@pytest.fixture(scope="module")
def data(
    done: tuple[RunDirectory, TrainConfig], tmp_path_factory: pytest.TempPathFactory
) -> TrainingData:
    return open_data(done[1], tmp_path_factory.mktemp("data"))


def copied(run: RunDirectory, workspace: Path) -> RunDirectory:
    shutil.copy(run.path.parent.parent / LEDGER_FILE, workspace)
    return RunDirectory.open(shutil.copytree(run.path, workspace / "runs" / run.id))


@pytest.mark.parametrize(
    "name",
    [
        *("ppo", "frozen encoder"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("sac", "learning encoder")),
    ],
)
def test_policy_from_the_checkpoint_earns_what_the_result_says(
    tmp_path: Path, data: TrainingData, name: str
) -> None:
    run, config = trained(tmp_path, **SETTINGS[name])

    for _ in range(2):  # computed, and from the cache of embeddings
        found = earned(run, config, data, tmp_path)
        np.testing.assert_allclose(found, stored_returns(run), rtol=1e-4, atol=1e-6)

    assert np.abs(found).max() > 1e-3
    selected = [*(tmp_path / "embeddings").glob("*.safetensors")]
    assert len(selected) == int("encoder" in name)


def test_agent_that_validation_keeps_out_stays_out(
    tmp_path: Path, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    trades, scale = torch.tensor([False, True]), torch.tensor([0.0, 0.5])
    decided = Shrinkage(trades, scale, "half", {"half": 1e-4}, {"half": 1e-5})
    monkeypatch.setattr("tradingbot.training.results.decide", lambda *_: decided)
    run, config = trained(tmp_path)

    found = earned(run, config, data)

    np.testing.assert_allclose(found, stored_returns(run), rtol=1e-4, atol=1e-6)
    assert (found != 0.0).tolist() == [False, True]
    chosen, _ = latest_good(run, to_resume=False, label="selected")
    best, _ = latest_good(run, label="best")
    assert chosen is not None
    assert best is not None
    assert chosen.agent[TRADES].tolist() == [False, True]
    selected = best.agent["actor.deviations"] * scale[:, None]
    assert torch.equal(chosen.agent["actor.deviations"], selected)
    result = json.loads((run.path / "result.json").read_text())
    assert result["weights_sha256"] == chosen.manifest.weights_sha256


def test_selected_checkpoint_is_written_anew_and_never_resumed_from(
    tmp_path: Path, done: tuple[RunDirectory, TrainConfig]
) -> None:
    run = copied(done[0], tmp_path)
    (chosen,) = run.checkpoints.glob("*-selected")
    shutil.rmtree(chosen)

    resume_session("done", tmp_path)

    for name in ("result.json", f"checkpoints/{chosen.name}/agent.safetensors"):
        assert (run.path / name).read_bytes() == (done[0].path / name).read_bytes()
    newest, _ = latest_good(run)
    assert newest is not None
    assert newest.manifest.kind == "final"


def test_run_without_a_selected_checkpoint_acts_from_its_best_checkpoint(
    tmp_path: Path, done: tuple[RunDirectory, TrainConfig], data: TrainingData
) -> None:
    run = copied(done[0], tmp_path)
    for folder in run.checkpoints.glob("*-selected"):
        shutil.rmtree(folder)
    for folder in (run.checkpoints / "00000099-best", run.checkpoints / "00000099-selected"):
        folder.mkdir()  # no manifest: damaged

    with pytest.raises(StorageError, match=r"selected checkpoint.*whole.*--resume done"):
        open_policy(run, data)
    (run.checkpoints / "00000099-selected").rmdir()
    with pytest.raises(StorageError, match="best checkpoint"):
        open_policy(run, data)
    (run.checkpoints / "00000099-best").rmdir()

    assert np.abs(earned(run, done[1], data)).max() > 1e-3


def test_other_inputs_are_refused_by_name(
    done: tuple[RunDirectory, TrainConfig], data: TrainingData
) -> None:
    first, second, *rest = data.identity.feature_ids
    swapped = data.identity.model_copy(update={"feature_ids": (second, first, *rest)})

    with pytest.raises(ConfigError, match=rf"inputs they were trained on.*{first} → {second}"):
        open_policy(done[0], replace(data, identity=swapped))
