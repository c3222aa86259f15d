"""The database of a journal: made where there is none, and brought to the program's revision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Connection

from tradingbot.domain.errors import ConfigError
from tradingbot.runs.lock import hold_lock
from tradingbot.runtime.journal.address import JournalAddress
from tradingbot.runtime.journal.connections import (
    explained,
    lock_transaction,
    make_engine,
    require_journal_file,
)
from tradingbot.runtime.journal.schema import migrate, require_schema, revision_of

_MIGRATION_S = 600.0
_LOOK_S = 5.0


def create_schema(address: JournalAddress, *, timeout_s: float) -> None:
    """Make the tables of a journal where there are none, in one transaction.

    Raises:
        JournalDamagedError: If there are others, or those of another revision.
    """
    with _changing(address, timeout_s) as connection:
        if revision_of(connection) is None:
            migrate(connection)
        else:
            require_schema(connection)


def migrate_schema(address: JournalAddress) -> tuple[str | None, str]:
    """Bring the schema of a journal that no session writes to the program's revision.

    Returns:
        Revision before and after.

    Raises:
        ConfigError: If there is no journal, or it is in use.
        JournalDamagedError: If it is of a later revision, or a migration was interrupted.
    """
    with ExitStack() as held:
        if address.path is not None:
            require_journal_file(address.path)
            _require_tables(address)
            held.enter_context(hold_lock(lock_file(address.path), "journal"))
        connection = held.enter_context(_changing(address, _MIGRATION_S))
        if address.path is None:
            lock_transaction(connection, address)
        _require_revision(connection, address)
        return migrate(connection)


def _require_tables(address: JournalAddress) -> None:
    """Refuse a file without a journal before anything of it is changed, its log mode too."""
    engine = make_engine(address, timeout_s=_LOOK_S, writes=False)
    with explained(address), engine.begin() as connection:
        _require_revision(connection, address)


def _require_revision(connection: Connection, address: JournalAddress) -> None:
    if revision_of(connection) is None:
        rule, remedy = "journal must exist", "Name another, or start a session, which makes it"
        raise ConfigError(rule, was="no journal", where=str(address), remedy=remedy)


@contextmanager
def _changing(address: JournalAddress, timeout_s: float) -> Iterator[Connection]:
    engine = make_engine(address, timeout_s=timeout_s, writes=True)
    try:
        with explained(address), engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def lock_file(path: Path) -> Path:
    """Return the file whose lock the only writer of a journal in SQLite holds."""
    return path.with_name(f"{path.name}.lock")
