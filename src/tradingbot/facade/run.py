"""A training run as `tb.train` returns it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tradingbot.domain.errors import require_known
from tradingbot.evaluation.performance.record import AGENTS, PartPerformance, PolicyPerformance
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.runs import RunDirectory
from tradingbot.training.result_file import TrainResult


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A finished run: where it is, and what its agents earned on validation and test."""

    directory: RunDirectory
    workspace: Path
    result: TrainResult

    @property
    def id(self) -> str:
        """Name of the run."""
        return self.directory.id

    @property
    def path(self) -> Path:
        """Folder of configuration, checkpoints, metrics and result."""
        return self.directory.path

    @property
    def sharpe(self) -> Interval:
        """Annual Sharpe ratio of the agents on the test part: (estimate, low, high)."""
        return self._agents("test").sharpe_annual

    @property
    def total_return(self) -> float:
        """Of the agents on the test part."""
        return self._agents("test").total_return_frac

    def part(self, name: str) -> PartPerformance:
        """Return the result on `validation` or `test`.

        Raises:
            ConfigError: If there is no part of that name.
        """
        parts = {part.part: part for part in self.result.parts}
        return parts[require_known(name, parts, "part must be known")]

    def summary(self) -> str:
        """Return figures of both parts, policy by policy, and what validation kept."""
        word = "synthetic" if self.result.synthetic else "observed bars, simulated trading"
        lines = [f"{self.id} ({word}, net of costs); kept: {self.result.decision}"]
        for part in self.result.parts:
            lines.append(f"{part.part}: {part.first_day} … {part.last_day}, {part.bars:,} bars")
            for each in part.policies:
                sharpe = each.sharpe_annual
                lines.append(
                    f"  {each.policy:20} Sharpe {sharpe.estimate:6.2f} "
                    f"[{sharpe.low:.2f}, {sharpe.high:.2f}]  return {each.total_return_frac:+.1%}"
                )
        return "\n".join(lines)

    def _agents(self, part: str) -> PolicyPerformance:
        return next(each for each in self.part(part).policies if each.policy == AGENTS)

    def __repr__(self) -> str:
        sharpe = self.sharpe
        word = ", synthetic" if self.result.synthetic else ""
        return (
            f"<Run {self.id}: test Sharpe {sharpe.estimate:.2f} [{sharpe.low:.2f}, "
            f"{sharpe.high:.2f}]{word}>"
        )
