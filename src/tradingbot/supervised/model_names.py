"""Names of stored models, told without torch: where they lie, which there are, which are free."""

from __future__ import annotations

import re
from pathlib import Path

from tradingbot.domain.errors import ConfigError, suggest

MANIFEST_FILE = "manifest.json"
NO_MODEL = "none"
"""Instead of a model's name: observations show thirds."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def split_models(text: str) -> tuple[str, ...]:
    """Return the models that `task.probabilities` names: one, or three as `mlp+lstm+gru`.

    Raises:
        ConfigError: If there are two, or more than three.

    Example:
        >>> split_models("trees"), split_models("mlp+lstm+gru")
        (('trees',), ('mlp', 'lstm', 'gru'))
    """
    names = tuple(text.split("+"))
    if len(names) not in (1, 3) or len(set(names)) != len(names):
        rule = "task.probabilities must name one model, or three different ones"
        remedy = "Write e.g. task.probabilities=mlp+lstm+gru"
        raise ConfigError(rule, was=repr(text), remedy=remedy)
    return names


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
