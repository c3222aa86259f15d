"""The journal's schema: brought up by Alembic in one transaction, and held to be the program's."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from tradingbot.runtime.journal.failures import JournalDamagedError, NoJournalError
from tradingbot.runtime.journal.migrations.append_only import SUFFIXES
from tradingbot.runtime.journal.tables import TABLES

VIEWS = ("actions", "order_states", "positions", "trades")
_RESTORE = "Restore the last backup: tradingbot journal restore; see the runbook"
_TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
    ),
}


def scripts() -> ScriptDirectory:
    """Return the revisions that the package holds."""
    return ScriptDirectory(str(Path(__file__).parent / "migrations"))


def known_revisions() -> tuple[str, ...]:
    """Return the names of all revisions, oldest first."""
    return tuple(script.revision for script in reversed([*scripts().walk_revisions()]))


def revision_of(connection: Connection) -> str | None:
    """Return the revision that a database is at; None for one without a journal.

    Raises:
        JournalDamagedError: If it is a later one, or a migration was interrupted.
    """
    found = MigrationContext.configure(connection).get_current_heads()
    here = set(inspect(connection).get_table_names())
    if not found:
        ours = sorted(here & {table.name for table in TABLES})
        if ours:
            raise JournalDamagedError(
                "a journal must say the revision of its schema",
                was=f"none beside {len(ours)} of its tables: a migration was interrupted",
                where=_place(connection),
                remedy=_RESTORE,
            )
        return None
    known = known_revisions()
    if len(found) > 1 or found[0] not in known:
        raise NoJournalError(
            f"revision of the journal must be one of {', '.join(known)}",
            was=", ".join(found),
            where=_place(connection),
            remedy="Use the version of the program that wrote it: a newer one did",
        )
    return found[0]


def migrate(connection: Connection) -> tuple[str | None, str]:
    """Bring the schema of a database to the newest revision, in the transaction that is open.

    Returns:
        Revision before, None for a new journal, and after.

    Raises:
        JournalDamagedError: If it is of a later revision, or a migration was interrupted.
    """
    before = revision_of(connection)
    found, newest = scripts(), known_revisions()[-1]
    if before != newest:
        with EnvironmentContext(
            Config(),
            found,
            fn=lambda revision, _: found._upgrade_revs(newest, revision),
        ) as environment:
            environment.configure(connection=connection, transactional_ddl=False)
            environment.run_migrations()
    require_schema(connection)
    return before, newest


def require_schema(connection: Connection) -> None:
    """Refuse a database whose schema is not whole, or not the one of this program.

    Raises:
        JournalDamagedError: Naming what is missing, and the remedy.
    """
    revision, newest = revision_of(connection), known_revisions()[-1]
    if revision != newest:
        another = "Name the file of a journal, or start a session, which makes one"
        raise NoJournalError(
            f"schema of the journal must be revision {newest}",
            was=revision or "no journal",
            where=_place(connection),
            remedy=another if revision is None else "Run: tradingbot journal migrate",
        )
    dialect = connection.dialect.name
    inspector = inspect(connection)
    triggers = {str(row[0]) for row in connection.execute(text(_TRIGGERS[dialect]))}
    wanted = {
        "table": ({table.name for table in TABLES}, set(inspector.get_table_names())),
        "view": (set(VIEWS), set(inspector.get_view_names())),
        "trigger": ({f"{t.name}{end}" for t in TABLES for end in SUFFIXES[dialect]}, triggers),
    }
    for what, (needed, there) in wanted.items():
        if needed - there:
            raise JournalDamagedError(
                f"the journal must have every {what} of revision {newest}",
                was=f"without {', '.join(sorted(needed - there))}",
                where=_place(connection),
                remedy=_RESTORE,
            )


def _place(connection: Connection) -> str:
    """Return file or name of a database, without who asks it."""
    return connection.engine.url.database or ""
