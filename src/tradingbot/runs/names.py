"""Names of runs: which can be one, which are free, and how one is made where none is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import ConfigError
from tradingbot.runs.record import content_sha256

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")


def require_new_name(root: Path, name: str) -> None:
    """Refuse a name that no run can have, or one has.

    Raises:
        ConfigError: Saying why.
    """
    require_name(name)
    if (root / name).exists():
        rule = "run name must be new"
        remedy = "Resume that run with --resume, or choose another name"
        raise ConfigError(rule, was=repr(name), where=str(root), remedy=remedy)


def require_name(name: str) -> None:
    """Refuse a name that no run can have.

    Raises:
        ConfigError: Naming one that could be.
    """
    if not _NAME.fullmatch(name):
        rule = "run name must be 1-80 of a-z 0-9 . _ - and start with a letter or digit"
        raise ConfigError(rule, was=repr(name[:90]), remedy="Choose e.g. us143-first")


def automatic_name(learner: str, config: Mapping[str, Any], created_at: datetime) -> str:
    """Make a name of time, learner and digits of the configuration's hash."""
    digest = content_sha256(dict(config))[:6]
    return f"{created_at:%Y%m%d-%H%M%S}-{learner}-{digest}"


def free_name(root: Path, wanted: str) -> str:
    """Return a name, with a number behind it where it is taken."""
    count, name = 1, wanted
    while (root / name).exists():
        count += 1
        name = f"{wanted}-{count}"
    return name
