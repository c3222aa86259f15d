"""Dashboard, lines, trackers and signals: what people and machines are told."""

from __future__ import annotations

import io
import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from rich.console import Console

from fixtures.small_runs import make_run
from fixtures.tiny_training import tiny_config
from tradingbot.app.event_lines import describe_event
from tradingbot.app.live_dashboard import Dashboard, heat_colours
from tradingbot.app.signals import stop_on_signals
from tradingbot.domain.events.event import event_values
from tradingbot.domain.events.training import AgentsStopped, Began, Evaluated, Updated, Warned
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session
from tradingbot.training.tracking import (
    MlflowTracker,
    ThreadedCallback,
    log_artifacts,
    tracking_callbacks,
)

UPDATED = Updated(3, 3, 600, {"policy/entropy": [0.5, 0.7]}, 0.1)
EVALUATED = Evaluated(3, 600, {"sharpe": [1.0, -1.0]}, 0.0, True)


def test_dashboard_shows_progress_scores_agents_and_warnings() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    board = Dashboard(console, title="run one")
    for event in (
        Began(("SPY", "QQQ"), 0, 1_000),
        UPDATED,
        EVALUATED,
        AgentsStopped(3, ("QQQ",)),
        Warned(3, "critical ALL_HOLD: agent QQQ does nothing.", ("QQQ",)),
    ):
        board.take(event)
    page = io.StringIO()
    Console(file=page, width=120).print(board.draw())
    board.close()

    shown = page.getvalue()
    for words in ("run one", "600 of 1,000", "best 0.000", "1 agents stopped", "ALL_HOLD"):
        assert words in shown
    assert "■" in shown  # SPY learns on
    assert "□" in shown  # QQQ has stopped


def test_heat_colours_rank_agents_and_leave_the_unknown_grey() -> None:
    worst, best, unknown = heat_colours(torch.tensor([-1.0, 2.0, float("nan")]), 3)

    assert worst != best
    assert unknown == "grey50"
    assert heat_colours(None, 2) == ["grey50", "grey50"]


def test_event_without_time_is_the_same_however_long_it_took() -> None:
    slow = Updated(3, 3, 600, UPDATED.metrics, 9.9)

    assert event_values(slow, with_time=False) == event_values(UPDATED, with_time=False)
    assert describe_event(EVALUATED) == (
        "update 3: score 0.000 on the first half of validation, the best so far"
    )


class Broken:
    def open(self) -> None:
        raise ConnectionError("server is down")

    def write(self, event: object) -> None:
        raise AssertionError("never reached")

    def close(self) -> None:
        raise AssertionError("never reached")


def test_tracker_that_is_down_drops_counts_and_tells() -> None:
    said: list[str] = []
    sink = ThreadedCallback(Broken(), "MLflow", said.append)
    for _ in range(5):
        sink.take(UPDATED)
    sink.close()

    assert sink.dropped == 5
    assert said == [
        "MLflow missed 5 records: ConnectionError: server is down; the run directory has all"
    ]


class Quoting(Broken):
    def open(self) -> None:
        raise ConnectionError("GET https://me:pa55@host/api failed")


def test_tracker_that_is_down_does_not_tell_its_password() -> None:
    said: list[str] = []
    sink = ThreadedCallback(Quoting(), "MLflow", said.append)
    sink.take(UPDATED)
    sink.close()

    assert "GET https://***@host/api failed" in said[0]


def test_password_of_a_server_is_used_apart_from_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    for variable in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.setenv(variable, "")
    asked: list[str] = []

    def client(*, tracking_uri: str) -> None:
        asked.append(tracking_uri)
        raise ConnectionError

    monkeypatch.setattr(mlflow.tracking, "MlflowClient", client)
    tracker = MlflowTracker("https://me:pa%3A55@host:1/x", make_run(tmp_path, "one"))
    with pytest.raises(ConnectionError):
        tracker.open()

    assert asked == ["https://host:1/x"]
    assert os.environ["MLFLOW_TRACKING_USERNAME"] == "me"
    assert os.environ["MLFLOW_TRACKING_PASSWORD"] == "pa:55"


def test_tracker_that_hangs_does_not_hold_the_training_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tradingbot.training.tracking._WAITING_EVENTS", 2)
    monkeypatch.setattr("tradingbot.training.tracking._PATIENCE_S", 0.05)
    let_go, said = threading.Event(), []

    class Hanging(Broken):
        def open(self) -> None:
            let_go.wait(30)

    sink = ThreadedCallback(Hanging(), "MLflow", said.append)
    for _ in range(10):
        sink.take(UPDATED)
    sink.close()
    let_go.set()

    assert sink.dropped >= 7
    assert "MLflow missed" in said[0]


def test_run_is_the_same_with_trackers_and_they_have_its_figures(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("tensorboard")
    said: list[str] = []
    halfway = iter([False] * 6 + [True] + [False] * 100)
    callbacks = SessionCallbacks(
        event_callbacks=lambda run, config: tracking_callbacks(run, config, note=said.append),
        interrupted=lambda: next(halfway),
        finished=lambda run, config: log_artifacts(run, config, note=said.append),
    )
    config = tiny_config(tracking__mlflow="auto", tracking__tensorboard="on")

    assert begin_run(config, tmp_path / "tracked", callbacks, name="one").result is None
    tracked = resume_session("one", tmp_path / "tracked", callbacks).result
    alone = begin_run(tiny_config(), tmp_path / "alone").result

    assert tracked is not None
    assert alone is not None
    assert tracked.weights_sha256 == alone.weights_sha256
    assert said == []
    assert list((tmp_path / "tracked").rglob("events.out.tfevents.*"))
    client = mlflow.tracking.MlflowClient((tmp_path / "tracked" / "mlflow").as_uri())
    (run,) = client.search_runs(["0", *_experiments(client)])  # one, although it was resumed
    assert run.info.status == "FINISHED"
    kept = {each.path for each in client.list_artifacts(run.info.run_id)}
    assert {"run.json", "result.json", "metrics.jsonl"} <= kept
    assert run.data.params["learner.name"] == "direct"
    assert "eval/sharpe" in run.data.metrics


def _experiments(client: object) -> list[str]:
    return [each.experiment_id for each in client.search_experiments()]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_becomes_a_request_and_the_old_answer_comes_back(
    number: signal.Signals, code: int
) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop()
        os.kill(os.getpid(), number)

        assert stop()
        assert stop.exit_code == code
        assert signal.getsignal(number) == before  # a second one ends the process
    assert signal.getsignal(number) == before
