"""A campaign that is killed in any phase goes on and ends with the same weights and verdict."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from fixtures import small_prototype
from fixtures.tiny_campaign import TINY_MASTER, campaign_arguments, tiny_campaign
from fixtures.warm_process import COMMAND_LINE, WarmProcess, run_warm
from tradingbot.campaign import phases
from tradingbot.campaign.session import walk_campaign
from tradingbot.runs.ledger import Ledger
from tradingbot.training.result_file import read_result

_PATIENCE_S = 300.0


def phase_of(folder: Path) -> tuple[str, str]:
    """Return the phase that runs now and what it does, as another process reads it."""
    try:
        status = json.loads((folder / "status.json").read_text())
    except (OSError, ValueError):
        return "", ""
    running = [each["name"] for each in status["phases"] if each["state"] == "running"]
    return (running or [""])[0], status["doing"]


def kill_in(
    workspace: Path, phase: str, file: str = "", *more: str, function: str = COMMAND_LINE
) -> None:
    """Begin or go on, and kill in a phase; not before a file of the workspace is there."""
    command = campaign_arguments(workspace, "tiny", "--go-on", *more)
    threads = {"OMP_NUM_THREADS": "1"}
    with WarmProcess(command, environment=threads, function=function) as process:
        until = time.monotonic() + _PATIENCE_S
        folder = workspace / "campaigns" / "tiny"
        while phase_of(folder)[0] != phase or (file and not list(workspace.glob(file))):
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate(1.0)
            time.sleep(0.005)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_campaign_killed_in_data_and_full_ends_as_one_that_was_not(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"

    kill_in(killed, "data")
    kill_in(killed, "full", "runs/tiny-full/checkpoints/*")
    kill_in(killed, "full", "runs/tiny-full/evaluation/analyses/*.json")
    code, out, said = run_warm(campaign_arguments(killed, "tiny", "--go-on", "--json"))
    once = walk_campaign(tiny_campaign(), whole, go_on=True)

    assert code == 1, said  # gates fail: there is nothing to find in a dozen updates
    status = json.loads(out)["status"]
    states = [(each["name"], each["state"]) for each in status["phases"]]
    assert states == [(each.name, each.state) for each in once.status.phases]
    mine, theirs = (read_result(place / "runs" / "tiny-full") for place in (killed, whole))
    assert mine.weights_sha256 == theirs.weights_sha256
    assert mine.parts == theirs.parts
    kinds = [each.kind for each in Ledger(killed).entries()]
    assert kinds.count("training") == 1
    assert kinds.count("evaluation") == 1


@pytest.mark.slow
def test_campaign_killed_in_prototype_tuning_and_master_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, whole, preset = tmp_path / "killed", tmp_path / "whole", tmp_path / "master.yaml"
    preset.write_text(TINY_MASTER)
    more, function = ("--tune", "2", "--master", str(preset)), small_prototype.FUNCTION
    monkeypatch.setattr(phases, "PROTOTYPE_AGENTS", small_prototype.ONE)

    for phase, file in (
        ("prototype", "runs/tiny-prototype/checkpoints/*"),
        ("tuning", "tuning/tiny-tuning/ledger.json"),
        ("tuning", "runs/tiny-tuning-trial-*/checkpoints/*"),
        ("tuning", "runs/tiny-tuning-preset/checkpoints/*"),
        ("master", "runs/tiny-master/checkpoints/*"),
    ):
        kill_in(killed, phase, file, *more, function=function)
    again = campaign_arguments(killed, "tiny", "--go-on", "--json", *more)
    code, out, said = run_warm(again, function=function)
    once = walk_campaign(tiny_campaign(tune_trials=2, master=str(preset)), whole, go_on=True)

    assert code == 1, said
    told = {each["name"]: each for each in json.loads(out)["status"]["phases"]}
    assert {name: each["state"] for name, each in told.items()} == {
        each.name: each.state for each in once.status.phases
    }
    assert told["prototype"]["state"] != "left out"
    for phase in ("prototype", "tuning-preset", "full", "master"):
        mine, theirs = (read_result(at / "runs" / f"tiny-{phase}") for at in (killed, whole))
        assert mine.weights_sha256 == theirs.weights_sha256, phase
    kinds = [[each.kind for each in Ledger(place).entries()] for place in (killed, whole)]
    for kind in ("training", "tuning", "evaluation"):
        assert kinds[0].count(kind) == kinds[1].count(kind), kind
    assert kinds[0].count("tuning") == 2
