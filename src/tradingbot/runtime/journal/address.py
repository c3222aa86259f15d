"""Where a journal lies: a file of SQLite, or a database of PostgreSQL; shown without its password.

A password is best given by `PGPASSWORD` or a password file, which PostgreSQL's client reads by
itself: an address on a command line is seen by every user of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import is_secret_name, redact

_EXAMPLES = "Write e.g. journal.sqlite, sqlite:///journal.sqlite or postgresql://user@host/database"
_POSTGRES = ("postgres", "postgresql", "postgresql+psycopg")


@dataclass(frozen=True)
class JournalAddress:
    """A place that a journal can be in."""

    url: URL = field(repr=False)

    @property
    def path(self) -> Path | None:
        """File of a journal in SQLite; None for PostgreSQL."""
        return Path(self.url.database or "") if self.url.drivername == "sqlite" else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be shown nowhere."""
        texts = [str(self.url.password)] if self.url.password is not None else []
        return (*texts, *(str(v) for name, v in self.url.query.items() if is_secret_name(name)))

    def hide_secrets(self, text: str) -> str:
        """Return a text of a driver without the password."""
        return redact(text, self.secrets)

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        url = self.url
        host = url.host or url.query.get("host")
        shown = URL.create("postgresql", host=str(host or ""), port=url.port, database=url.database)
        return shown.render_as_string()


def read_address(text: str | Path | JournalAddress) -> JournalAddress:
    """Read an address as it is written on a command line or in a configuration.

    Args:
        text: A path, `sqlite:///PATH`, or `postgresql://USER@HOST/DATABASE`; an address is itself.

    Raises:
        ConfigError: If it names no database that a journal can be in; a password is not repeated.

    Example:
        >>> str(read_address("postgresql://me:pa55@db.example/journal"))
        'postgresql://db.example/journal'
    """
    if isinstance(text, JournalAddress):
        return text
    written = str(text)
    if "://" not in written:
        return JournalAddress(URL.create("sqlite", database=_require_path(written)))
    try:
        url = make_url(written)
    except (ArgumentError, ValueError):
        url = URL.create("unreadable")
    if url.drivername == "sqlite":
        return JournalAddress(URL.create("sqlite", database=_require_path(url.database or "")))
    if url.drivername not in _POSTGRES or not url.database:
        raise ConfigError(
            "journal must be a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE",
            was=redact(written)[:80],
            remedy=_EXAMPLES,
        )
    return JournalAddress(url.set(drivername="postgresql+psycopg"))


def _require_path(text: str) -> str:
    if not text.strip() or "\0" in text or text == ":memory:":
        raise ConfigError("journal must name a file", was=repr(text), remedy=_EXAMPLES)
    path = Path(text).expanduser()
    if path.is_dir():
        raise ConfigError(
            "journal must name a file",
            was="a folder",
            where=text,
            remedy=f"Write e.g. {path}/journal.sqlite",
        )
    return str(path)
