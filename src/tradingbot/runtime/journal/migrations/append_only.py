"""Triggers that refuse to change or delete a row, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

_REFUSAL = "the journal is append-only"
_SQLITE = (
    "CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{refusal}'); END",
    "CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{refusal}'); END",
    # INSERT OR REPLACE deletes a row without asking the trigger above.
    "CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
    "WHEN EXISTS (SELECT 1 FROM {table} WHERE seq = NEW.seq) "
    "BEGIN SELECT RAISE(ABORT, '{refusal}'); END",
)
_POSTGRES_FUNCTION = (
    "CREATE FUNCTION refuse_journal_change() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
)
_POSTGRES = (
    "CREATE TRIGGER {table}_no_update BEFORE UPDATE OR DELETE ON {table} "
    "FOR EACH ROW EXECUTE FUNCTION refuse_journal_change()",
    "CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change()",
)
SUFFIXES = {
    "sqlite": ("_no_update", "_no_delete", "_no_replace"),
    "postgresql": ("_no_update", "_no_truncate"),
}
"""Database → ends of the names of the triggers that every table has."""


def append_only_statements(dialect: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the statements that make tables append-only.

    Args:
        dialect: `sqlite` or `postgresql`.
        names: Of the tables.
    """
    if dialect != "sqlite":
        yield _POSTGRES_FUNCTION.format(refusal=_REFUSAL)
    for name in names:
        for statement in _SQLITE if dialect == "sqlite" else _POSTGRES:
            yield statement.format(table=name, refusal=_REFUSAL)
