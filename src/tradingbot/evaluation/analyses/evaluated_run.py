"""A finished run as the subject of an evaluation: its data, rules and policy, ready to backtest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tradingbot.agents.baselines.market_rules import buy_and_hold
from tradingbot.agents.policy import Policy
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import World, select_symbols
from tradingbot.evaluation.backtest import (
    Backtest,
    PolicyUnderTest,
    backtest_all,
    ready_bars,
    sleeve_config,
)
from tradingbot.market.costs import CostProfile
from tradingbot.runs import RunDirectory, find_run
from tradingbot.runs.master import load_chain
from tradingbot.runs.verification import require_files
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.own_dataset_names import require_own_dataset
from tradingbot.training.plugins import require_plugins
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.setup import env_config

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True, eq=False)
class EvaluatedRun:
    """A run that is evaluated."""

    run: RunDirectory
    config: TrainConfig
    data: TrainingData
    env: EnvConfig
    """Rules, costs and reward of the run."""
    policy: Policy
    """What its checkpoint makes agents do, on rows of `data.world`."""
    bars_per_year: float
    workspace: Path
    """Where its data are."""

    def bars(self, part: Part | IndexRange) -> IndexRange:
        """Return the bars of a part of the run's split, or others, from where they are usable.

        Raises:
            DataError: If they hold too few bars, or lie outside the data.
        """
        chosen = getattr(self.data.split, part) if isinstance(part, str) else part
        return ready_bars(self.data.world, chosen)

    def backtest(
        self,
        part: Part | IndexRange = "test",
        *,
        costs: CostProfile | None = None,
        delay_bars: int = 0,
        progress: Progress = ignore_progress,
    ) -> Backtest:
        """Backtest the run's policy; its own costs by default.

        Raises:
            DataError: If there are too few bars.
        """
        under_test = PolicyUnderTest(self.run.id, self.policy, costs, delay_bars)
        (only,) = self.backtest_all([under_test], part, progress=progress)
        return only

    def backtest_all(
        self,
        policies: Sequence[PolicyUnderTest],
        part: Part | IndexRange = "test",
        *,
        env: EnvConfig | None = None,
        progress: Progress = ignore_progress,
    ) -> tuple[Backtest, ...]:
        """Backtest policies on the run's symbols and bars, under its rules or others."""
        bars = self.bars(part)
        played = backtest_all(
            self.data.world,
            env or self.env,
            policies,
            bars_per_year=self.bars_per_year,
            bars=bars,
            progress=progress,
        )
        return tuple(replace(each, time_zone=self.data.time_zone) for each in played)

    def backtest_hold(
        self, part: Part | IndexRange, *, costs: CostProfile | None = None
    ) -> Backtest:
        """Backtest buying and holding every symbol of the run's agents, equal sleeves."""
        hold, env = [PolicyUnderTest("hold", buy_and_hold)], sleeve_config(costs or self.env.costs)
        return self.backtest_all(hold, part, env=env)[0]

    def with_world(self, data: TrainingData) -> EvaluatedRun:
        """Return the same run on other data of its kind: stressed, shuffled or reversed bars.

        Raises:
            ConfigError: If features, scale or agents are not the run's.
        """
        return replace(self, data=data, policy=open_policy(self.run, data))

    def on(self, whole: World) -> EvaluatedRun:
        """Return the same run on another world with every symbol of its data; see `with_world`."""
        world = select_symbols(whole, self.data.world.symbols)
        return self.with_world(replace(self.data, world=world, whole=whole))


def open_evaluated_run(reference: str, workspace: Path) -> EvaluatedRun:
    """Open a run with everything that judging it needs.

    Args:
        reference: Id of the run, the beginning of it, or its folder.
        workspace: Where runs and data are.

    Raises:
        ConfigError: If there is no such run, it is not finished, or its data are now others.
        StorageError: If it is damaged, or a file that a verdict reads is missing or was edited.
        UserError: If its data cannot be opened.
    """
    run = find_run(workspace / RUNS_FOLDER, reference)
    status = run.status()
    if status.state != "finished":
        raise ConfigError(
            "a run must be finished to be evaluated",
            was=status.state + (f": {status.reason}" if status.reason else ""),
            where=str(run.path),
            remedy=f"Go on with it: tradingbot train --resume {run.id}",
        )
    require_files(run)
    config = require_own_dataset(config_of_mapping(run.record.config), run, workspace)
    require_plugins(config)
    data = open_data(config, workspace)
    stored, found = run.record.data, data.identity
    if stored.data_sha256 != found.data_sha256:
        raise ConfigError(
            "a run must be evaluated on the data that it learned from",
            was=f"{found.label} ({found.data_sha256[:12]})",
            where=f"{run.id} learned from {stored.label} ({stored.data_sha256[:12]})",
            remedy="Bring the dataset back as it was, or train on the new one",
        )
    env, per_year = env_config(config), data.bars_per_year
    if config.environment.kind == "portfolio":
        from tradingbot.evaluation.analyses.portfolio_run import (
            ChainPolicy,
            PortfolioRun,
            traded_by_chain,
        )

        chain = load_chain(run)
        data = traded_by_chain(chain, data)
        return PortfolioRun(run, config, data, env, ChainPolicy(), per_year, workspace, chain=chain)
    policy = open_policy(run, data, workspace=workspace)
    return EvaluatedRun(run, config, data, env, policy, per_year, workspace)
