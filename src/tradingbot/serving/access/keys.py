"""API keys of a server: made once, stored as hashes, each with scopes and an end.

    <workspace>/served/keys.json    mode 0600; ids, names, scopes, hashes, days

A key is `tb_<id>_<secret>`, the secret 256 random bits: one round of SHA-256 keeps it, for nothing
could be guessed. Only the hash is stored; who loses a key rotates it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tradingbot.data.atomic import atomic_file, storage_errors
from tradingbot.data.json_files import json_problem
from tradingbot.data.regular_files import read_regular_file
from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.errors import ConfigError, StorageError, join_choices, suggest
from tradingbot.runs.lock import hold_lock
from tradingbot.runs.record import StoredModel
from tradingbot.serving.access.audit import AuditTrail

KEYS_FILE = "keys.json"
Scope = Literal["read", "predict", "trade", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "predict", "trade", "admin")
"""What a key may be for; none includes another."""
LEEWAY = timedelta(seconds=30)
"""How far clocks may be apart: an expired key is taken so much longer."""
MAX_LIFETIME = timedelta(days=366)
_SECRET = re.compile(r"tb_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,47}")
_NOBODY = "0" * 64
_MAX_BYTES = 10_000_000

Refusal = Literal["unknown", "revoked", "expired"]


class ApiKey(StoredModel):
    """What is stored of a key."""

    id: str
    name: str
    """Who it is for."""
    scopes: tuple[Scope, ...]
    secret_sha256: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None

    def refusal(self, now: datetime) -> Refusal | None:
        """Return why it is not taken now; None where it is."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if now >= self.expires_at + LEEWAY else None


class KeysFile(SealedRecord):
    """`keys.json`."""

    version: Literal[1] = 1
    keys: tuple[ApiKey, ...]


@dataclass(frozen=True)
class NewKey:
    """A key that was just made; the only time that its secret is known."""

    key: ApiKey
    secret: str

    def __repr__(self) -> str:
        return f"NewKey({self.key.id})"


class KeyBook:
    """The keys of a workspace."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; the file is made by the first key."""
        self.path = workspace / "served" / KEYS_FILE
        self._audit = AuditTrail(workspace)

    def read(self) -> tuple[ApiKey, ...]:
        """Return all keys, the oldest first; none where there is no file.

        Raises:
            StorageError: If the file is damaged, or others may read it.
        """
        if not self.path.exists():
            return ()
        try:
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise StorageError(
                    "the file of API keys must be readable by its owner alone",
                    was=oct(stat.S_IMODE(self.path.stat().st_mode)),
                    where=str(self.path),
                    remedy=f"Run: chmod 600 {self.path}",
                )
            found = KeysFile.model_validate_json(
                read_regular_file(self.path, most_bytes=_MAX_BYTES)
            )
        except (OSError, ValidationError) as e:
            was = json_problem(e) if isinstance(e, OSError) else "not a file of keys"
            raise _damaged(self.path, was) from e
        if not found.is_sealed():
            raise _damaged(self.path, "changed since it was written")
        return found.keys

    def create(
        self, name: str, scopes: Iterable[Scope], *, at: datetime, lifetime: timedelta
    ) -> NewKey:
        """Make a key.

        Args:
            name: Who it is for.
            scopes: What it may be used for.
            at: Now.
            lifetime: After which it expires.

        Raises:
            ConfigError: If name, scopes or lifetime are not allowed.
            StorageError: If the disk refuses.
        """
        require_key(name, tuple(scopes), lifetime)
        with self._alone() as keys:
            made = _draw(name, tuple(scopes), at, lifetime, {key.id for key in keys})
            self._write((*keys, made.key))
            self._tell("key created", made.key, at, f"scopes {' '.join(made.key.scopes)}")
        return made

    def revoke(self, key_id: str, *, at: datetime) -> ApiKey:
        """End a key now; a server that runs takes it no more.

        Raises:
            ConfigError: If there is none of that id, or it was revoked before.
        """
        with self._alone() as keys:
            old = _find(keys, key_id)
            if old.revoked_at is not None:
                raise ConfigError("a key must not be revoked already", was=key_id)
            new = old.model_copy(update={"revoked_at": at})
            self._write(new if key is old else key for key in keys)
            self._tell("key revoked", new, at)
        return new

    def rotate(
        self, key_id: str, *, at: datetime, overlap: timedelta, lifetime: timedelta
    ) -> NewKey:
        """Make a key like another, which ends after an overlap.

        Raises:
            ConfigError: If there is none of that id, or it is not taken any more.
        """
        with self._alone() as keys:
            old = _find(keys, key_id)
            if (why := old.refusal(at)) is not None:
                raise ConfigError(
                    "a key must be alive to be rotated",
                    was=f"{key_id}, {why}",
                    remedy="Make a new one: tradingbot keys create",
                )
            require_key(old.name, old.scopes, lifetime)
            made = _draw(old.name, old.scopes, at, lifetime, {key.id for key in keys})
            ends = min(old.expires_at, at + overlap)
            kept = (
                key.model_copy(update={"expires_at": ends}) if key is old else key for key in keys
            )
            self._write((*kept, made.key))
            self._tell("key rotated", old, at, f"by {made.key.id}, ends {ends.isoformat()}")
        return made

    @contextmanager
    def _alone(self) -> Iterator[tuple[ApiKey, ...]]:
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(self.path.with_suffix(".lock"), "the file of API keys"):
            yield self.read()

    def _write(self, keys: Iterable[ApiKey]) -> None:
        text = KeysFile(keys=tuple(keys)).sealed().model_dump_json(indent=1)
        with atomic_file(self.path) as temporary:
            temporary.chmod(0o600)  # before there is anything to read
            temporary.write_text(f"{text}\n", encoding="utf-8")

    def _tell(
        self,
        kind: Literal["key created", "key rotated", "key revoked"],
        key: ApiKey,
        at: datetime,
        detail: str = "",
    ) -> None:
        subject = f"{key.id} {key.name}"
        self._audit.record(kind, at=at, who="command line", subject=subject, detail=detail)


