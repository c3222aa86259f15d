"""F2: training, evaluation and the demo call no other machine unless they are asked to.

The whole suite runs in the trap of `fixtures.call_trap`, and so does every process that a test
starts (see `tests/conftest.py`): trainings, evaluations with their workers, the demo. A package
that calls home may hold still while a test runs, so the trackers are also tried in a process that
knows of none.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from fixtures import call_trap
from fixtures.small_runs import make_run

TRACK = """
import sys
from pathlib import Path
from tradingbot.domain.events.training import Updated
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training import tracking

tracking._PATIENCE_S = 120.0  # MLflow takes seconds to import, more on a busy machine
run, said = RunDirectory.open(Path(sys.argv[1])), []
config = TrainConfig(tracking={"tensorboard": "off"})  # which has no network in it
for tracker in tracking.tracking_callbacks(run, config, note=said.append):
    tracker.take(Updated(1, 1, 8, {"policy/entropy": [0.5, 0.7]}, 0.1))
    tracker.close()
sys.exit("; ".join(said) or 0)
"""
TESTING = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "CI", "GITHUB_ACTIONS")


def test_mlflow_where_it_is_installed_calls_nobody(tmp_path: Path) -> None:
    if find_spec("mlflow") is None:
        pytest.skip("MLflow is not installed")
    run = make_run(tmp_path / "runs", "one")
    kept = {name: value for name, value in os.environ.items() if name not in TESTING}
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    done = subprocess.run(
        [sys.executable, "-c", TRACK, str(run.path)],
        env={**kept, **home},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert call_trap.called_by_processes() == []
    assert not (tmp_path / "config" / "mlflow").exists()  # an id that tells users apart
    assert list((tmp_path / "mlflow").glob("*/*/metrics/policy/entropy"))  # it was used


def send_to(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.connect((host, 53))


@pytest.mark.parametrize(
    "call",
    [
        lambda: socket.getaddrinfo("telemetry.example.com", 443),
        lambda: socket.gethostbyname("telemetry.example.com"),
        lambda: send_to("192.0.2.1"),
    ],
    ids=["lookup", "old lookup", "address"],
)
def test_trap_hears_and_refuses_calls(call: Callable[[], object]) -> None:
    with pytest.raises(ConnectionRefusedError):
        call()

    assert call_trap.CALLED.pop() in ("telemetry.example.com", "192.0.2.1")
    assert call_trap.called_by_processes()  # this one is noted as well


def test_trap_is_set_in_processes_too() -> None:
    code = "import socket; socket.getaddrinfo('telemetry.example.com', 443)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.returncode == 1
    assert call_trap.called_by_processes() == ["telemetry.example.com"]


def test_trap_lets_this_machine_be_called() -> None:
    for host in ("localhost", "127.0.0.1", "::1", "", None):
        assert call_trap.is_here(host)
    for host in ("example.com", "10.0.0.1", "192.0.2.1", "2001:db8::1", b"example.com"):
        assert not call_trap.is_here(host)
