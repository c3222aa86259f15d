"""Paper sessions of a workspace as a server may stop them: by the files that they obey."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

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
        """Leave a request; what does not run obeys it when it is resumed.

        Raises:
            ConfigError: If there is no such session.
        """
        folder = SessionFolder.open(self._workspace, name)
        folder.ask(Request(act, by=by, reason=reason, flatten=flatten and act == "kill"))
