"""Paper sessions of a workspace as a server may stop them: by the files that they obey."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tradingbot.domain.errors import TradingError
from tradingbot.runtime.session.folder import Request, SessionFolder, list_sessions


class WorkspaceSessions:
    """A `serving.server.parts.SessionDesk`."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def sessions(self) -> list[tuple[str, bool]]:
        """Return names, and whether each runs now."""
        return [(each.name, each.is_running) for each in list_sessions(self._workspace)]

    def ask(
        self, name: str, act: Literal["stop", "kill"], *, by: str, reason: str, flatten: bool
    ) -> None:
        """Leave a request; what does not run obeys a kill when it is resumed, before anything else.

        Raises:
            ConfigError: If there is no such session.
            TradingError: If it does not run, and shall stop: it would stop when it is resumed.
            StorageError: If the disk refuses.
        """
        folder = SessionFolder.open(self._workspace, name)
        if act == "stop" and not folder.is_running:
            raise TradingError("a session must run to be stopped", was="not running", where=name)
        folder.ask(Request(act, by=by, reason=reason, flatten=flatten))
