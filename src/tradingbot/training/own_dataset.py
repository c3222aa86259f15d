"""The data that a run goes on to learn from, opened by their hash."""

from __future__ import annotations

from pathlib import Path

from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.own_dataset_names import with_own_dataset


def open_own_data(config: TrainConfig, run: RunDirectory, workspace: Path) -> TrainingData:
    """Open what a run goes on to learn from; who goes on with it compares what comes."""
    sha256 = run.record.data.dataset_sha256
    return open_data(with_own_dataset(config, sha256, workspace), workspace)
