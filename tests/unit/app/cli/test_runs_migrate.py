"""`tradingbot runs migrate`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fixtures.small_runs import NOW
from tradingbot.app.cli.application import run as run_command
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.networks.threads import torch_threads
from tradingbot.runs import (
    CheckpointContent,
    RunDirectory,
    RunPlan,
    find_run,
    save_checkpoint,
    source_sha256,
)
from tradingbot.runs.loading import require_checkpoint
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.preparation import prepare_training_setup
from tradingbot.training.results import backtest_agents
from unit.app.cli.conftest import Answer


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a discrete run that has learned something, on a synthetic market."""
    workspace = tmp_path_factory.mktemp("trained")
    settings = {
        "task.rules.action.space": "discrete",
        "learner.name": "ppo",
        "learner.ppo.rollout_steps": 64,
        "learner.ppo.n_epochs": 4,
        "learner.ppo.minibatch": 256,
        "learner.ppo.learning_rate": {"kind": "constant", "first": 0.003},
        "learner.ppo.actor.hidden": [16],
        "learner.ppo.critic.hidden": [16],
        "budget.steps_per_agent": 12_288,
        "budget.n_envs": 16,
        "market.params": {"kappa": 0.5},
        "market.seed": 5,
        "seed": 5,
    }
    config = load_train_config("quick", settings)
    data = open_data(config, workspace)
    plan = RunPlan("ppo", config.as_mapping(), data.identity, source_sha256(), seed=5)
    run = RunDirectory.create(workspace / "runs", plan, created_at=NOW, name="codes")
    with torch_threads(1):
        learner = prepare_training_setup(config, data, seed=5).learner
        for _ in range(12):
            learner.update()
    agent = copied_tensors(learner.networks())
    save_checkpoint(run, "best", 12, CheckpointContent(agent, learner.state()))
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
    assert record["factor"] == answer.document["factor"]
    cost = answer.document["cost"]
    assert record["cost"] == cost
    before, after, change = (
        cost[name][0] for name in ("discrete_bp", "continuous_bp", "difference_bp")
    )
    assert after - before == pytest.approx(change)
    assert cost["degradation_frac"] == pytest.approx(-change / before)
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


@pytest.mark.parametrize("learner", ["ppo", "sac"])
def test_migration_keeps_what_the_old_policy_earned_on_bars_it_never_saw(
    trained: Path, capsys: pytest.CaptureFixture[str], learner: str
) -> None:
    asked = ("runs", "migrate", "codes", "--to", "continuous", "--learner", learner)

    answer = ask(capsys, trained, *asked, "--name", f"kept-{learner}", "--json")

    assert answer.code == 0, answer.err
    factor, cost = answer.document["factor"], answer.document["cost"]
    assert cost["part"] == "validation"
    assert cost["discrete_bp"][1] > 0.0  # it is worth something, by its own interval
    assert cost["degradation_frac"] < cost["goal_frac"] == 0.1
    assert factor["discrete_bp"] <= factor["continuous_bp"][str(factor["factor"])]
    show = ask(capsys, trained, "runs", "show", f"kept-{learner}", "--json").document
    assert show["record"]["learner"] == learner
    earned_bp = 1e4 * stored_returns(trained, f"kept-{learner}").mean()
    assert earned_bp == pytest.approx(cost["continuous_bp"][0], rel=1e-4)


def stored_returns(workspace: Path, name: str) -> np.ndarray:
    """Play the checkpoint of a run, as it lies on the disk, over validation."""
    run = find_run(workspace / "runs", name)
    config = config_of_mapping(run.record.config)
    data = open_data(config, workspace)
    agent = require_checkpoint(run, "last", None, rule="must be", remedy="").agent
    setup = prepare_training_setup(config, data, seed=5)
    for part, network in setup.learner.networks().items():
        network.load_state_dict({key: agent[f"{part}.{key}"] for key in network.state_dict()})
    return backtest_agents(setup, data, data.split.validation, setup.learner.act).returns


def test_learner_that_cannot_go_on_is_refused(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("runs", "migrate", "codes", "--to", "continuous", "--name", "never", "--learner")
    for learner, rule in (("sacc", "learner must be a known one"), ("es", "squashed Gaussian")):
        answer = ask(capsys, trained, *asked, learner)
        assert (answer.code, rule in answer.err) == (2, True), answer.err


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ppo", "sac"])
def test_migrated_run_goes_on_from_the_migrated_weights(
    trained: Path, capsys: pytest.CaptureFixture[str], learner: str
) -> None:
    made = ("--to", "continuous", "--name", f"on-{learner}", "--learner", learner)
    ask(capsys, trained, "runs", "migrate", "codes", *made)

    answer = ask(capsys, trained, "train", "--resume", f"on-{learner}", "--json", "--force")

    assert answer.code == 0, answer.err
    assert ask(capsys, trained, "runs", "list", "--json").document[-1]["state"] == "finished"
