"""MLflow and TensorBoard as listeners, on a thread of their own.

Training never waits for them: what they cannot take is dropped and counted. Both are optional.
Neither calls any host but the server that a configuration names.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from tradingbot.domain.errors import MissingExtraError
from tradingbot.domain.events.event import Event, EventCallback
from tradingbot.domain.events.training import Evaluated, Updated
from tradingbot.domain.redaction import redact, split_credentials
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig

_EXTRA = "tracking"
_WAITING_EVENTS = 1_000
_PATIENCE_S = 10.0
_REQUEST_SECONDS, _REQUEST_TRIES = "5", "1"
_MAX_PARAM_LENGTH = 500
_ARTIFACTS = (".json", ".jsonl")
_CREDENTIALS = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")


class Tracker(Protocol):
    """Writes figures somewhere; may be slow and may fail."""

    def open(self) -> None:
        """Connect; called on the tracker's thread."""

    def write(self, event: Updated | Evaluated) -> None:
        """Write the figures of an event."""

    def close(self) -> None:
        """Say that the run is over."""


class ThreadedCallback:
    """Passes events to a tracker through a queue; drops what does not fit or fails."""

    def __init__(self, tracker: Tracker, name: str, note: Callable[[str], None]) -> None:
        """Start the tracker's thread."""
        self._tracker, self._name, self._note = tracker, name, note
        self._events: queue.Queue[Updated | Evaluated | None] = queue.Queue(_WAITING_EVENTS)
        self.dropped = 0
        self._problem = ""
        self._thread = threading.Thread(target=self._work, daemon=True, name=name)
        self._thread.start()

    def take(self, event: Event) -> None:
        """Queue an event with figures."""
        if not isinstance(event, Updated | Evaluated):
            return
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Wait a little for what is queued, and tell what was dropped."""
        deadline = time.monotonic() + _PATIENCE_S
        try:
            self._events.put(None, timeout=_PATIENCE_S)
            self._thread.join(max(deadline - time.monotonic(), 0.0))
        except queue.Full:
            pass
        lost = self.dropped + max(self._events.qsize() - 1, 0) * self._thread.is_alive()
        if lost or self._problem:
            reason = f": {self._problem}" if self._problem else ""
            self._note(f"{self._name} missed {lost} records{reason}; the run directory has all")

    def _work(self) -> None:
        is_open = False
        while (event := self._events.get()) is not None:
            try:
                if not is_open:
                    self._tracker.open()
                    is_open = True
                self._tracker.write(event)
            except Exception as e:  # whatever a tracker raises, training goes on
                self.dropped += 1
                self._problem = _describe(e)
        if is_open:
            try:
                self._tracker.close()
            except Exception as e:
                self._problem = _describe(e)


class MlflowTracker:
    """Means over the agents as metrics of an MLflow run, with the configuration as parameters."""

    def __init__(self, uri: str, run: RunDirectory) -> None:
        """Keep where to write to; a password is kept apart, so that no message can quote it."""
        (self._uri, *self._credentials), self._run = split_credentials(uri), run
        self._client: Any = None
        self._id = ""

    def open(self) -> None:
        """Make or continue the MLflow run of the same name."""
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", _REQUEST_SECONDS)
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", _REQUEST_TRIES)
        # Its makers are told of every use, with an id that it keeps, unless this is said before
        # it is imported.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        for variable, value in zip(_CREDENTIALS, self._credentials, strict=True):
            if value:
                os.environ[variable] = unquote(value)
        if self._uri.startswith("file:"):
            # MLflow advises a database; files need no server and no migration.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self._uri)
        name = "tradingbot"
        known = client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else client.create_experiment(name)
        same = f"attributes.run_name = '{self._run.id}'"
        self._client, begun = client, client.search_runs([experiment], same, max_results=1)
        if begun:
            self._id = begun[0].info.run_id
            client.update_run(self._id, status="RUNNING")
            return
        self._id = client.create_run(experiment, run_name=self._run.id).info.run_id
        flat = _flatten(self._run.record.config)
        params = [Param(key, str(value)[:_MAX_PARAM_LENGTH]) for key, value in flat.items()]
        for first in range(0, len(params), 100):
            client.log_batch(self._id, params=params[first : first + 100])

    def write(self, event: Updated | Evaluated) -> None:
        """Log means."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, event.steps) for name, value in _means(event).items()]
        self._client.log_batch(self._id, metrics=metrics)

    def close(self) -> None:
        """End the MLflow run."""
        self._client.set_terminated(self._id)

    def keep_files(self) -> None:
        """Hand over what the run directory says of the run, as artifacts of the MLflow run."""
        self.open()
        for file in sorted(self._run.path.iterdir()):
            if file.suffix in _ARTIFACTS:
                self._client.log_artifact(self._id, str(file))
        self.close()