def identify(
    keys: Iterable[ApiKey], presented: str, now: datetime
) -> tuple[ApiKey | None, Refusal | None]:
    """Find whose secret was presented, in a time that does not tell how much of it was right.

    Args:
        keys: All keys.
        presented: What a client sent.
        now: Now.

    Returns:
        The key where it is taken; else None, and why it is not.
    """
    parts = _SECRET.fullmatch(presented)
    named = parts[1] if parts else ""
    key = next((each for each in keys if each.id == named), None)
    digest = hashlib.sha256(presented.encode("utf-8", "surrogatepass")).hexdigest()
    is_its = hmac.compare_digest(digest, _NOBODY if key is None else key.secret_sha256)
    if key is None or not is_its:
        return None, "unknown"
    why = key.refusal(now)
    return (key, None) if why is None else (None, why)


def key_id_of(presented: str) -> str:
    """Return the id that a presented key claims; `unknown` where it claims none."""
    parts = _SECRET.fullmatch(presented)
    return parts[1] if parts else "unknown"


def require_key(name: str, scopes: tuple[str, ...], lifetime: timedelta) -> None:
    """Refuse what no key may be.

    Raises:
        ConfigError: Naming it.
    """
    if not _NAME.fullmatch(name):
        rule = "a key's name must be letters, digits, spaces, . _ and -, 48 at most"
        raise ConfigError(rule, was=repr(name[:80]))
    odd = [scope for scope in scopes if scope not in SCOPES]
    if odd or not scopes or len({*scopes}) != len(scopes):
        rule = f"scopes of a key must be of {join_choices(SCOPES)}, each once"
        remedy = suggest(odd[0], SCOPES) if odd else "Give --scope predict"
        raise ConfigError(rule, was=odd[0] if odd else " ".join(scopes) or "none", remedy=remedy)
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        rule = f"a key must live for 1 to {MAX_LIFETIME.days} days"
        raise ConfigError(rule, was=f"{lifetime.total_seconds() / 86400:g}")


def _draw(
    name: str, scopes: tuple[Scope, ...], at: datetime, lifetime: timedelta, taken: set[str]
) -> NewKey:
    key_id = secrets.token_hex(4)
    while key_id in taken:
        key_id = secrets.token_hex(4)
    secret = f"tb_{key_id}_{secrets.token_urlsafe(32)}"
    key = ApiKey(
        id=key_id,
        name=name,
        scopes=scopes,
        secret_sha256=hashlib.sha256(secret.encode()).hexdigest(),
        created_at=at,
        expires_at=at + lifetime,
    )
    return NewKey(key, secret)


def _find(keys: tuple[ApiKey, ...], key_id: str) -> ApiKey:
    found = next((key for key in keys if key.id == key_id), None)
    if found is None:
        ids = [key.id for key in keys]
        remedy = suggest(key_id, ids) if ids else "There is none: tradingbot keys create"
        raise ConfigError("a key must be known by its id", was=repr(key_id[:80]), remedy=remedy)
    return found


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "the file of API keys must be as it was written",
        was=was,
        where=str(path),
        remedy="Restore it, or remove it and make new keys: tradingbot keys create",
    )
