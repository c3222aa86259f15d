"""Entries, their tables and the triggers that make them append-only."""

from __future__ import annotations

from alembic import op

from tradingbot.runtime.journal.migrations.append_only import append_only_statements
from tradingbot.runtime.journal.tables import METADATA, TABLES

revision, down_revision = "0001", None


def upgrade() -> None:
    """Make the tables. What this makes is frozen by a test: a change is a revision of its own."""
    connection = op.get_bind()
    METADATA.create_all(connection, checkfirst=False)
    names = tuple(table.name for table in TABLES)
    for statement in append_only_statements(connection.dialect.name, names):
        connection.exec_driver_sql(statement)
