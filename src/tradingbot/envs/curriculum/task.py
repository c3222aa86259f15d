"""The curriculum of a population: every agent in generated markets that get harder, then its own.

Markets of all stages are further series of the task's table, behind the run's own: block b holds
series b · N … b · N + N − 1, block 0 the run's own bars. What a lane trades in, and at what costs,
follows from its row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.curriculum.agent_progress import (
    advance_progress,
    begin_progress,
    pack_progress,
    unpack_progress,
)
from tradingbot.envs.curriculum.env import CurriculumConfig, Progress, stage_costs, stage_world
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.population.task import PopulationTask
from tradingbot.envs.world import FloatArray, World
from tradingbot.learning.task import TaskState, TaskStep, repeat_lanes
from tradingbot.market.account import Account, select
from tradingbot.market.advance import advance
from tradingbot.market.bars import tensor_market
from tradingbot.market.compiled import PackedStep, allowed_codes
from tradingbot.market.curriculum.difficulty import DifficultyState
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.curriculum.stages import BARS_PER_YEAR, CurriculumState
from tradingbot.market.episodes import begin, own_symbols
from tradingbot.market.maths import TENSOR_MATHS
from tradingbot.market.observation import observe_opened
from tradingbot.market.packing import PackedAccount, pack, pack_rates, unpack, unpack_rates
from tradingbot.market.statistics import account_statistics


class _Market(NamedTuple):
    """The market of a stage at a level, and what trading costs there."""

    world: World
    rates: Tensor
    """(5,)"""


class CurriculumTask(PopulationTask):
    """A population whose agents begin in easy generated markets; a `learning.task.Task`.

    Each agent passes stages by the episodes of its own environments. Stage and level change what
    the next episodes are played in; those under way go on where they are. The state is the packed
    account and the agents' progress (9 + R, N · B).
    """

    def __init__(
        self,
        own: PopulationTask,
        settings: CurriculumSettings,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """Generate the markets of all stages.

        Args:
            own: The run's own bars; its symbols, table and starts stay as they are.
            settings: Stages and rules.
            interrupted: Asked after every market.

        Raises:
            DataError: If no episode fits into as many bars as the run's own data have.
            InterruptionError: If the answer was yes.
        """
        vars(self).update(vars(own))
        self._own, self.settings = own, settings
        self._n_levels = settings.levels if settings.adaptive else 1
        device, dtype = own.table.device, own._market.dtype
        markets = []
        for market in _make_markets(own, settings, self._n_levels, dtype):
            markets.append(market)
            if interrupted():
                raise InterruptionError("generating the markets of a curriculum was interrupted")
        worlds = [each.world for each in markets]
        shown = [market_table(_same_columns(world, own.world), device) for world in worlds]
        self.table = torch.cat([own.table, *shown])
        prices, present = (
            np.concatenate([getattr(world, name) for world in (own.world, *worlds)])
            for name in ("prices", "present")
        )
        self._market = tensor_market(prices, present, dtype=dtype, device=device)
        self._block_rates = torch.stack([own.packed_rates, *(m.rates for m in markets)], dim=1)
        self._limits = torch.tensor(
            [[s.min_sharpe, s.min_win_rate_frac, s.min_trades] for s in settings.stages],
            dtype=torch.float64,
            device=device,
        )
        possible = [own.possible_starts, *(start_mask(world, own.config) for world in worlds)]
        lines = own_symbols(np.concatenate(possible), 1, 0, recency=own.recency)
        agent = torch.arange(len(self.agent_names), device=device).repeat_interleave(self.n_envs)
        self._agent = agent.int()
        first = self._agent + len(self.agent_names)  # block 1: the first market of stage 0
        self._step_from(own.starts._replace(choices=lines.choices.to(device), offset=first))

    @property
    def own_bars(self) -> PopulationTask:
        """The run's own bars, without generated markets."""
        return self._own

    def repeated(self, times: int) -> CurriculumTask:
        """Return a task with the same environments so many times over; see `repeat_task`.

        Episodes of all of them count for their agent's progress.
        """
        task = super().repeated(times)
        task._agent = repeat_lanes(self._agent, len(self.agent_names), times)
        return task

    def keeping(self, first: int, count: int) -> CurriculumTask:
        """Return itself, if all environments are kept; agents progress by all of theirs.

        Raises:
            ConfigError: If some are not.
        """
        if (first, count) != (0, self.n_envs):
            rule = "a curriculum must be played as a whole: agents progress by all environments"
            remedy = "Set learner.impala.actors=1, or learner.ppo.paired_envs=1"
            raise ConfigError(rule, was=f"{count} of {self.n_envs} environments", remedy=remedy)
        return self

    def metrics(self, state: TaskState) -> dict[str, Tensor]:
        """Tell where agents stand, (N,) each: see docs/environments/curriculum.md."""
        now = unpack_progress(state[2], self.n_envs)
        passed = (now.completed > 0.0) | (now.stage >= len(self.settings.stages))
        return {
            "curriculum/unpassed_episodes": torch.where(passed, 0.0, now.episodes),
            "curriculum/stage": now.stage,
            "curriculum/level": now.level,
            "curriculum/episodes": now.episodes,
            "curriculum/success": now.success_frac,
        }

    def _open(self) -> TaskState:
        n_agents = len(self.agent_names)
        progress = begin_progress(self.settings, n_agents, self.n_envs).to(self.table.device)
        return (*super()._open(), progress)

    def _rates_of(self, state: TaskState) -> Tensor:
        return self._block_rates[:, self._block(PackedAccount(*state[:2]).row)]

    def _named(self, before: TaskState, action: Tensor, made: PackedStep) -> TaskStep:
        ended, progress = made.terminated | made.truncated, before[2]
        # A GPU computes it always: asking would make the host wait.
        if ended.is_cuda or bool(ended.any()):
            with torch.no_grad():
                progress = self._judge(before, action, ended)
                begun = self._begin_next(unpack(made.account), progress)
                private = observe_opened(self.config.rules, begun)
            account = select(ended, begun, unpack(made.account))
            rates = unpack_rates(self._block_rates[:, self._block(account.row)])
            made = made._replace(
                account=pack(account),
                private=torch.where(ended, private, made.private),
                allowed=allowed_codes(self.config.rules, rates, account),
            )
        named = super()._named(before, action, made)
        return named._replace(state=(*named.state, progress))

    def _block(self, row: Tensor) -> Tensor:
        """Return the block (N · B,) that rows are in."""
        return row.long() // (self.world.n_bars * len(self.agent_names))

    def _stage(self, block: Tensor) -> Tensor:
        """Return the stage (N · B,) of blocks; their number for the run's own bars."""
        stage = (block - 1) // (self.settings.markets_per_stage * self._n_levels)
        return torch.where(block == 0, len(self.settings.stages), stage)

    def _judge(self, before: TaskState, action: Tensor, ended: Tensor) -> Tensor:
        """Return the progress after episodes that ended: their last bar is played without reset."""
        packed, action = self._lanes(before, action)
        account, rules = unpack(packed), self.config.rules
        bar, rates = self._market.bar(account.row + 1), unpack_rates(self._rates_of(before))
        last = advance(rules, rates, account, bar, action).after
        found = account_statistics(rules, last, TENSOR_MATHS)
        annual = found.sharpe * math.sqrt(BARS_PER_YEAR)
        reached = torch.stack([annual, found.win_rate_frac, last.n_trades.to(annual.dtype)])
        played, n_stages = self._stage(self._block(account.row)), len(self.settings.stages)
        limits = self._limits[played.clamp_max(n_stages - 1)].T.to(annual.dtype)
        success = (reached >= limits).all(0) & (played < n_stages)
        now = unpack_progress(before[2], self.n_envs)
        counts = self._by_agent(ended) & (self._by_agent(played) == now.stage[:, None])
        returned = last.equity / rules.account.initial_cash_ccy - 1.0
        told = (success, returned.double(), found.win_rate_frac.double())
        after = advance_progress(self.settings, now, counts, *map(self._by_agent, told))
        return pack_progress(after, self.n_envs)

    def _begin_next(self, account: Account, progress: Tensor) -> Account:
        """Open accounts in the markets that their agents have come to."""
        now = unpack_progress(progress, self.n_envs)
        stage, level = (part.repeat_interleave(self.n_envs) for part in (now.stage, now.level))
        n_markets, n_levels = self.settings.markets_per_stage, self._n_levels
        market = account.episode // self.settings.episodes_per_market % n_markets
        place = (level * (n_levels - 1)).round().long()
        block = 1 + (stage.long() * n_markets + market) * n_levels + place
        block = torch.where(stage == len(self.settings.stages), 0, block)
        line = (block * len(self.agent_names) + self._agent).int()
        cash_ccy = self.config.rules.account.initial_cash_ccy
        return begin(self.starts._replace(offset=line), self._market, cash_ccy, account.episode)


