"""`tradingbot train`: bad input is one line and exit code 2; good input leaves a run directory."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_arguments, tiny_config
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import InterruptionError
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.session import begin_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished run."""
    workspace = tmp_path_factory.mktemp("trained")
    begin_run(tiny_config(), workspace, name="first")
    return workspace


def complain(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command line with a mistake; return the one line it says."""
    assert run(arguments) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("•")]
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "prototype11"], "Did you mean 'prototype10'?"),
        (["--preset", "absent.yaml"], "absent.yaml"),
        (["--set", "budgt.n_envs=4"], "was 'budgt' (--set budgt.n_envs). Did you mean 'budget'?"),
        (["--set", "learner.ppo.rolout_steps=4"], "Did you mean 'rollout_steps'?"),
        (["--set", "budget.n_envs=0"], "budget.n_envs must be at least 1"),
        (["--set", "budget.n_envs"], "--set must be NAME=VALUE"),
        (["--learner", "dqn"], "learner.name must be"),
        (["--device", "gpu"], "device must be"),
        (["--market", "planted", "--dataset", "us143"], "either --dataset or --market"),
        (["--market", "plantd"], "Did you mean 'planted'?"),
        (["--preset", "quick", "--symbols", "SPY,APPL"], "Did you mean 'AAPL'?"),
        (["--dataset", "nothing"], "nothing"),
        (["--resume", "nothing"], "There is none yet"),
        (["--resume", "x", "--preset", "quick"], "--resume must stand without --preset"),
        (["--preset", "quick", "--set", "task.rules.action.space=discrete"], "must be ppo"),
        (["--preset", ""], "configuration must be a preset or a file"),
        (["--preset", "quick", "--symbols", ""], "--symbols must be symbols"),
        (["--preset", "quick", "--symbols", "SPY,,AAPL"], "--symbols must be symbols"),
        (["--preset", "quick", "--force"], "--force must stand with --resume"),
        (["--preset", "quick", "--learner", "impala"], "8 actors for 4 environments"),
        (
            ["--preset", "quick", "--learner", "ppo", "--set", "learner.ppo.rollout_steps=320"],
            "enough for 2 updates, was 1280",
        ),
        (
            ["--preset", "quick", "--set", "learner.direct.learning_rate.over=640"],
            "0 from step 640 of 1280 (--set learner.direct.learning_rate.over; conflicts with "
            "budget.steps_per_agent of preset quick). Set learner.direct.learning_rate.over=b",
        ),
        (
            ["--preset", "portfolio", "--learner", "sac"],
            "was sac (--learner; conflicts with environment.kind of preset portfolio)",
        ),
        (
            ["--preset", "portfolio", "--set", "encoder.preset=tiny"],
            "was tiny (--set encoder.preset; conflicts with environment.kind of preset portfolio)",
        ),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    said = complain(capsys, "--workspace", str(tmp_path), "train", *arguments)

    assert words in said
    assert not list((tmp_path / "runs").glob("*/run.json"))


def test_signal_before_a_run_began_is_told_and_exits_with_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate_for_long(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise InterruptionError("interrupted")

    monkeypatch.setattr("tradingbot.training.session.begin_run", generate_for_long)
    assert run(["--workspace", str(tmp_path), "train", "--preset", "curriculum"]) == 143
    assert "Interrupted before the run began: nothing was stored" in capsys.readouterr().err


def test_gpu_that_is_absent_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)

    said = complain(capsys, *tiny_arguments(tmp_path, "--device", "cuda"))

    assert "device must be there, was cuda" in said
    assert "--device cpu" in said


def test_tracker_that_is_absent_is_one_line_and_leaves_no_run(
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tradingbot.training.tracking.find_spec", lambda _: None)
    asked = ["--set", "tracking.mlflow=http://127.0.0.1:9"]

    said = complain(capsys, *tiny_arguments(tmp_path, *asked))
    resumed = complain(capsys, "--workspace", str(trained), "train", "--resume", "first", *asked)

    assert "mlflow" in said
    assert resumed == said
    assert not (tmp_path / "runs").exists()


def test_taken_name_and_run_in_use_are_refused(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "run name must be new" in complain(capsys, *tiny_arguments(trained, "--name", "first"))

    with RunDirectory.open(trained / "runs" / "first").hold():
        said = complain(capsys, "--workspace", str(trained), "train", "--resume", "first")
    assert "run must not be in use" in said


def test_resume_with_another_configuration_names_the_key_and_yields_to_force(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resume = ["--workspace", str(trained), "train", "--resume", "first"]
    change = ["--set", "validation.every_updates=2"]

    assert "validation.every_updates: 4 → 2" in complain(capsys, *resume, *change)
    assert run([*resume, *change, "--force"]) == 0
    (resumption,) = RunDirectory.open(trained / "runs" / "first").status().resumptions
    assert resumption.forced == ("config validation.every_updates: 4 → 2",)


def test_events_and_result_are_lines_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*tiny_arguments(tmp_path, "--name", "said", "--json")]) == 0

    captured = capsys.readouterr()
    events = [json.loads(line) for line in captured.out.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "Began"
    assert kinds[-2:] == ["Ended", "Result"]
    assert kinds.count("Updated") == 12
    result = events[-1]["result"]
    assert result == json.loads((tmp_path / "runs" / "said" / "result.json").read_text())
    assert {part["part"] for part in result["parts"]} == {"validation", "test"}
    assert result["synthetic"] is True
    periods = RunDirectory.open(tmp_path / "runs" / "said").record.periods
    assert list(periods) == ["train", "validation", "test"]
    for part, period in periods.items():  # told before training, and kept
        assert f"• {part}: {period}\n" in captured.err
    assert result["parts"][1]["last_day"] == periods["test"].last_day
    assert run(["--workspace", str(tmp_path), "runs", "show", "said"]) == 0
    shown = capsys.readouterr().out
    assert all(str(period) in shown for period in periods.values())
    assert "not evaluated yet" in shown


@pytest.mark.parametrize("is_synthetic", [True, False])
def test_result_on_observed_bars_says_survivorship_bias(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_synthetic: bool,
) -> None:
    def observe(config: TrainConfig, workspace: Path) -> TrainingData:
        data = open_data(config, workspace)
        identity = data.identity.model_copy(update={"synthetic": is_synthetic})
        return replace(data, identity=identity)

    monkeypatch.setattr("tradingbot.training.session.open_data", observe)
    assert run(tiny_arguments(tmp_path, "--name", "seen")) == 0

    said = capsys.readouterr().out
    result = json.loads((tmp_path / "runs" / "seen" / "result.json").read_text())
    assert ("survivorship bias" in said) is not is_synthetic
    assert ("survivorship bias" in result["caveat"]) is not is_synthetic


def test_seed_that_is_left_out_is_drawn_and_recorded(tmp_path: Path) -> None:
    first = begin_run(tiny_config(seed=None), tmp_path, name="drawn").run

    assert first.record.seed_was_drawn
    assert first.record.seeds["root"] >= 0


def test_dataset_without_certificate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--workspace", str(tmp_path)]
    days = ["--start", "2025-07-01", "--end", "2025-09-05", "--universe", "prototype10"]
    generate = ["data", "generate", "--name", "bare", "--market", "noise", *days]
    assert run([*place, *generate]) == 0
    assert run([*place, "features", "build", "bare"]) == 0
    capsys.readouterr()

    said = complain(capsys, *place, "train", "--preset", "quick", "--dataset", "bare")

    assert "certificate" in said
    assert "prove-causal" in said
