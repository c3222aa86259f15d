"""That a worker sees what was meant: on another machine a path may lead to other files."""

from __future__ import annotations

from tradingbot.domain.errors import DataError


def require_same(found: str, wanted: str, place: str) -> None:
    """Refuse to work on what is not what was asked for, e.g. on a machine with other files.

    Args:
        found: Hash of run, data, configuration and sources as they are here.
        wanted: The same where the work was asked for.
        place: What was opened.

    Raises:
        DataError: If they differ.
    """
    if found != wanted:
        raise DataError(
            "a worker must see the run, data, configuration and sources that were asked for",
            was=found,
            where=f"{place}, asked for {wanted}",
            remedy="Give every node the same storage path and the same code",
        )
