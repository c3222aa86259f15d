"""A run of a fixed name: begun, resumed or found finished, and never one of other settings.

Studies and campaigns find what they made by name. A name alone says nothing of what was trained:
settings and data are compared before a run is taken for the one that is asked for.
"""

from __future__ import annotations

from pathlib import Path

from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.runs import RunDirectory, config_differences
from tradingbot.runs.compatibility import data_differences
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import open_data
from tradingbot.training.plugins import with_plugins
from tradingbot.training.result_file import TrainResult, read_result
from tradingbot.training.session import (
    RUNS_FOLDER,
    SessionCallbacks,
    begin_run,
    resume_session,
)


def train_named(
    name: str, config: TrainConfig, workspace: Path, callbacks: SessionCallbacks | None = None
) -> tuple[RunDirectory, TrainResult]:
    """Train a run to its end, from wherever it is.

    Raises:
        ConfigError: If a run of this name has other settings or learned from other data.
        InterruptionError: If it was interrupted; what it did is in its checkpoints.
        UserError: If anything else is not as it must be.
    """
    folder = workspace / RUNS_FOLDER / name
    if not folder.exists():
        session = begin_run(config, workspace, callbacks, name=name)
    else:
        run = RunDirectory.open(folder)
        _require_asked_for(run, config, workspace)
        if run.status().state == "finished":
            return run, read_result(run.path)
        session = resume_session(name, workspace, callbacks)
    if session.result is None:
        raise InterruptionError(name)
    return session.run, session.result


def _require_asked_for(run: RunDirectory, config: TrainConfig, workspace: Path) -> None:
    asked, record = with_plugins(config), run.record
    own = config_of_mapping(record.config, record.tracking)  # as this version writes it
    found = [f"config {text}" for text in config_differences(own.as_mapping(), asked.as_mapping())]
    found = found or list(data_differences(record.data, open_data(asked, workspace).identity))
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise ConfigError(
            "a run that is found by its name must have the settings and data it is asked for",
            was=f"{found[0]}{more}",
            where=str(run.path),
            remedy="Choose another name, give the settings and data of before, or move that "
            "folder away",
        )
