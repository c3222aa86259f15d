"""Addresses of databases of trials: which are taken, and how they are shown without secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import HIDDEN, redact

_KNOWN = ("sqlite", "postgresql", "postgresql+psycopg")
_IN_MEMORY = re.compile(r"sqlite:///(:memory:)?([?#].*)?")


def require_storage(url: str) -> None:
    """Refuse a database that trials cannot be kept in.

    Raises:
        ConfigError: If it is neither SQLite nor PostgreSQL, or a SQLite that no file keeps.
    """
    kind = _kind_of(url)
    is_taken = kind in _KNOWN and (kind != "sqlite" or url.startswith("sqlite:///"))
    # A second @ would make half of a password the name of a host, which is looked up.
    is_odd = _IN_MEMORY.fullmatch(url) or (kind != "sqlite" and url.count("@") > 1)
    if url and (not is_taken or is_odd):
        raise ConfigError(
            "storage of trials must be the URL of a SQLite or PostgreSQL database of its own",
            was=f"{kind}:// …" if kind else "something else",
            remedy="Write e.g. sqlite:////data/tuning.db or postgresql://host/tuning, an @ in a "
            "password as %40; journals and MLflow need another database",
        )


def shown_storage(url: str) -> str:
    """Return where a database is, without user, password and options.

    Example:
        >>> shown_storage("postgresql://me:pa/s@s@host/tuning?password=more")
        'postgresql://***@host/tuning'
    """
    scheme, _, rest = url.partition("://")
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    if scheme == "sqlite":
        return f"{scheme}://{place}"
    *before, there = place.rsplit("@", 1)
    if not before and re.search(r":(?!\d+(/|$))", there):
        there = HIDDEN  # no place, but a user with a password
    return f"{scheme}://{HIDDEN}@{there}" if before else f"{scheme}://{there}"


def without_secrets(text: str, url: str) -> str:
    """Return what a library says of a database without anything secret of its address."""
    rest = url.partition("://")[2]
    user_info = rest.rpartition("@")[0]
    parts = {
        user_info,
        *re.split(r"[:@/]", user_info),
        *re.split(r"[=&?#]", rest.partition("?")[2]),
    }
    if not user_info:
        parts |= set(rest.split(":")[1:])
    secrets = sorted({each for part in parts for each in (part, unquote(part))}, key=len)
    return redact(text, reversed(secrets))


def _kind_of(url: str) -> str:
    """Return the kind of database, empty where the text before `://` is none of the usual ones.

    Whatever else stands there may be a secret that was written in the wrong place.
    """
    kind, separator, _ = url.partition("://")
    usual = (*_KNOWN, "mysql", "mariadb", "postgres", "mssql", "oracle", "mongodb", "redis", "http")
    return kind if separator and kind in usual else ""
