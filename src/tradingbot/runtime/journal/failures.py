"""What the journal raises: it cannot be written now, or what it holds is not whole."""

from __future__ import annotations

from tradingbot.domain.errors import StorageError


class JournalUnavailableError(StorageError):
    """The database did not confirm a record: nothing may be opened on it.

    The session closes to new positions until a record succeeds again.
    """

    is_buffered = False
    """Whether the entries are on disk beside the database, and will reach it in their order."""


class JournalDamagedError(StorageError):
    """The chain is broken, a row contradicts its entry, or the schema is not the program's."""


class NoJournalError(JournalDamagedError):
    """What was named is no journal, or one of another version: nothing is known to be lost."""
