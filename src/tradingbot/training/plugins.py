"""Plugins of a run: which of its parts came from outside the package, and whether they still do."""

from __future__ import annotations

from collections.abc import Iterator

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import Kind, extensions, origins_of
from tradingbot.plugins.loading import loaded_plugins
from tradingbot.training.config import TrainConfig


def with_plugins(config: TrainConfig) -> TrainConfig:
    """Return a configuration that names the plugins whose parts it uses, with their hashes."""
    used = origins_of(_parts_of(config))
    return config.model_copy(
        update={"plugins": {name: origin.sha256 for name, origin in sorted(used.items())}}
    )


def require_plugins(config: TrainConfig) -> None:
    """Refuse to use a run without the plugins it was trained with, or with other versions of them.

    Raises:
        ConfigError: Naming the plugin, and both hashes where it changed.
    """
    loaded = loaded_plugins()
    for name, digest in config.plugins.items():
        found = loaded.get(name)
        if found is None or found.sha256 != digest:
            raise ConfigError(
                f"the run must be used with the plugin it was trained with, {name}@{digest[:12]}",
                was="not loaded" if found is None else found.id,
                where=found.place if found else "--plugin",
                remedy=f"Add --plugin {name}.py"
                if found is None
                else "Bring the file back as it was, or train a new run",
            )


def _parts_of(config: TrainConfig) -> Iterator[tuple[Kind, str]]:
    """Name everything that a run may take from a plugin; what is the package's own does no harm."""
    yield "reward_term", config.task.reward
    for name in config.task.reward_weights:
        yield "reward_term", name
    yield "learner", config.learner.name
    yield "encoder", config.encoder.preset
    for name in extensions("feature"):  # every declared feature is a column of every panel
        yield "feature", name
