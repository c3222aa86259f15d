"""The journal: decisions, orders, fills and states of sessions, in one chain that only grows.

`SessionJournal.open` writes, `JournalReader.at` reads. See `docs/concepts/journal.md`.
"""

from __future__ import annotations

from importlib.util import find_spec

from tradingbot.domain.errors import MissingExtraError

for _package in ("sqlalchemy", "alembic"):
    if find_spec(_package) is None:
        raise MissingExtraError("trade", package=_package)
