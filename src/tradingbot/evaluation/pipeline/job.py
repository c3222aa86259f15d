"""What workers of an evaluation are told, and that they see what was meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.pipeline.config import EvaluateConfig


@dataclass(frozen=True)
class EvaluationJob:
    """What is to be evaluated, where and how; plain values that any process can be told."""

    run: str
    """Id of the run, the beginning of it, or its folder."""
    workspace: Path
    config: EvaluateConfig
    folder: Path
    """Where analyses go."""
    shared: Path | None = None
    """What analyses of this evaluation hand on to each other; gone after it."""

    def as_seen_elsewhere(self) -> EvaluationJob:
        """Return the same with paths that do not depend on where a process stands."""
        run = Path(self.run).absolute()
        return replace(
            self,
            run=str(run) if run.exists() else self.run,
            workspace=self.workspace.absolute(),
            folder=self.folder.absolute(),
        )


def require_same(found: str, wanted: str, place: str) -> None:
    """Refuse to work on what is not what was asked for, e.g. on a machine with other files.

    Args:
        found: Hash of run, data, configuration and sources as they are here.
        wanted: The same where the work was asked for.
        place: What was opened.

    Raises:
        DataError: If they differ.
    """
    if found != wanted:
        raise DataError(
            "a worker must see the run, data, configuration and sources that were asked for",
            was=found[:12],
            where=f"{place}, asked for {wanted[:12]}",
            remedy="Give every node the same storage path and the same code",
        )
