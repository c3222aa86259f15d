"""Sessions that can be watched: folders of the workspace, and names in a journal beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import UserError
from tradingbot.domain.plain_values import read_record
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.journal.address import JournalAddress, read_address
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.folder import SessionFolder, list_sessions
from tradingbot.runtime.session.phase import NOT_RUNNING, Phase, look_at_phase

_WAL = "-wal"


@dataclass(frozen=True)
class WatchedTerms:
    """What of a session's settings a reader needs; no more of them is read."""

    run: str
    dataset: str | None
    bars: str
    """`replay`, `alpaca` or `folder:PATH`."""
    speed: float
    calendar: str
    timeframe: str
    grid: str
    start_ccy: float
    """Money that it began with."""
    limits: SessionLimits
    authorised: tuple[str, ...]
    """Names of those who may arm breakers."""
    n_bars: int | None
    """Bars that a replay has; None where bars come as they close."""

    @property
    def is_replay(self) -> bool:
        """Whether stored bars are traded, so that their time is not that of the wall."""
        return self.bars == "replay"


@dataclass(frozen=True)
class SessionPlace:
    """Where a session is written down."""

    name: str
    address: JournalAddress
    folder: SessionFolder | None = None
    """None where only its journal is known."""

    @property
    def is_running(self) -> bool | None:
        """Whether a process trades it now; None where that cannot be seen from here."""
        return None if self.folder is None else self.folder.is_running

    def phase(self, began_at: datetime | None = None) -> Phase:
        """Return what its process is at, and its last sign of life.

        Args:
            began_at: When its journal last says that a process began.
        """
        if self.folder is None:
            return Phase(NOT_RUNNING)
        return look_at_phase(self.folder, began_at=began_at)

    def terms(self) -> WatchedTerms | None:
        """Return what it is held to; None where only its journal is known, or it is damaged."""
        if self.folder is None:
            return None
        try:
            return _read_terms(json.loads(self.folder.settings_path.read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError, UserError):
            return None

    def written_at(self) -> datetime | None:
        """Return when its journal was last written, by the disk; None for a server's database."""
        path = self.address.path
        if path is None:
            return None
        files = (path, path.with_name(path.name + _WAL))
        times = [each.stat().st_mtime for each in files if each.exists()]
        return datetime.fromtimestamp(max(times), UTC) if times else None


def find_sessions(workspace: Path, journal: str | None) -> list[SessionPlace]:
    """Return every session of a workspace, and those of a journal elsewhere, by name.

    Raises:
        UserError: If the journal that was named cannot be read.
    """
    folders = {each.name: each for each in list_sessions(workspace)}
    found = {
        name: SessionPlace(name, folder.journal_address, folder) for name, folder in folders.items()
    }
    if journal is not None:
        address = read_address(journal)
        with JournalReader(address) as reader:
            names = reader.sessions()
        found |= {name: SessionPlace(name, address, folders.get(name)) for name in names}
    return [found[name] for name in sorted(found)]


def _read_terms(plain: dict[str, Any]) -> WatchedTerms:
    stop = plain["stop_bar"]
    return WatchedTerms(
        run=str(plain["run"]),
        dataset=plain["dataset"],
        bars=str(plain["bars"]),
        speed=float(plain["speed"]),
        calendar=str(plain["calendar"]),
        timeframe=str(plain["timeframe"]),
        grid=str(plain["grid"]),
        start_ccy=float(plain["venue"]["cash_ccy"]),
        limits=read_record(SessionLimits, plain["session_limits"], name="session_limits"),
        authorised=tuple(plain["authorised"]),
        n_bars=None if stop is None else int(stop) - int(plain["first_bar"]),
    )