class TensorboardTracker:
    """Scalars of the means over the agents, and the histogram of deterministic actions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def open(self) -> None:
        """Make an event file."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self._folder))

    def write(self, event: Updated | Evaluated) -> None:
        """Add scalars, and actions after an evaluation."""
        for name, value in _means(event).items():
            self._writer.add_scalar(name, value, event.steps)
        if isinstance(event, Evaluated) and "histogram" in event.scores:
            self._add_actions(event)

    def close(self) -> None:
        """Write everything out."""
        self._writer.close()

    def _add_actions(self, event: Evaluated) -> None:
        import torch

        share = torch.tensor(event.scores["histogram"], dtype=torch.float64).mean(0)
        counts = (share * 1_000.0).round()
        edges = list(range(len(share) + 1))
        places = [index + 0.5 for index in range(len(share))]
        self._writer.add_histogram_raw(
            "eval/action",
            min=0.0,
            max=float(len(share)),
            num=float(counts.sum()),
            sum=float(sum(c * p for c, p in zip(counts.tolist(), places, strict=True))),
            sum_squares=float(sum(c * p * p for c, p in zip(counts.tolist(), places, strict=True))),
            bucket_limits=edges[1:],
            bucket_counts=counts.tolist(),
            global_step=event.steps,
        )


def require_trackers(config: TrainConfig) -> None:
    """Refuse a tracker that is asked for and not installed, before a run is made.

    Raises:
        MissingExtraError: If one is asked for by name and its package is not installed.
    """
    _wanted(config.tracking.mlflow, "mlflow")
    _wanted(config.tracking.tensorboard, "tensorboard")


def tracking_callbacks(
    run: RunDirectory, config: TrainConfig, *, note: Callable[[str], None]
) -> Sequence[EventCallback]:
    """Return the listeners that a configuration asks for.

    Raises:
        MissingExtraError: If one is asked for by name and its package is not installed.
    """
    section = config.tracking
    event_callbacks: list[EventCallback] = []
    if _wanted(section.mlflow, "mlflow"):
        event_callbacks.append(ThreadedCallback(_mlflow_of(run, section.mlflow), "MLflow", note))
    if _wanted(section.tensorboard, "tensorboard"):
        event_callbacks.append(
            ThreadedCallback(TensorboardTracker(run.path / "tensorboard"), "TensorBoard", note)
        )
    return event_callbacks


def log_artifacts(run: RunDirectory, config: TrainConfig, *, note: Callable[[str], None]) -> None:
    """Hand the files of a finished run to MLflow, where a configuration asks for it."""
    if not _wanted(config.tracking.mlflow, "mlflow"):
        return
    problems = ["no answer"]

    def keep() -> None:
        try:
            _mlflow_of(run, config.tracking.mlflow).keep_files()
            problems.clear()
        except Exception as e:  # whatever a tracker raises, the run is finished
            problems[:] = [_describe(e)]

    thread = threading.Thread(target=keep, daemon=True, name="MLflow files")
    thread.start()
    thread.join(_PATIENCE_S)
    for problem in problems:
        note(f"MLflow has not all files of the run: {problem}; the run directory has them")


def _mlflow_of(run: RunDirectory, choice: str) -> MlflowTracker:
    local = (run.path.parent.parent / "mlflow").absolute().as_uri()
    return MlflowTracker(local if choice in ("auto", "on") else choice, run)


def _wanted(choice: str, package: str) -> bool:
    if choice == "off":
        return False
    is_there = find_spec(package) is not None
    if not is_there and choice != "auto":
        raise MissingExtraError(_EXTRA, package=package)
    return is_there


def _describe(error: Exception) -> str:
    return redact(" ".join(f"{type(error).__name__}: {error}".split()))[:160]


def _means(event: Updated | Evaluated) -> dict[str, float]:
    if isinstance(event, Updated):
        return {name: _mean(figure) for name, figure in event.metrics.items()}
    return {
        f"eval/{name}": _mean(figure)
        for name, figure in event.scores.items()
        if name != "histogram"
    }


def _mean(figure: Any) -> float:
    import torch

    return float(torch.tensor(figure, dtype=torch.float64).mean())


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
