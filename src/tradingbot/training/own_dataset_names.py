"""The bars that a run learned from, by their hash: a dataset's name may mean others by now."""

from __future__ import annotations

from pathlib import Path

from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig

_DIGITS = 16


def with_own_dataset(config: TrainConfig, sha256: str | None, workspace: Path) -> TrainConfig:
    """Return a configuration that names its dataset by content, where its name means another.

    Everything that opens its bars again, in another process too, then opens the same ones.

    Args:
        config: Of a run or a model.
        sha256: Content of the dataset that it learned from; None: not recorded.
        workspace: Where datasets are.

    Returns:
        The configuration itself where its name means that content, or the content is not stored.
    """
    if config.dataset is None or sha256 is None or _means(config.dataset, workspace, sha256):
        return config
    stored = BarStore(workspace).open_content(sha256)
    return config if stored is None else config.model_copy(update={"dataset": stored.id})


def require_own_dataset(config: TrainConfig, run: RunDirectory, workspace: Path) -> TrainConfig:
    """Do the same for a run; refuse bars that are not stored any more.

    Raises:
        ConfigError: With the command that brings them back.
    """
    sha256 = run.record.data.dataset_sha256
    own = with_own_dataset(config, sha256, workspace)
    name = own.dataset
    if name is None or sha256 is None or _means(name, workspace, sha256):
        return own
    raise ConfigError(
        "a run must be opened on the data that it learned from",
        was=f"{name}, which means other bars now, or none",
        where=f"{run.id} learned from dataset {sha256[:_DIGITS]}",
        remedy=f"Store those bars again, from the same file or market with the same options: "
        f"tradingbot data import FILE --name {name} (or data generate, data download); "
        "or train on the new ones",
    )


def _means(name: str, workspace: Path, sha256: str) -> bool:
    try:
        return BarStore(workspace).find(name).name == sha256[:_DIGITS]
    except DataError:  # the name is gone, or what it pointed to
        return False
