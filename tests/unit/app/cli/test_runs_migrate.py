"""`tradingbot runs migrate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.small_runs import NOW
from tradingbot.app.cli.application import run as run_command
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.networks.threads import torch_threads
from tradingbot.runs import CheckpointContent, RunDirectory, RunPlan, save_checkpoint, source_sha256
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.preparation import prepare_training_setup
from unit.app.cli.conftest import Answer


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a discrete run of three updates, on a synthetic market."""
    workspace = tmp_path_factory.mktemp("trained")
    settings = {
        "task.rules.action.space": "discrete",
        "learner.name": "ppo",
        "learner.ppo.rollout_steps": 64,
        "learner.ppo.n_epochs": 2,
        "learner.ppo.actor.hidden": [16],
        "learner.ppo.critic.hidden": [16],
        "budget.steps_per_agent": 1024,
        "seed": 3,
    }
    config = load_train_config("quick", settings)
    data = open_data(config, workspace)
    plan = RunPlan("ppo", config.as_mapping(), data.identity, source_sha256(), seed=3)
    run = RunDirectory.create(workspace / "runs", plan, created_at=NOW, name="codes")
    with torch_threads(1):
        learner = prepare_training_setup(config, data, seed=3).learner
        for _ in range(3):
            learner.update()
    agent = copied_tensors(learner.networks())
    save_checkpoint(run, "best", 3, CheckpointContent(agent, learner.state()))
    return workspace


def ask(capsys: pytest.CaptureFixture[str], workspace: Path, *arguments: str) -> Answer:
    capsys.readouterr()
    code = run_command(["--workspace", str(workspace), *arguments])
    captured = capsys.readouterr()
    return Answer(code, captured.out, captured.err)


def test_migrated_run_is_proved_and_backed_up(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {p: p.read_bytes() for p in (trained / "runs" / "codes").rglob("*") if p.is_file()}

    answer = ask(capsys, trained, "runs", "migrate", "codes", "--to", "continuous", "--json")

    assert answer.code == 0, answer.err
    proof = answer.document["proof"]
    assert proof["hidden_is_equal"] is True
    assert proof["rank_correlation"] >= 0.5
    assert all(path.read_bytes() == data for path, data in source.items())
    folder = trained / "runs" / "codes-continuous"
    record = json.loads((folder / "migration.json").read_text())
    assert record["proof"] == proof
    cost = answer.document["cost"]
    assert record["cost"] == cost
    assert cost["bars"] > 0
    lost = cost["discrete_bp"] - cost["continuous_bp"]
    if cost["discrete_bp"] > 0.0:
        assert cost["degradation_frac"] == pytest.approx(lost / cost["discrete_bp"])
    else:
        assert cost["degradation_frac"] is None
    assert lost != 0.0
    backup = folder / record["backup"]
    assert {p.name: p.read_bytes() for p in backup.iterdir()} == {
        p.name: p.read_bytes()
        for p in (trained / "runs" / "codes" / "checkpoints" / record["checkpoint"]).iterdir()
    }
    show = ask(capsys, trained, "runs", "show", "codes-continuous", "--json").document
    assert show["record"]["parent"] == "codes"
    assert show["record"]["config"]["task"]["rules"]["action"]["space"] == "continuous"
    assert [line["labels"] for line in show["checkpoints"]] == [["healthy", "last", "start"]]
    again = ask(capsys, trained, "runs", "migrate", "codes", "--to", "continuous")
    assert (again.code, "name must be new" in again.err) == (2, True)


def test_run_that_is_continuous_already_is_not_migrated(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (trained / "runs" / "codes-continuous").exists():
        ask(capsys, trained, "runs", "migrate", "codes", "--to", "continuous")

    answer = ask(capsys, trained, "runs", "migrate", "codes-continuous", "--to", "continuous")

    assert answer.code == 2
    assert "must have discrete actions" in answer.err
    assert ask(capsys, trained, "runs", "migrate", "codes", "--to", "discrete").code == 2


@pytest.mark.slow
def test_migrated_run_goes_on_from_the_migrated_weights(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(capsys, trained, "runs", "migrate", "codes", "--to", "continuous", "--name", "numbers")

    answer = ask(capsys, trained, "train", "--resume", "numbers", "--json", "--force")

    assert answer.code == 0, answer.err
    assert ask(capsys, trained, "runs", "list", "--json").document[-1]["state"] == "finished"
