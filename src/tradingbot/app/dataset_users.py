"""Who uses bars that a name meant until now: runs, sessions and models of a workspace."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.store import BarStore
from tradingbot.domain.errors import StorageError, UserError

_DIGITS = 16
_NAMED = 5


@dataclass(frozen=True)
class DatasetUsers:
    """Names of what was made with a dataset."""

    id: str
    """Of the dataset: the first digits of its hash."""
    runs: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Say who they are, by kind; empty where there are none."""
        kinds = (("run", self.runs), ("session", self.sessions), ("model", self.models))
        return ", ".join(_listed(kind, names) for kind, names in kinds if names)


def id_behind(store: BarStore, name: str) -> str | None:
    """Return what a name points to; None where it points to nothing that can be read."""
    with suppress(StorageError):
        return store.names().get(name)
    return None


def find_users(workspace: Path, dataset: str) -> DatasetUsers:
    """Return what was made with a dataset; what cannot be read is left out.

    Args:
        workspace: Where runs, sessions and models are.
        dataset: Its id.
    """
    from tradingbot.runs import RunDirectory, list_runs
    from tradingbot.runtime.session.folder import list_sessions
    from tradingbot.serving.registry import ModelRegistry

    runs, sessions = [], []
    for path in list_runs(workspace / "runs"):
        with suppress(UserError):
            if (RunDirectory.open(path).record.data.dataset_sha256 or "")[:_DIGITS] == dataset:
                runs.append(path.name)
    for folder in list_sessions(workspace):
        with suppress(OSError, ValueError, TypeError, LookupError):
            settings = json.loads(folder.settings_path.read_text(encoding="utf-8"))
            if str(settings["data_sha256"])[:_DIGITS] == dataset:
                sessions.append(folder.name)
    models: list[str] = []
    with suppress(UserError):
        versions = ModelRegistry(workspace).versions()
        models = [each.name for each in versions if each.run in runs]
    return DatasetUsers(dataset, tuple(runs), tuple(sessions), tuple(models))


def _listed(kind: str, names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names[:_NAMED])}{more}"
