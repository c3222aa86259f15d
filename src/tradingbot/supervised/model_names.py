"""Names of stored models, told without torch: where they lie, which there are, which are free."""

from __future__ import annotations

import re
from pathlib import Path

from tradingbot.domain.errors import ConfigError, suggest

MANIFEST_FILE = "manifest.json"
NO_MODEL = "none"
"""Instead of a model's name: observations show thirds."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def models_folder(workspace: Path) -> Path:
    """Where a workspace keeps its models."""
    return workspace / "models"


def model_names(folder: Path) -> tuple[str, ...]:
    """Names of the stored models, whole or damaged, in order."""
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST_FILE}")))


def require_model(folder: Path, name: str) -> Path:
    """Return the manifest of a stored model.

    Raises:
        ConfigError: If there is no model of that name; names the closest.
    """
    path = folder / name / MANIFEST_FILE
    if not _NAME.fullmatch(name) or not path.is_file():
        raise ConfigError(
            "model must be one of the workspace",
            was=repr(name),
            where=str(folder),
            remedy=suggest(name, model_names(folder))
            if model_names(folder)
            else "Train one: tradingbot supervised train",
        )
    return path


def require_free_name(folder: Path, name: str) -> None:
    """Refuse a name that cannot be a folder's, or is taken.

    Raises:
        ConfigError: Saying why.
    """
    if not _NAME.fullmatch(name) or name == NO_MODEL:
        raise ConfigError(
            "name of a model must be letters, digits, dots, dashes and underscores",
            was=repr(name),
            remedy="Choose another, e.g. lightgbm-1",
        )
    if (folder / name).exists():
        remedy = f"Choose another, or delete {folder / name}"
        raise ConfigError(
            "name of a model must be free", was=repr(name), where=str(folder), remedy=remedy
        )
