"""Places that an option chooses: what the disk refuses there is told with the option's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradingbot.domain.errors import StorageError

_USUAL = "--workspace"  # what `data.atomic.storage_errors` says, for most files are there


@contextmanager
def chosen_by(option: str, place: Path | None) -> Iterator[None]:
    """Name the option, not the workspace, where the disk refuses `place` or a file below it.

    Raises:
        StorageError: The block's own, with another rule and remedy.
    """
    try:
        yield
    except StorageError as e:
        where = Path(e.where or "")
        if place is None or not (where == place or place in where.parents):
            raise
        rule, remedy = e.rule.replace("workspace", option), (e.remedy or "")
        remedy = remedy.replace(_USUAL, option)
        raise StorageError(rule, was=e.was, where=e.where, remedy=remedy) from e
