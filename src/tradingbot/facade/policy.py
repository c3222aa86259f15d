"""`tb.load_policy`: what a trained run does, on its own bars or on others of its kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tradingbot.agents.policy import Policy
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.build_world import world_from_inputs, world_from_panel
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.envs.world import World, select_symbols
from tradingbot.evaluation.analyses.portfolio_run import as_learned_with, play_chain
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.facade.bars import Bars, open_workspace
from tradingbot.facade.training import Run
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel, panel_specs
from tradingbot.features.registry import registered_features
from tradingbot.features.scaling import Scaler
from tradingbot.runs import RunDirectory, find_run
from tradingbot.runs.acting_checkpoint import acting_checkpoint
from tradingbot.runs.finding import is_portfolio, require_single_accounts
from tradingbot.runs.master import StoredChain, load_chain
from tradingbot.runs.policy import load_policy as load_acting
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import open_data
from tradingbot.training.own_dataset_names import with_own_dataset
from tradingbot.training.plugins import require_plugins
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.setup import env_config
from tradingbot.training.sleeve_agents import open_sleeve_agents
from tradingbot.training.sleeve_book import book_through, portfolio_terms
from tradingbot.training.trained_sleeves import SleeveAgents


@dataclass(frozen=True, eq=False, repr=False)
class LoadedPolicy:
    """The agents of a finished run, ready to trade; `tb.backtest` takes it.

    Features of other bars are scaled by the statistics of the run's own training bars.
    """

    run: RunDirectory
    config: TrainConfig
    workspace: Path
    chain: StoredChain | None = None
    """Master and agents of a portfolio, which trades all symbols in one account."""

    @property
    def name(self) -> str:
        """Id of the run."""
        return self.run.id

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols that have an agent, or a sleeve of the portfolio, in order."""
        return self.run.record.data.agents if self.chain is None else self.chain.record.symbols

    @property
    def rules(self) -> EnvConfig:
        """Rules, costs and reward that it was trained with."""
        return env_config(self.config)

    def world_of(self, data: Bars | Panel | World) -> World:
        """Return bars as its agents see them: their symbols, features scaled as in training.

        Raises:
            ConfigError: If features are not the run's.
            DataError: If a symbol is missing.
        """
        if isinstance(data, World):
            return select_symbols(data, self.symbols)
        if isinstance(data, Panel):
            scaler, more = self._scalers()
            whole = world_from_panel(data, scaler=scaler, covariate_scaler=more)
            return select_symbols(whole, self.symbols)
        if data.dataset.manifest.content_sha256 == self.run.record.data.dataset_sha256:
            return open_data(self.config, self.workspace).world
        return select_symbols(self._scaled(data.inputs, data), self.symbols)

    def on(self, world: World) -> Policy:
        """Return the policy on rows of a world that `world_of` made.

        Raises:
            ConfigError: If it is a portfolio, which is no policy of single accounts.
        """
        require_single_accounts(self.run)
        return open_policy(self.run, _Acting(world, self.run), workspace=self.workspace)

    def play(
        self, world: World, bars: IndexRange, under_test: PolicyUnderTest, bars_per_year: float
    ) -> Backtest:
        """Let a portfolio trade bars of a world that `world_of` made, in its one account.

        Args:
            world: Its sleeves trade it from the first ready bar on.
            bars: Of the portfolio.
            under_test: Name, costs and delay; the policy is this one.
            bars_per_year: To annualise with.
        """
        assert self.chain is not None
        sleeves = self.config.environment.portfolio.sleeves
        identity = _Acting(world, self.run).identity
        own = open_sleeve_agents(sleeves, world, identity, self.workspace, keeps=False)
        data = _Sleeves(world, as_learned_with(self.chain, own))
        env, seed = self.rules, self.run.record.seeds["root"]
        env = env if under_test.costs is None else replace(env, costs=under_test.costs)
        book = book_through(self.chain.projection, self.config, data, env, seed)
        task = PortfolioTask(book, portfolio_terms(self.config, env), n_envs=1, seed=seed)
        return play_chain(self.chain, task, bars, under_test, bars_per_year)

    def _scaled(self, inputs: MarketInputs, data: Bars) -> World:
        label = f"{data.name} ({data.dataset.id[:8]}), as {self.run.id} sees it"
        scaler, more = self._scalers()
        return world_from_inputs(
            inputs,
            label=label,
            synthetic=data.synthetic,
            scaler=scaler,
            covariate_scaler=more,
            feature_set=self.config.features,
        )

    def _scalers(self) -> tuple[Scaler, Scaler | None]:
        """Return the checkpoint's scalers of features and, where there is one, of covariates."""
        loaded = load_acting(self.run)
        if loaded.scalers:
            return loaded.scalers[0], loaded.scalers[1] if loaded.scalers[1:] else None
        normaliser = loaded.checkpoint.normaliser
        if not normaliser:
            raise ConfigError(
                "a run must have stored its scaler to trade other bars",
                was="a market generated in memory, by an older version",
                where=self.run.id,
                remedy="Train again",
            )
        centre, scale = (normaliser[name].numpy() for name in ("centre", "scale"))
        names = tuple(spec.name for spec in panel_specs(()) if spec.family == "technical")
        symbols = self.run.record.data.agents if centre.ndim > 1 else None
        kind = self.config.scaling.kind
        return Scaler(kind, names, symbols, centre, scale, centre * 0.0, 0, 0), None

    def __repr__(self) -> str:
        few = ", ".join(self.symbols[:4]) + (" …" if len(self.symbols) > 4 else "")
        learner = self.run.record.learner
        kind = "agents" if self.chain is None else "sleeves of one portfolio"
        return f"<Policy of run {self.run.id}: {learner}, {len(self.symbols)} {kind}: {few}>"


