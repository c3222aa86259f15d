"""What workers of an evaluation are told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

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
