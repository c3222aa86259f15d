"""A checkpoint as a policy: everything comes from its folder, and nothing that learns is imported.

    loaded = load_policy(Path("workspace/runs/first"))
    policy = loaded.on_table(table)          # backtests: all bars at once
    live = loaded.live(bar=number)           # serving: one bar at a time, the same bits
    live.take(features)

Checkpoints of manifest version 2 are all that is needed; those of version 1 are read with the
record of their run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy, build_policy
from tradingbot.agents.option_policy import OptionPolicy, build_option_policy
from tradingbot.agents.options.market_options import MarketOptions
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.features.bar_scaling import scale_bar
from tradingbot.features.scaling import Scaler
from tradingbot.market.goals import AskedGoal
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.encoders.row import RowEncoder
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import LiveView, TableView
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.acting_checkpoint import acting_record, open_checkpoint
from tradingbot.runs.acting_reader import read_encoder, read_layout, read_options
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.embeddings import kept_embeddings
from tradingbot.runs.loading import Checkpoint
from tradingbot.runs.option_signals import option_signals

if TYPE_CHECKING:
    from tradingbot.data.splits import IndexRange  # reads calendars and tables


@dataclass(frozen=True, eq=False)
class StoredPolicy:
    """The agents of a checkpoint, and everything they act by."""

    checkpoint: Checkpoint
    acting: ActingRecord
    layout: ActorLayout
    encoder: Encoder | None
    """Frozen; None where rows are seen as they are."""
    scalers: tuple[Scaler, ...]
    """Of the first columns, in their order; empty in version 1, where they were not stored."""
    learned: tuple[tuple[Tensor, Tensor], ...] = ()
    """Own layers that agents learned with a master; empty: those of the checkpoint."""

    @property
    def agents(self) -> tuple[str, ...]:
        """N names, in order."""
        return self.checkpoint.manifest.agents

    @property
    def n_columns(self) -> int:
        """F: columns of what is seen of the market."""
        return len(self.acting.features)

    @property
    def seen_through(self) -> Encoder:
        """The encoder; rows as they are where there is none."""
        return self.encoder or RowEncoder(self.n_columns)

    def see(self, table: Tensor, workspace: Path | None = None) -> Tensor:
        """Return what the agents' heads read of a table (M, T, F): embeddings (M, T, E).

        Args:
            table: Scaled.
            workspace: Embeddings are kept there; nowhere by default.
        """
        if self.encoder is None:
            return table
        with torch_threads(self.acting.threads):  # the bits of training, kept by the same name
            return kept_embeddings(self.encoder, table, workspace)

    def on_table(
        self,
        table: Tensor,
        *,
        bars: IndexRange | None = None,
        workspace: Path | None = None,
        seen: Tensor | None = None,
    ) -> Policy:
        """Return the policy on rows of a table.

        Args:
            table: (N, T, F) float32, scaled: what agents see of the market at each bar; or
                (copies · N, T, F), several markets of the same agents one after another.
            bars: Bars of the table that will be traded, row 0 the first of them. All by default;
                encoders remember the bars before.
            workspace: Embeddings are kept there; nowhere by default.
            seen: What `see` made of the whole table, where that is at hand: with a full encoder it
                takes longer than all else.

        Raises:
            ConfigError: If the table has other columns or agents.
        """
        self._require_width(table.shape[0], table.shape[-1])
        seen = self.see(table, workspace) if seen is None else seen
        if bars is not None:
            seen = seen[:, bars.start : bars.stop].contiguous()
            table = table[:, bars.start : bars.stop]
        if self.acting.options is not None:
            return self._by_options(TableView(seen), table)
        return self.policy_on(TableView(seen))

    def _by_options(self, view: TableView, table: Tensor) -> OptionPolicy:
        """Return the policy that follows options, which read averages of the table."""
        read, record = read_options(self.acting), self.acting.options
        assert read is not None
        assert record is not None
        controller, rules = read
        signals = option_signals(table, self.scalers, self.agents)
        short = bool(self.acting.action.limits["allow_short"])
        options = MarketOptions(rules, signals, record.private, allow_short=short)
        return build_option_policy(
            self.checkpoint.agent,
            (controller, self.layout),
            view,
            options,
            n_agents=len(self.agents),
            reach=record.reach,
            goal=self._asked_goal,
        )

    def live(self, *, bar: int = 0) -> LivePolicy:
        """Return the policy one bar at a time.

        Args:
            bar: Number, in the table that backtests take, of the first bar that will be taken. A
                policy that begins in the middle acts as the table's does from the
                `lookback_bars`-th bar on that it takes.
        """
        view = LiveView(self.seen_through, len(self.agents), bar=bar)
        return LivePolicy(self, view, self.policy_on(view))

    def scale(self, features: np.ndarray[Any, Any], valid: np.ndarray[Any, Any]) -> Tensor:
        """Scale one bar as the table was scaled.

        Args:
            features: (N, C) float32 in the units of the features: the columns that scalers are of.
            valid: (N,) bool; rows that are not become 0.

        Returns:
            (N, C) float32.

        Raises:
            ConfigError: If the checkpoint does not hold its scalers: it is of version 1, or was
                trained on other numbers.
        """
        if not self.scalers:
            raise ConfigError(
                "a checkpoint must hold its scalers to scale a bar",
                was=f"manifest version {self.checkpoint.manifest.version} without any",
                where=str(self.checkpoint.folder),
                remedy="Give `take` a bar that is scaled already, or train again",
            )
        bound = self.acting.feature_bound
        return torch.from_numpy(scale_bar(self.scalers, self.agents, features, valid, bound=bound))

    def policy_on(self, view: TableView) -> NetworkPolicy:
        """Return the policy on embeddings that are ready.

        Raises:
            ConfigError: If agents follow options, which read bars besides.
        """
        if self.acting.options is not None:
            raise ConfigError(
                "agents that follow options must act on a table of bars",
                was="embeddings alone",
                where=str(self.checkpoint.folder),
                remedy="Backtest or evaluate the run; it cannot be exported or served yet",
            )
        agents = (self.checkpoint.agent, self.layout, view, len(self.agents))
        policy = build_policy(*agents, self._asked_goal)
        return policy.with_layers(self.learned) if self.learned else policy

    @property
    def _asked_goal(self) -> AskedGoal | None:
        """What agents are asked for, where they were trained towards goals."""
        record = self.acting.goal
        return None if record is None else AskedGoal(**record.model_dump())

    def _require_width(self, n_rows: int, n_columns: int) -> None:
        wanted = (len(self.agents), self.n_columns)
        if not n_rows or n_rows % wanted[0] or n_columns != wanted[1]:
            raise ConfigError(
                "a table must have the agents and columns that the checkpoint names",
                was=f"{n_rows} × {n_columns}",
                where=f"{self.checkpoint.folder}: {wanted[0]} × {wanted[1]}",
                remedy="Build it of the features in the manifest, in their order",
            )


@dataclass(frozen=True, eq=False)
class LivePolicy:
    """A policy that sees one bar at a time."""

    loaded: StoredPolicy
    view: LiveView
    policy: NetworkPolicy

    def take(self, row: Tensor) -> None:
        """Take the next bar (N, F) of every agent, scaled, all columns."""
        with torch_threads(self.loaded.acting.threads):
            self.view.take(row)

    def act(self, private: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Return actions (N,) at the bar that was taken last.

        Args:
            private: (18, N) what the accounts know of themselves, as `market.observation` writes
                it.
            allowed: (7, N) bool, codes that may be executed; None unless actions are codes.
        """
        row = torch.arange(len(self.loaded.agents))
        nothing = private.new_empty(len(row), 0)  # networks see the view, not these
        return self.policy(PolicyInputs(row, nothing, nothing, private, allowed))


def load_policy(source: Path | RunDirectory | Checkpoint) -> StoredPolicy:
    """Build what a checkpoint does from its folder.

    Args:
        source: A run, or its folder: acts from the selected checkpoint; else from the best; else
            from the final one. Or a checkpoint, or its folder.

    Raises:
        StorageError: If there is no checkpoint to act from, or it is damaged.
        ConfigError: If it describes what this version cannot build.
    """
    checkpoint = open_checkpoint(source)
    acting = acting_record(checkpoint, source)
    scalers = tuple(record.scaler() for record in acting.scalers)
    encoder = read_encoder(checkpoint, acting)
    return StoredPolicy(checkpoint, acting, read_layout(acting), encoder, scalers)