@dataclass(frozen=True, eq=False)
class _Sleeves:
    """Bars and agents of a portfolio's sleeves."""

    world: World
    sleeve_agents: SleeveAgents | None


@dataclass(frozen=True, eq=False)
class _Acting:
    """Rows to act on, with the identity that weights are compared with."""

    world: World
    run: RunDirectory

    @property
    def identity(self) -> Any:
        """The run's, with the columns and agents of the world."""
        known = registered_features()
        covariates = [name for name in self.world.feature_names if name not in known]
        ids = {spec.name: spec.id for spec in panel_specs(covariates, "relative")}
        own = self.run.record.data
        n_columns = len(self.world.feature_names) + len(self.world.regime_names)
        names = (*self.world.feature_names, *self.world.regime_names)
        return own.model_copy(
            update={
                "feature_ids": (*(ids[name] for name in names), *own.feature_ids[n_columns:]),
                "agents": self.world.symbols,
            }
        )


def locate_run(
    run: Run | str | Path, workspace: str | Path | None = None
) -> tuple[RunDirectory, Path]:
    """Return a run and the workspace that it is in; arguments are those of `load_policy`.

    Raises:
        ConfigError: If there is no such run.
        StorageError: If it is damaged.
    """
    if isinstance(run, Run):
        return run.directory, run.workspace
    path = Path(run)
    inferred = path.resolve().parents[1] if path.is_dir() else open_workspace(workspace)
    folder = open_workspace(workspace) if workspace is not None else inferred
    reference = str(path.resolve() if path.is_dir() else run)
    return find_run(folder / RUNS_FOLDER, reference), folder


def load_policy(run: Run | str | Path, *, workspace: str | Path | None = None) -> LoadedPolicy:
    """Open what a finished run does.

    Args:
        run: What `tb.train` returned; or the id of a run, the beginning of it, or its folder.
        workspace: Where the run is; told from the folder by default.

    Raises:
        ConfigError: If there is no such run, or it needs a plugin that is not loaded.
        StorageError: If it is damaged.
    """
    found, folder = locate_run(run, workspace)
    config = config_of_mapping(found.record.config)
    config = with_own_dataset(config, found.record.data.dataset_sha256, folder)
    require_plugins(config)
    acting_checkpoint(found)  # refused now, not in the middle of a backtest
    return LoadedPolicy(found, config, folder, load_chain(found) if is_portfolio(found) else None)
