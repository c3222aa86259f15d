"""Arguments and options that several commands share, and how they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tradingbot.domain.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tradingbot.app.cli.invocation import Invocation
    from tradingbot.app.configuration import PipelineConfig

DatasetArgument = Annotated[str, typer.Argument(help="Name of a dataset, or digits of its hash.")]
ConfigOption = Annotated[
    str | None, typer.Option("--config", help="Preset or YAML file: splits, scaling and proof.")
]


def read_settings(reference: str | None) -> PipelineConfig:
    """Return the configuration a preset or file describes; the defaults without one."""
    from tradingbot.app.config_files import load_config
    from tradingbot.app.configuration import PipelineConfig

    return load_config(reference).config if reference else PipelineConfig()


def choose_workspace(invocation: Invocation, settings: PipelineConfig) -> Path:
    """Return the workspace: the option or variable before the file's, else the default."""
    configured = settings.workspace_path()
    if configured is None or invocation.workspace_is_given:
        return invocation.workspace
    return configured


def require_picture(path: Path, option: str) -> None:
    """Refuse a picture's path that is not a PNG file in a folder that exists.

    Raises:
        ConfigError: Naming the option.
    """
    if path.suffix.lower() != ".png" or not path.absolute().parent.is_dir():
        raise ConfigError(
            f"{option} must name a .png file in a folder that exists", was=repr(str(path))
        )
