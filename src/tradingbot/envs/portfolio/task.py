"""The master's task of learners: weights of N sleeves and cash, in B portfolios at once.

`PortfolioEnv` for a batch: sleeves are lanes of one simulation, traded by a frozen policy; capital
moves between them by `accounting.rebalance`, portfolio by portfolio, in float64 on the CPU.
Lane = portfolio · N + sleeve.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.population.layout import market_table, require_bars
from tradingbot.envs.population.task import PRIVATE_NAMES
from tradingbot.envs.portfolio.accounting import Rebalanced, SleeveMoves, rebalance, sleeve_moves
from tradingbot.envs.portfolio.env import PORTFOLIO_HIGH, PORTFOLIO_LOW, on_simplex, read_answer
from tradingbot.envs.world import World, require_world
from tradingbot.learning.task import ActionSpec, Observation, TaskState, TaskStep, TransitionExtras
from tradingbot.market.account import Account, select
from tradingbot.market.advance import advance
from tradingbot.market.bars import tensor_market
from tradingbot.market.episodes import begin, fixed_symbols
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack

SleeveDecision = Callable[[Tensor, Tensor], Tensor]
"""Rows (L,) of the market and private numbers (18, L) of sleeves → their actions (L,); pure."""


class PortfolioNumbers(NamedTuple):
    """What a portfolio is worth, (B,) float64 each; the value is 1 at the start."""

    value: Tensor
    peak: Tensor
    growth: Tensor
    """Value ÷ value before, over the last bar."""
    turnover: Tensor
    """Notional that was traded to move capital in the last bar, of the value."""
    cost: Tensor
    """What that took, of the value."""
    halted: Tensor
    """1 after it lost `portfolio_loss_frac`: all is wanted in cash."""
    episode: Tensor


def portfolio_inputs(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """Name what the agent of a portfolio sees beside the market, in order."""
    return (
        *(f"{symbol}.{name}" for symbol in symbols for name in PRIVATE_NAMES),
        *(f"weight.{name}" for name in (*symbols, "cash")),
        *("total_return", "drawdown", "last_return"),
    )


class PortfolioTask:
    """One agent that gives capital to N sleeves, in B environments; a `learning.task.Task`.

    The table (1, T, N · F) shows all symbols at once. Private numbers: 18 of every sleeve's
    account, the weights as they have drifted, and total return, drawdown and last return of the
    portfolio. The state is the sleeves' packed accounts (19, B · N) and (22, B · N), weights
    (N + 1, B), cash last, and `PortfolioNumbers` (7, B).
    """

    agent_names: tuple[str, ...] = (PORTFOLIO,)
    code_names: tuple[str, ...] = ("HOLD", "REBALANCE")
    term_names: tuple[str, ...] = ("growth", "rebalancing")
    carries = TransitionExtras(episode=True, terms=True, turnover=True)
    resets = True

    def __init__(
        self, world: World, config: EnvConfig, decide: SleeveDecision, *, n_envs: int, seed: int
    ) -> None:
        """Prepare a world of N symbols and what trades their sleeves.

        Args:
            world: What is traded and seen.
            config: Rules and costs of the sleeves; moving capital costs the same commission,
                slippage and half spread.
            decide: Frozen policy of the sleeves, in the action space of the rules.
            n_envs: B, portfolios.
            seed: Root of all starts.

        Raises:
            DataError: If no window and episode fit into the world.
        """
        require_world(world)
        self.world, self.config, self.n_envs, self.seed = world, config, n_envs, seed
        self.action = ActionSpec.simplex(world.n_symbols + 1)
        self.private_names = portfolio_inputs(world.symbols)
        self.n_private = len(self.private_names)
        self.table = market_table(world).transpose(0, 1).reshape(1, world.n_bars, -1).contiguous()
        self._decide = decide
        self._market = tensor_market(world.prices, world.present, dtype=torch.float64)
        self._rates = config.costs.rates(dtype=torch.float64)
        self._starts = fixed_symbols(start_mask(world, config), n_envs, seed)

    @property
    def episode_bars(self) -> int:
        """Steps of an episode that does not end in ruin."""
        return self.config.rules.episode.episode_bars

    def during(self, first_bar: int, last_bar: int) -> PortfolioTask:
        """Return the same task with all episodes between two bars of the world, both included.

        Raises:
            DataError: If these are no bars of the world, or no episode fits.
        """
        require_bars(self.world, first_bar, last_bar)
        bars = np.arange(self.world.n_bars)
        possible = start_mask(self.world, replace(self.config, starts="random"))
        possible = possible & (bars >= first_bar) & (bars + self.episode_bars <= last_bar)
        if not possible.any():
            raise DataError(
                "an episode must fit between the bars of a task",
                was=f"{self.episode_bars} bars into {first_bar} … {last_bar}",
                where=self.world.label,
                remedy="Use more bars, or a shorter task.rules.episode.episode_bars",
            )
        task = copy.copy(self)
        task._starts = fixed_symbols(possible, self.n_envs, self.seed)
        return task

    def backtest(self, first_bar: int, last_bar: int) -> PortfolioTask:
        """Return the backtest of some bars: one portfolio, one episode, which nothing follows."""
        require_bars(self.world, first_bar, last_bar)
        episode = replace(self.config.rules.episode, episode_bars=last_bar - first_bar)
        task = copy.copy(self)
        task.resets, task.n_envs = False, 1
        task.config = replace(self.config, rules=replace(self.config.rules, episode=episode))
        only = np.broadcast_to(np.arange(self.world.n_bars) == first_bar, self.world.usable.shape)
        task._starts = fixed_symbols(only, 1, 0)
        return task

    def begin(self) -> tuple[TaskState, Observation]:
        """Open every portfolio, all in cash."""
        zero, n = torch.zeros(self.n_envs, dtype=torch.float64), self.world.n_symbols
        numbers = PortfolioNumbers(*[zero + 1.0] * 3, *[zero] * 4)
        weights = torch.cat([torch.zeros(n, self.n_envs), torch.ones(1, self.n_envs)]).double()
        episode = torch.zeros(n * self.n_envs, dtype=torch.int32)
        account = begin(self._starts, self._market, self._cash_ccy, episode)
        state = (*pack(account), weights, torch.stack(numbers))
        return state, self.observe(state)

    @torch.no_grad()
    def step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Move capital at the next open by weights (1, B, N + 1) and trade every sleeve."""
        account, weights, now = self._read(state)
        private = observe_accounts(self.config.rules, account)
        asked = self._decide(account.row.long(), private)
        actions = read_answer(asked, self.config, len(account.row))
        bar = self._market.bar(account.row + 1)
        advanced = advance(self.config.rules, self._rates, account, bar, actions)
        moved = self._rebalance(weights, action[0], now, sleeve_moves(advanced, bar))
        value = now.value * _column(moved, "total")
        limit = 1.0 - self.config.rules.account.portfolio_loss_frac
        lost = value <= limit
        over = advanced.after.steps.view(self.n_envs, -1)[:, 0] >= self.episode_bars
        after = PortfolioNumbers(
            value=value,
            peak=torch.maximum(now.peak, value),
            growth=_column(moved, "total"),
            turnover=_column(moved, "turnover_frac"),
            cost=1.0 - _column(moved, "cost"),
            halted=torch.maximum(now.halted, lost.double()),
            episode=now.episode,
        )
        left = torch.from_numpy(np.stack([each.weights for each in moved], -1))
        return self._end(state, (advanced.after, left, after), moved, (lost, over & ~lost))

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Refuse: capital moves by arithmetic that has no gradients.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError("a portfolio must be learned without its gradient", remedy="Use PPO")

    def observe(self, state: TaskState) -> Observation:
        """See a state."""
        account, weights, now = self._read(state)
        row = (account.row.long() % self.world.n_bars).view(self.n_envs, -1)[:, 0]
        return Observation(row[None], self._private(account, weights, now), self._no_codes)

    def wealth(self, state: TaskState) -> Tensor:
        """Return the value of each portfolio, (1, B)."""
        return self._read(state)[2].value[None]

    @property
    def _cash_ccy(self) -> float:
        return self.config.rules.account.initial_cash_ccy

    @property
    def _no_codes(self) -> Tensor:
        return torch.zeros(1, self.n_envs, 0, dtype=torch.bool)

    def _read(self, state: TaskState) -> tuple[Account, Tensor, PortfolioNumbers]:
        money, counts, weights, numbers = state
        return unpack(PackedAccount(money, counts)), weights, PortfolioNumbers(*numbers)

    def _rebalance(
        self, weights: Tensor, wanted: Tensor, now: PortfolioNumbers, moves: SleeveMoves
    ) -> list[Rebalanced]:
        """Carry every portfolio over one bar; one that is halted wants all in cash."""
        n, cost_frac = self.world.n_symbols, self.config.costs.one_way_frac
        all_cash = np.append(np.zeros(n), 1.0)
        by_portfolio = [part.reshape(self.n_envs, n) for part in moves]
        made = []
        for b in range(self.n_envs):
            want = all_cash if now.halted[b] else on_simplex(wanted[b].numpy(), n)
            own = SleeveMoves._make(part[b] for part in by_portfolio)
            made.append(rebalance(weights[:, b].numpy(), want, own, cost_frac))
        return made

    def _end(
        self,
        before: TaskState,
        after: tuple[Account, Tensor, PortfolioNumbers],
        moved: list[Rebalanced],
        ends: tuple[Tensor, Tensor],
    ) -> TaskStep:
        """Begin anew where an episode ended, and name what the step made."""
        account, weights, numbers = after
        final = self._private(account, weights, numbers)
        final_row = (account.row.long() % self.world.n_bars).view(self.n_envs, -1)[:, 0]
        ended = (ends[0] | ends[1]) if self.resets else torch.zeros_like(ends[0])
        if bool(ended.any()):
            lanes = ended.repeat_interleave(self.world.n_symbols)
            (_, _, weights_0, numbers_0), _ = self.begin()
            begun = begin(self._starts, self._market, self._cash_ccy, account.episode + 1)
            account = select(lanes, begun, account)
            weights = torch.where(ended, weights_0, weights)
            fresh = PortfolioNumbers(*numbers_0)._replace(episode=numbers.episode + 1.0)
            pairs = zip(fresh, numbers, strict=True)
            numbers = PortfolioNumbers(*(torch.where(ended, a, b) for a, b in pairs))
        state = (*pack(account), weights, torch.stack(numbers))
        terms = torch.tensor(
            [[each.reward_terms[name] for each in moved] for name in self.term_names]
        )[:, None]
        turnover = after[2].turnover
        traded = turnover > 0.0
        return TaskStep(
            state=state,
            observation=self.observe(state),
            final_row=final_row[None],
            final_private=final,
            final_return=(after[2].value - 1.0).float()[None],
            reward=terms.sum(0),
            terms=terms,
            terminated=(ends[0] & self.resets)[None],
            truncated=ends[1][None],
            executed=traded.long()[None],
            traded=traded[None],
            episode=before[3][-1].long()[None],
            turnover=turnover.float().masked_fill(ends[0] | ends[1], -1.0)[None],
        )

    def _private(self, account: Account, weights: Tensor, now: PortfolioNumbers) -> Tensor:
        """Return what the master sees beside the market, (1, B, P) float32."""
        sleeves = observe_accounts(self.config.rules, account).T.reshape(self.n_envs, -1)
        own = torch.stack([now.value - 1.0, 1.0 - now.value / now.peak, now.growth - 1.0], -1)
        low, high = torch.tensor([PORTFOLIO_LOW, PORTFOLIO_HIGH], dtype=torch.float64)
        parts = [sleeves, weights.T.clip(0.0, 1.0), torch.minimum(torch.maximum(own, low), high)]
        return torch.cat(parts, -1).float()[None]


def _column(moved: list[Rebalanced], name: str) -> Tensor:
    """Return a number of every portfolio, (B,) float64."""
    return torch.tensor([getattr(each, name) for each in moved], dtype=torch.float64)
