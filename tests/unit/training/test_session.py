"""How runs end that are done, refused, fail, have nothing healthy, or are asked to go on and on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run as call
from tradingbot.domain.errors import ConfigError, DataError, TrainingError, UserError
from tradingbot.runs import RunDirectory
from tradingbot.training import session as sessions
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.result_file import read_result
from tradingbot.training.session import SessionResult, begin_run, resume_session

REFUSED: dict[str, dict[str, object]] = {
    "costs": {"task__costs": "gratis"},
    "reward": {"task__reward": "fame"},
    "encoder": {"encoder__preset": "giant"},
    "private number": {"task__private": ["mood"]},
    "cloning without the position": {"cloning__enabled": True, "task__private": ["cash"]},
    "episode": {"task__rules__episode__episode_bars": 100_000},
    "too few bars to decide on": {"splits__validation": 0.02, "splits__test": 0.38},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    config = tiny_config(tracking__mlflow="https://me:pa55@host:1/x", tracking__tensorboard="off")
    return begin_run(config, tmp_path_factory.mktemp("done"), name="run")


def test_resumed_run_tracks_where_it_did_and_its_record_holds_no_password(
    done: SessionResult,
) -> None:
    """F2, F5: one with tracking off is not tracked because it is resumed."""

    def stop(config: TrainConfig) -> TrainConfig:
        changed = override_config(config, {"budget.n_envs": 4})
        assert config.tracking == changed.tracking
        raise InterruptedError(config.tracking.model_dump_json())

    with pytest.raises(InterruptedError) as seen:
        resume_session("run", done.run.path.parent.parent, change=stop)

    assert json.loads(str(seen.value)) == {"mlflow": "https://host:1/x", "tensorboard": "off"}
    written = [path.read_bytes() for path in done.run.path.rglob("*") if path.is_file()]
    assert not [content for content in written if b"pa55" in content]


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
def test_run_that_is_refused_leaves_nothing(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(UserError):
        begin_run(tiny_config(**options), tmp_path, name="refused")

    assert [*tmp_path.rglob("*")] == []


def test_run_that_the_device_cannot_hold_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("tradingbot.training.environment_task.PopulationTask", too_large)

    with pytest.raises(UserError, match="must fit into the device's memory"):
        begin_run(tiny_config(), tmp_path)

    assert [*tmp_path.rglob("*")] == []


@pytest.mark.parametrize(
    ("error", "raised", "state"),
    [
        (DataError("bars must be there", was="none"), DataError, "failed"),
        (ConfigError("a key must be known", was="x"), ConfigError, "failed"),
        (torch.OutOfMemoryError("CUDA"), UserError, "failed"),
        (TrainingError("training must stay healthy", was="ill"), TrainingError, "halted"),
        (KeyboardInterrupt(), KeyboardInterrupt, "running"),
    ],
    ids=["data", "config", "memory", "guard", "second Ctrl-C"],
)
def test_run_that_fails_says_so_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: type, state: str
) -> None:
    def fail(*_: object) -> dict[str, Tensor]:
        raise error

    monkeypatch.setattr(sessions, "scores_on", fail)

    with pytest.raises(raised):
        begin_run(tiny_config(), tmp_path, name="run")

    status = RunDirectory.open(tmp_path / "runs" / "run").status()
    assert status.state == state
    assert (status.reason is not None) is (state != "running")
    assert status.reason is None or " must " in status.reason


def test_training_that_has_ended_is_not_trained_on(done: SessionResult) -> None:
    run = done.run
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    longer = {"budget.steps_per_agent": 384, "learner.direct.learning_rate.over": "budget"}

    with pytest.raises(ConfigError, match=r"must keep its budget.*96 → 384.*Train a new run"):
        resume_session(
            "run",
            run.path.parents[1],
            change=lambda config: override_config(config, longer),
            force=True,
        )

    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("shrinks", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_agents_stay_out_where_no_evaluation_was_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shrinks: bool
) -> None:
    def ill(*_: object) -> dict[str, Tensor]:
        return {"alpha_sharpe": torch.full((2,), float("nan"), dtype=torch.float64)}

    monkeypatch.setattr(sessions, "scores_on", ill)

    session = begin_run(tiny_config(validation__shrink=shrinks), tmp_path, name="run")

    assert session.result is not None
    assert session.result.trading_agents == ()
    assert "no evaluation on validation was healthy" in session.result.decision
    for part in session.result.parts:
        assert [agent.trades_per_1000 for agent in part.agents] == [0.0, 0.0]
    assert json.loads((session.run.path / "result.json").read_text())["best_mean_sharpe"] == "-inf"
    assert read_result(session.run.path).best_mean_sharpe == -math.inf


def test_run_knows_and_shows_what_its_agents_weigh(
    done: SessionResult, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = done.run.record.parameters
    asked = ["--workspace", str(done.run.path.parents[1]), "runs", "show", "run"]

    assert call(asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert call([*asked, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["parameters"]

    assert (counts["n_agents"], counts["encoder"]) == (2, 0)
    assert figures["per_agent"] == counts["shared_heads"] + counts["own_heads"] // 2 > 100
    assert figures["total"] < figures["separate"] == 2 * figures["per_agent"]
    assert figures["over_budget"] == []
    assert f"{figures['per_agent']:,} parameters per agent" in said
    assert figures["saved_frac"] == 1.0 - figures["total"] / figures["separate"]


def test_decision_names_the_bars_that_decided(done: SessionResult) -> None:
    assert done.result is not None
    assert "on the second half of validation" in done.result.decision
