"""`tb.train`: one agent per symbol on one's own bars; and the run that it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import TrainingError, require_known
from tradingbot.evaluation.performance.record import AGENTS, PartPerformance, PolicyPerformance
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import RATIO, as_bars, build_panel
from tradingbot.runs import RunDirectory
from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import begin_run


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
            lines.append(f"{part.part}: {part.period}")
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


_SPLITS = {f"splits.{key}": getattr(RATIO, key) for key in ("by", "train", "validation", "test")}


def train(
    data: Bars | str | Path | Any,
    *,
    preset: str | Path = DEFAULT_PRESET,
    seed: int | None = None,
    name: str | None = None,
    settings: Mapping[str, object] | None = None,
    **overrides: object,
) -> Run:
    """Train one agent per symbol; pre-train, train, checkpoint, judge on validation and test.

    The first 60 % of the bars are learned from, the next 20 % choose and decide what is kept, the
    last 20 % are tested on. The panel is built and proved causal first where that was not done.
    The run is in the workspace of the bars, and its ledger counts it as a trial.

    Args:
        data: What `tb.load_bars` returned, or anything it reads.
        preset: quick, prototype10, us143 …, or a YAML file; its market, symbols and dates are not
            used.
        seed: Root of all randomness; drawn and recorded if left out.
        name: Id of the run.
        settings: Dotted key of the configuration → value, e.g. {"budget.n_envs": 4}.
        **overrides: The same with two underscores for a dot: budget__n_envs=4.

    Raises:
        ConfigError: If a key or value is not allowed.
        DataError: If there are too few bars.
        TrainingError: If training was interrupted.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("planted", symbols=["SPY"], start="2025-06-02")
        >>> run = tb.train(bars, preset="quick", seed=1)  # synthetic
        >>> run.sharpe.low <= run.sharpe.estimate <= run.sharpe.high
        True
    """
    bars = as_bars(data)
    dotted = {key.replace("__", "."): value for key, value in overrides.items()}
    own: dict[str, object] = {"dataset": bars.name, "symbols": [], "seed": seed, **_SPLITS}
    chosen = {**own, **(settings or {}), **dotted}
    config = load_train_config(preset, chosen)
    build_panel(bars, splits=config.splits, features=config.features)
    session = begin_run(config, bars.workspace, name=name)
    if session.result is None:
        rule = "training must end for its figures"
        remedy = f"Go on with: tradingbot train --resume {session.run.id}"
        raise TrainingError(rule, was="interrupted", where=session.run.id, remedy=remedy)
    return Run(session.run, bars.workspace, session.result)