def _make_markets(
    own: PopulationTask, settings: CurriculumSettings, n_levels: int, dtype: torch.dtype
) -> Iterator[_Market]:
    """Generate markets stage by stage, one after another, each at every level."""
    config = CurriculumConfig(
        env=EnvConfig(rules=own.config.rules),
        stages=settings.stages,
        rule=settings.rule,
        difficulty=settings.difficulty if settings.adaptive else None,
        n_symbols=own.world.n_symbols,
        n_bars=own.world.n_bars,
        episodes_per_world=1,
        seed=own.seed % 2**63,
    )
    for stage in range(len(settings.stages)):
        for number in range(settings.markets_per_stage):
            for place in range(n_levels):
                level = place / max(n_levels - 1, 1)
                at = Progress(CurriculumState(stage, number), DifficultyState(level))
                rates = stage_costs(config, at).rates(dtype=dtype, device=own.table.device)
                yield _Market(stage_world(config, at), pack_rates(rates))


def _same_columns(world: World, like: World) -> World:
    """Show a generated world in the columns of another; what it does not have is 0, the mean."""

    def columns(values: FloatArray, names: tuple[str, ...], wanted: tuple[str, ...]) -> FloatArray:
        empty = np.zeros(values.shape[:2], np.float32)
        parts = [values[..., names.index(name)] if name in names else empty for name in wanted]
        return np.stack(parts, axis=-1)

    return replace(
        world,
        features=columns(world.features, world.feature_names, like.feature_names),
        regimes=columns(world.regimes, world.regime_names, like.regime_names),
        feature_names=like.feature_names,
        regime_names=like.regime_names,
    )
