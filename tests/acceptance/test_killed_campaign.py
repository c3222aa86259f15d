"""A campaign that is killed in any phase goes on and ends with the same weights and verdict."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from fixtures.tiny_campaign import campaign_arguments, tiny_campaign
from fixtures.warm_process import WarmProcess, run_warm
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


def kill_in(workspace: Path, phase: str, file: str = "") -> None:
    """Begin or go on, and kill in a phase; not before a file of the workspace is there."""
    command = campaign_arguments(workspace, "tiny", "--go-on")
    with WarmProcess(command, environment={"OMP_NUM_THREADS": "1"}) as process:
        until = time.monotonic() + _PATIENCE_S
        folder = workspace / "campaigns" / "tiny"
        while phase_of(folder)[0] != phase or (file and not list(workspace.glob(file))):
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate(1.0)
            time.sleep(0.005)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_campaign_killed_in_three_phases_ends_as_one_that_was_not(tmp_path: Path) -> None:
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
