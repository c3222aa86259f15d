"""The trading task of learners: one agent per symbol, each in B environments, as tensors.

A rim around `market.compiled`: it lays out lanes, names what learners ask for, and keeps nothing;
all that changes is in the state that is handed from step to step. Lane = agent · B + environment.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.population.exact_step import exact_step
from tradingbot.envs.population.lanes import DividedLanes
from tradingbot.envs.population.layout import (
    action_spec,
    backtest_step,
    begin_together,
    market_table,
    may_compile,
    neutral_targets,
    require_bars,
    turnover_of,
)
from tradingbot.envs.world import World, require_world
from tradingbot.learning.task import Observation, TaskState, TaskStep, TransitionExtras
from tradingbot.market.bars import tensor_market
from tradingbot.market.compiled import (
    PackedStep,
    PackedStepFunction,
    allowed_codes,
    compiled_step,
    packed_step,
)
from tradingbot.market.episodes import Starts, begin, own_symbols
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, pack_rates, unpack, unpack_rates
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.options import Options

PRIVATE_NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)
_TOTAL_RETURN = PRIVATE_NAMES.index("total_return")


class PopulationTask(DividedLanes):
    """N agents, one per symbol of a world, in B environments each; a `learning.task.Task`.

    Every lane stays in its agent's symbol and draws the bars at which its episodes begin. The state
    is a packed account: money (19, N · B) and counts (22, N · B).

    Example:
        >>> from tradingbot.envs.build_world import synthetic_world
        >>> task = PopulationTask(synthetic_world(n_bars=800), EnvConfig(), n_envs=2, seed=7)
        >>> state, seen = task.begin()
        >>> task.step(state, torch.zeros(4, 2)).reward.shape
        torch.Size([4, 2])
    """

    resets = True
    recency = 0.0
    carries = TransitionExtras(episode=True, terms=True, turnover=True)
    options: Options | None = None
    """What learners of options choose from; of this task's rows and private numbers."""

    def __init__(
        self,
        world: World,
        config: EnvConfig,
        *,
        n_envs: int,
        seed: int,
        device: torch.device | str = "cpu",
        compiled: bool | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Bring a world to a device.

        Args:
            world: What is traded and seen; its symbols are the agents.
            config: Rules, costs and reward. How observations are laid out is not read.
            n_envs: B, environments of each agent.
            seed: Root of all starts.
            device: Where everything lives.
            compiled: Compile each kind of step at its first call, which takes some twenty seconds,
                forty with gradients; less once the compiler has it on disk. By default on CUDA.
            dtype: Number format of accounts; float64 for exact accounting.

        Raises:
            ConfigError: If there is no environment.
            DataError: If a symbol has no bar at which an episode may begin.
        """
        require_world(world)
        if isinstance(n_envs, bool) or not isinstance(n_envs, int) or n_envs < 1:
            raise ConfigError("n_envs must be a whole number, 1 or more", was=repr(n_envs))
        self.world, self.config, self.seed, self.n_envs = world, config, seed, n_envs
        self.agent_names, self.action = world.symbols, action_spec(config.rules)
        self.term_names = config.reward_stack.names
        self.code_names = tuple(action.name for action in Action)
        self.table = market_table(world, device)
        self._market = tensor_market(world.prices, world.present, dtype=dtype, device=device)
        self.packed_rates = pack_rates(config.costs.rates(dtype=dtype, device=device))
        self._compiled = may_compile(compiled, torch.device(device))
        self._show(PRIVATE_NAMES)
        self._lay_out(self._possible())

    @property
    def episode_bars(self) -> int:
        """Steps of an episode that does not end in ruin."""
        return self.config.rules.episode.episode_bars

    @property
    def own_bars(self) -> PopulationTask:
        """The task on the world's own bars: itself, unless it has others besides."""
        return self

    def showing(self, *names: str) -> PopulationTask:
        """Return the same task with fewer private numbers, in the order given.

        Raises:
            ConfigError: If there is none, or one is not in `PRIVATE_NAMES`.
        """
        for name in names:
            require_known(name, PRIVATE_NAMES, "private number must be a known one")
        if not names:
            raise ConfigError("an agent must see a private number", was="none")
        task = copy.copy(self)
        task._show(names)
        return task

    def dress(self, task: PopulationTask) -> PopulationTask:
        """Show in another task, such as a backtest, what this one shows."""
        return task.showing(*self.private_names)

    def show_private(self, numbers: Tensor) -> Tensor:
        """Lay what accounts know of themselves, (18, N · B), out as (N, B, P) float32."""
        shown = numbers.float()
        if len(self._shown) != len(numbers):
            shown = shown.index_select(0, self._shown)
        return shown.T.reshape(len(self.agent_names), -1, len(shown))

    def during(
        self, first_bar: int, last_bar: int, *, recency: float | None = None
    ) -> PopulationTask:
        """Return the same task with all episodes between two bars of the world, both included.

        Rows keep their numbers: views and learners of one task serve the other.

        Args:
            first_bar: Where the first episode may begin.
            last_bar: Where the last one ends.
            recency: How much more often episodes begin late than early, see `own_symbols`; by
                default as before, at first all alike.

        Raises:
            DataError: If these are no bars of the world, or no episode of a symbol fits.
        """
        require_bars(self.world, first_bar, last_bar)
        bars = np.arange(self.world.n_bars)
        possible = start_mask(self.world, replace(self.config, starts="random"))
        possible = possible & (bars >= first_bar) & (bars + self.episode_bars <= last_bar)
        if self.config.starts == "first":
            possible = possible & (possible.cumsum(axis=1) == 1)
        task = copy.copy(self)
        task.recency = self.recency if recency is None else recency
        task._lay_out(possible)
        return task

    def begin(self) -> tuple[TaskState, Observation]:
        """Open every environment at its first episode."""
        state = self._open()
        return state, self.observe(state)

    def _open(self) -> TaskState:
        episode = torch.zeros(self.starts.key.shape, dtype=torch.int32, device=self.table.device)
        cash_ccy = self.config.rules.account.initial_cash_ccy
        return pack(begin(self.starts, self._market, cash_ccy, episode))

    def step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance by one bar with actions (N, B), without gradients."""
        with torch.no_grad():
            rates = self._rates_of(state)
            made = self._plain_step(rates, *self._lanes(state, action))
            return self._named(state, action, made)

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance by one bar; gradients flow from reward, state and private numbers to actions."""
        made = self._smooth_step(self._rates_of(state), *self._lanes(state, action))
        return self._named(state, action, made)

    def observe(self, state: TaskState) -> Observation:
        """See a state."""
        account = unpack(PackedAccount(*state[:2]))
        rules = self.config.rules
        allowed = allowed_codes(rules, unpack_rates(self._rates_of(state)), account)
        return Observation(
            self._by_agent(account.row.long()),
            PopulationTask.show_private(self, observe_accounts(rules, account)),
            self._allowed(allowed),
        )

    def wealth(self, state: TaskState) -> Tensor:
        """Return equity ÷ initial cash, (N, B)."""
        equity = unpack(PackedAccount(*state[:2])).equity
        return self._by_agent(equity / self.config.rules.account.initial_cash_ccy)

    def _possible(self) -> NDArray[np.bool_]:
        """Mark the bars, (N, T) or (T,), at which episodes may begin."""
        return start_mask(self.world, self.config)

    def _lay_out(self, possible: NDArray[np.bool_]) -> None:
        self.possible_starts = np.broadcast_to(possible, self.world.usable.shape)
        given = (self.possible_starts, self.n_envs, self.seed)
        if self.config.rules.action.neutral_gross_frac:
            starts = begin_together(*given, recency=self.recency)
        else:
            starts = own_symbols(*given, recency=self.recency, names=self.world.symbols)
        self._step_from(Starts(*(part.to(self.table.device) for part in starts)))

    def _step_from(self, starts: Starts) -> None:
        """Choose what makes the steps of lanes whose episodes begin at these places."""
        self.starts = starts
        rules, reward = self.config.rules, self.config.reward_stack
        again = starts if self.resets else None
        place = (rules, reward, self._market, again)
        self._plain_step: PackedStepFunction = packed_step(*place)
        self._smooth_step = self._plain_step
        if self._compiled:
            self._plain_step = compiled_step(*place)
            self._smooth_step = compiled_step(*place, differentiable=True)
        elif self.resets:
            self._plain_step = exact_step(*place)
        else:
            self._plain_step = backtest_step(rules, reward, self._market)

    def _rates_of(self, state: TaskState) -> Tensor:
        """Return what the next fills cost, (5,) or (5, N · B)."""
        return self.packed_rates

    def _show(self, names: tuple[str, ...]) -> None:
        self.private_names, self.n_private = names, len(names)
        places = [PRIVATE_NAMES.index(name) for name in names]
        self._shown = torch.tensor(places, device=self.table.device)

    def _lanes(self, state: TaskState, action: Tensor) -> tuple[PackedAccount, Tensor]:
        account = PackedAccount(*state[:2])
        if self.action.kind == "box":
            action = action.to(self._market.dtype)
        if self.config.rules.action.neutral_gross_frac:
            action = neutral_targets(self.config.rules.action, self._market, account, action)
        return account, action.reshape(-1)

    def _named(self, before: TaskState, action: Tensor, made: PackedStep) -> TaskStep:
        """Name what a step with `action` (N, B) made of a state."""
        row, account = self._by_agent(made.account.row.long()), PackedAccount(*before[:2])
        private = PopulationTask.show_private(self, made.private)
        return TaskStep(
            state=made.account,
            observation=Observation(row, private, self._allowed(made.allowed)),
            final_row=self._by_agent(account.row.long() + 1),
            final_private=PopulationTask.show_private(self, made.final_private),
            final_return=self._by_agent(made.final_private[_TOTAL_RETURN]),
            reward=self._by_agent(made.reward),
            terms=self._by_agent(made.terms),
            terminated=self._by_agent(made.terminated),
            truncated=self._by_agent(made.truncated),
            executed=self._by_agent(made.executed.long()),
            traded=self._by_agent(made.traded),
            episode=self._by_agent(account.episode),
            turnover=self._by_agent(turnover_of(before[0], made)),
        )

    def _by_agent(self, lanes: Tensor) -> Tensor:
        """See (…, N · B) as (…, N, B)."""
        return lanes.view(*lanes.shape[:-1], len(self.agent_names), self.n_envs)

    def _allowed(self, codes: Tensor) -> Tensor:
        """Lay (A, N · B) out as (N, B, A)."""
        return codes.T.reshape(len(self.agent_names), self.n_envs, len(codes))
