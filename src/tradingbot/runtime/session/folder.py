"""The folder of a session: settings, lock, requests of persons, journal and paper venue.

<workspace>/sessions/<name>/
session.json  lock  requests/  journal.sqlite  venue.sqlite  phase.json  bars/
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tradingbot.data.atomic import atomic_file, is_locked, is_temporary, storage_errors
from tradingbot.domain.errors import ConfigError, StorageError, suggest
from tradingbot.domain.plain_values import as_plain_values, read_record
from tradingbot.runs.lock import hold_lock
from tradingbot.runtime.session.model import ModelReference

if TYPE_CHECKING:
    from tradingbot.runtime.journal.address import JournalAddress
    from tradingbot.runtime.session.settings import SessionSettings  # torch: not to find a session

SETTINGS_FILE = "session.json"
Act = Literal["stop", "kill", "arm", "swap", "restrict"]
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")


@dataclass(frozen=True)
class Request:
    """What a person asks of a session that runs."""

    act: Act
    by: str
    reason: str
    flatten: bool = False
    """Of a kill: sell what is held first."""
    breaker: str | None = None
    """Of an arming: which; None: all that tripped."""
    model: ModelReference | None = None
    """Of a swap: which takes over."""
    verdict: str | None = None
    """Of a swap: of the gates on that model."""
    standing: str = ""
    """Of a swap: its version, state and accepted verdict."""
    state: str | None = None
    """Of a restriction: `reducing` or `halted`."""


@dataclass(frozen=True)
class SessionFolder:
    """Where a session lives on disk."""

    path: Path

    @classmethod
    def create(cls, workspace: Path, settings: SessionSettings) -> SessionFolder:
        """Make the folder of a new session.

        Raises:
            ConfigError: If the name is none, or taken.
            StorageError: If the disk refuses.
        """
        folder = cls(require_new_session(workspace, settings.name))
        with storage_errors(folder.path):
            folder.requests.mkdir(parents=True, exist_ok=True)
        text = json.dumps(as_plain_values(settings), indent=2) + "\n"
        with atomic_file(folder.settings_path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return folder

    @classmethod
    def open(cls, workspace: Path, name: str) -> SessionFolder:
        """Find a session.

        Raises:
            ConfigError: If there is none of that name; names the closest.
        """
        folder = cls(_path_of(workspace, name))
        if not folder.settings_path.is_file():
            known = [each.name for each in list_sessions(workspace)]
            rule = "session must be one that was started"
            start = "Start one: tradingbot paper start MODEL --name NAME"
            remedy = suggest(name, known) if known else start
            raise ConfigError(rule, was=repr(name), where=str(folder.path), remedy=remedy)
        return folder

    @property
    def name(self) -> str:
        """Of the session."""
        return self.path.name

    @property
    def settings_path(self) -> Path:
        """`session.json`."""
        return self.path / SETTINGS_FILE

    @property
    def journal(self) -> Path:
        """File of the journal, where it is in its folder; see `journal_address`."""
        return self.path / "journal.sqlite"

    @property
    def journal_address(self) -> JournalAddress:
        """Where its journal is: what it was started with, else the file of its folder."""
        from tradingbot.runtime.journal.address import read_address

        try:
            given = self._plain().get("journal")
        except StorageError:
            given = None  # who trades it is refused; who reads it has what can be read
        return read_address(self.journal if given is None else str(given))

    @property
    def has_journal(self) -> bool:
        """Whether there is a journal to read; of a database that is told by asking it."""
        path = self.journal_address.path
        return path is None or path.is_file()

    @property
    def buffer(self) -> Path:
        """Events that the journal's database did not confirm yet."""
        return self.path / "journal.sqlite.buffer"

    @property
    def venue(self) -> Path:
        """Books of the paper broker."""
        return self.path / "venue.sqlite"

    @property
    def bars(self) -> Path:
        """Bars that it saw live."""
        return self.path / "bars"

    @property
    def requests(self) -> Path:
        """Requests that wait, one file each."""
        return self.path / "requests"

    @property
    def is_running(self) -> bool:
        """Whether a process trades it now."""
        return is_locked(self.lock)

    @property
    def lock(self) -> Path:
        """Held by the process that trades it; written when it began."""
        return self.path / "lock"

    def settings(self) -> SessionSettings:
        """Read what it was started with.

        Raises:
            StorageError: If the file is damaged.
        """
        from tradingbot.runtime.session.settings import SessionSettings

        return read_record(SessionSettings, self._plain(), name="session", error=StorageError)

    def _plain(self) -> dict[str, Any]:
        try:
            plain = dict(json.loads(self.settings_path.read_text(encoding="utf-8")))
            _ = plain["authorised"], plain["broker"], plain["bars"]
            return plain
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as e:
            rule = "session.json must be readable"
            remedy = "Restore it from a copy; the journal knows its hash (settings_sha256)"
            where = str(self.settings_path)
            raise StorageError(rule, was=e, where=where, remedy=remedy) from e

    def authorised(self) -> tuple[str, ...]:
        """Return who may arm breakers again; reads no more of the settings."""
        return tuple(self._plain()["authorised"])

    def broker(self) -> str:
        """Return its venue; reads no more of the settings."""
        return str(self._plain()["broker"])

    def bars_source(self) -> str:
        """Return where its bars come from; reads no more of the settings."""
        return str(self._plain()["bars"])

    def settings_sha256(self) -> str:
        """Return the hash of what it was started with."""
        return hashlib.sha256(self.settings_path.read_bytes()).hexdigest()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the only process that trades it.

        Raises:
            ConfigError: If another does.
        """
        with hold_lock(self.lock, f"session {self.name}"):
            yield

    def ask(self, request: Request) -> Path:
        """Leave a request for the process that trades it; return its file."""
        with storage_errors(self.requests):
            self.requests.mkdir(exist_ok=True)
        number = max((_number_of(each) for each in self.requests.iterdir()), default=-1) + 1
        name = f"{number:06d}-{request.act}-{uuid.uuid4().hex[:8]}.json"  # two may ask at once
        path = self.requests / name
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(as_plain_values(request)), encoding="utf-8")
        return path

    def waiting(self) -> list[tuple[Path, Request]]:
        """Return requests in the order in which they were left; a file that is none is a kill.

        A file that was put there by hand, with any content, stops everything.
        """
        if not self.requests.is_dir():
            return []
        there = sorted(each for each in self.requests.iterdir() if not is_temporary(each))
        read = [(path, _read_request(path)) for path in there]
        return [(path, request) for path, request in read if request is not None]

    @property
    def is_killed(self) -> bool:
        """Whether a kill waits to be obeyed: nothing may be sent before it is."""
        return any(request.act == "kill" for _, request in self.waiting())


def require_new_session(workspace: Path, name: str) -> Path:
    """Return the folder that a new session of this name gets.

    Raises:
        ConfigError: If it is no name, or taken.
    """
    path = _path_of(workspace, name)
    if (path / SETTINGS_FILE).exists():
        remedy = f"Choose another --name, or go on: tradingbot paper resume {name}"
        raise ConfigError("a session's name must be new", was=name, where=str(path), remedy=remedy)
    return path


def list_sessions(workspace: Path) -> list[SessionFolder]:
    """Return every session of a workspace by name."""
    found = sorted((workspace / "sessions").glob(f"*/{SETTINGS_FILE}"))
    return [SessionFolder(path.parent) for path in found]


def _number_of(path: Path) -> int:
    """Return which of the requests a file is; -1 of one that was put there by hand."""
    number = path.name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else -1


def _read_request(path: Path) -> Request | None:
    """Read a request; None where it was taken back meanwhile."""
    try:
        return read_record(Request, json.loads(path.read_text("utf-8")), name="request")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ConfigError):
        return Request("kill", by="a file", reason=f"{path.name} lies among the requests")


def _path_of(workspace: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        rule = "a session's name must be lower-case letters, digits, - and _, 48 at most"
        raise ConfigError(rule, was=repr(name), remedy="Write e.g. --name first-week")
    return workspace / "sessions" / name
