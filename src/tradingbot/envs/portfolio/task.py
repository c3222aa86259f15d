"""The master's task of learners: weights of N sleeves and cash, in B portfolios at once.

A program of tensors over the rows of a `SleeveBook`, on any device, with gradients where they are
asked for. One bar is `accounting.rebalance`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import DataError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.learning.task import ActionSpec, Observation, TaskState, TaskStep, TransitionExtras
from tradingbot.market.costs import CostProfile
from tradingbot.market.episodes import Starts, lane_key, start_rows
from tradingbot.market.params import SimulatorParams
from tradingbot.market.portfolio.accounting import Rebalanced, rebalance
from tradingbot.market.portfolio.inputs import portfolio_bounds, see_portfolio
from tradingbot.market.portfolio.net_orders import PortfolioHoldings, read_weights


@dataclass(frozen=True)
class PortfolioTerms(CheckedFields):
    """What portfolios trade by and are rewarded for."""

    rules: SimulatorParams = field(default_factory=SimulatorParams)
    """Capital, limits of the gate, loss that ends it, length of episodes."""
    costs: CostProfile = field(default_factory=CostProfile)
    """What net orders pay."""
    risk_aversion: float = bounded(0.0, "[0, inf)")
    """Weight of half the squared return of a bar, taken off the reward. Log growth itself dislikes
    risk as if this were 1; above 0, correlation and volatility count for more than that."""


class PortfolioNumbers(NamedTuple):
    """What a portfolio is worth, (B,) float64 each; the value is 1 at the start."""

    value: Tensor
    peak: Tensor
    growth: Tensor
    """Value ÷ value before, over the last bar."""
    turnover: Tensor
    """Notional of the net orders of the last bar, of the value."""
    cost: Tensor
    """What they cost, of the value."""
    halted: Tensor
    """1 after it lost `portfolio_loss_frac`: all is wanted in cash."""
    episode: Tensor
    bar: Tensor
    """Row of the book at whose close it is."""
    steps: Tensor
    """Bars of the episode so far."""


class PortfolioTask:
    """One agent that gives capital to N sleeves, in B environments; a `learning.task.Task`.

    The state is capital (N + 1, B), cash last, positions (N, B), both of the value, and
    `PortfolioNumbers` (9, B).
    """

    agent_names: tuple[str, ...] = (PORTFOLIO,)
    code_names: tuple[str, ...] = ("HOLD", "REBALANCE")
    term_names: tuple[str, ...] = ("growth", "costs", "risk")
    carries = TransitionExtras(episode=True, terms=True, turnover=True)
    resets = True

    def __init__(self, book: SleeveBook, terms: PortfolioTerms, *, n_envs: int, seed: int) -> None:
        """Prepare portfolios of a book's sleeves, on its device.

        Args:
            book: What sleeves do, and what is seen of them.
            terms: What portfolios trade by.
            n_envs: B.
            seed: Root of all starts.

        Raises:
            DataError: If no episode fits into the book.
        """
        self.book, self.terms, self.n_envs, self.seed = book, terms, n_envs, seed
        self.action = ActionSpec.simplex(book.n_sleeves + 1)
        self.members, self.private_names = book.inputs, book.private_names
        self.n_private, self.table = len(self.private_names), book.table
        self._rates = terms.costs.rates(dtype=torch.float64, device=book.rows.device)
        self._bounds = portfolio_bounds(book.rows)
        self._starts = self._starts_in(0, book.n_bars - 1)

    @property
    def episode_bars(self) -> int:
        """Steps of an episode that does not end in ruin."""
        return self.terms.rules.episode.episode_bars

    def during(self, first_bar: int, last_bar: int) -> PortfolioTask:
        """Return the same task with all episodes between two bars of the book, both included.

        Raises:
            DataError: If these are no bars of the book, or no episode fits.
        """
        self._require_bars(first_bar, last_bar)
        task = copy.copy(self)
        task._starts = self._starts_in(first_bar, last_bar)
        return task

    def backtest(self, first_bar: int, last_bar: int, n_envs: int = 1) -> PortfolioTask:
        """Return the backtest of some bars: so many portfolios, one episode, nothing follows."""
        self._require_bars(first_bar, last_bar)
        episode = replace(self.terms.rules.episode, episode_bars=last_bar - first_bar)
        task = copy.copy(self)
        task.resets, task.n_envs = False, n_envs
        task.terms = replace(self.terms, rules=replace(self.terms.rules, episode=episode))
        task._starts = self._starts_of(np.array([first_bar]), n_envs)
        return task

    def by_terms(self, terms: PortfolioTerms) -> PortfolioTask:
        """Return the same task by other limits, costs or capital; its sleeves trade as before."""
        task = copy.copy(self)
        task.terms = terms
        task._rates = terms.costs.rates(dtype=torch.float64, device=self.book.rows.device)
        return task

    def with_book(self, book: SleeveBook) -> PortfolioTask:
        """Return the same task over another book of the same sleeves and bars."""
        task = copy.copy(self)
        task.book, task.table = book, book.table
        return task

    def seeded(self, seed: int) -> PortfolioTask:
        """Return the same task whose episodes begin by another seed."""
        task = copy.copy(self)
        task.seed = seed
        task._starts = task._starts_of(self._starts.choices.cpu().numpy(), self.n_envs)
        return task

    def repeated(self, times: int) -> PortfolioTask:
        """Return a task with the same portfolios so many times over; see `repeat_task`."""
        return self._with_keys(self._starts.key.repeat(times))

    def keeping(self, first: int, count: int) -> PortfolioTask:
        """Return a task with some of the portfolios; see `keep_envs`."""
        return self._with_keys(self._starts.key[first : first + count])

    def begin(self, episode: int = 0) -> tuple[TaskState, Observation]:
        """Open every portfolio, all in cash, in the episode of a number."""
        number = torch.full((self.n_envs,), float(episode), device=self.table.device)
        state = self._opened(number)
        return state, self.observe(state)

    @torch.no_grad()
    def step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Move capital at the next open by weights (1, B, N + 1) and trade every sleeve."""
        return self.differentiable_step(state, action)

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Step so that gradients flow from rewards and state back to weights.

        What the gate refuses, and what has no market, has none.
        """
        now, made = _read(state)[1], self.rebalanced(state, action)
        value = now.value * made.total
        after = PortfolioNumbers(
            value=value,
            peak=torch.maximum(now.peak, value),
            growth=made.total,
            turnover=made.turnover,
            cost=made.cost,
            halted=torch.maximum(now.halted, (value <= self._least_value).to(value.dtype)),
            episode=now.episode,
            bar=now.bar + 1.0,
            steps=now.steps + 1.0,
        )
        return self._end(made, after)

    def rebalanced(self, state: TaskState, action: Tensor) -> Rebalanced:
        """Return what the bar after a state does by weights (1, B, N + 1): orders, costs, value."""
        before, now = _read(state)
        wanted = read_weights(action[0].to(now.value.dtype), now.halted)
        value_ccy = now.value * self._cash_ccy
        bars = self.book.bars(now.bar.long())
        return rebalance(self.terms.rules, self._rates, before, wanted, bars, value_ccy.detach())

    def observe(self, state: TaskState) -> Observation:
        """See a state."""
        return self._observed(*_read(state))

    def _observed(self, holdings: PortfolioHoldings, now: PortfolioNumbers) -> Observation:
        """See holdings, (1, B, 2 N + 4) float32 beside the market."""
        own = see_portfolio(holdings, now.value, now.peak, now.growth, self._bounds)[None]
        no_codes = torch.zeros(1, self.n_envs, 0, dtype=torch.bool, device=self.table.device)
        return Observation(now.bar.long()[None], own, no_codes)

    def numbers(self, state: TaskState) -> PortfolioNumbers:
        """Return what portfolios in a state are worth, (B,) each."""
        return _read(state)[1]

    def wealth(self, state: TaskState) -> Tensor:
        """Return the value of each portfolio, (1, B)."""
        return _read(state)[1].value[None]

    @property
    def _cash_ccy(self) -> float:
        return self.terms.rules.account.initial_cash_ccy

    @property
    def _least_value(self) -> float:
        return 1.0 - self.terms.rules.account.portfolio_loss_frac

    def _end(self, made: Rebalanced, numbers: PortfolioNumbers) -> TaskStep:
        """Begin anew where an episode ended, and name what the step made."""
        lost = numbers.value <= self._least_value
        over = (numbers.steps >= self.episode_bars) & ~lost
        after, seen = _written(made.after, numbers), self._observed(made.after, numbers)
        state, observation = after, seen
        ended = lost | over
        if self.resets and (ended.is_cuda or bool(ended.any())):
            pairs = zip(self._opened(numbers.episode + 1.0), after, strict=True)
            state = tuple(torch.where(ended, new, old) for new, old in pairs)
            observation = self.observe(state)
        terms = self._reward_terms(made)
        traded = made.turnover.detach() > 0.0
        return TaskStep(
            state=state,
            observation=observation,
            final_row=seen.row,
            final_private=seen.private,
            final_return=(numbers.value - 1.0)[None],
            reward=terms.sum(0),
            terms=terms.detach(),
            terminated=(lost & self.resets)[None],
            truncated=over[None],
            executed=traded.long()[None],
            traded=traded[None],
            episode=numbers.episode.long()[None],
            turnover=made.turnover.detach().float().masked_fill(ended, -1.0)[None],
        )

    def _reward_terms(self, made: Rebalanced) -> Tensor:
        """Return growth, costs and risk, (3, 1, B) float32."""
        risk = -0.5 * self.terms.risk_aversion * (made.total - 1.0).square()
        return torch.cat([made.reward_terms, risk[None]]).float()[:, None]

    def _opened(self, episode: Tensor) -> TaskState:
        """Return portfolios (B,) at the beginning of episodes, all in cash."""
        one = self.book.rows.new_ones(self.n_envs)
        bar = start_rows(self._starts, episode).to(one.dtype)
        zero, n = torch.zeros_like(one), self.book.n_sleeves
        now = PortfolioNumbers(one, one, one, zero, zero, zero, episode.to(one.dtype), bar, zero)
        capital = one.new_zeros(n + 1, self.n_envs)
        capital[-1] = 1.0
        return (capital, one.new_zeros(n, self.n_envs), torch.stack(now))

    def _starts_in(self, first_bar: int, last_bar: int) -> Starts:
        bars = np.arange(self.book.n_bars)
        fits = (bars >= first_bar) & (bars + self.episode_bars <= last_bar)
        choices = np.flatnonzero(self.book.usable & fits)
        if not len(choices):
            raise DataError(
                "an episode must fit between the bars of a task",
                was=f"{self.episode_bars} bars into {first_bar} … {last_bar}",
                where=self.book.label,
                remedy="Use more bars, or a shorter task.rules.episode.episode_bars",
            )
        return self._starts_of(choices, self.n_envs)

    def _starts_of(self, choices: NDArray[np.int64], n_envs: int) -> Starts:
        device = self.table.device
        keys = torch.tensor([lane_key(self.seed, lane) for lane in range(n_envs)], device=device)
        rows = torch.from_numpy(choices.astype(np.int32)).to(device)
        return Starts(rows, torch.zeros(n_envs, dtype=torch.int32, device=device), keys)

    def _with_keys(self, key: Tensor) -> PortfolioTask:
        task = copy.copy(self)
        task.n_envs = len(key)
        offset = self._starts.offset.new_zeros(len(key))
        task._starts = self._starts._replace(offset=offset, key=key)
        return task

    def _require_bars(self, first_bar: int, last_bar: int) -> None:
        if not 0 <= first_bar < last_bar < self.book.n_bars:
            rule = "a task's bars must be in the book, the first before the last"
            where = f"{self.book.n_bars} bars, {self.book.label}"
            raise DataError(rule, was=f"{first_bar} … {last_bar}", where=where)


def _read(state: TaskState) -> tuple[PortfolioHoldings, PortfolioNumbers]:
    capital, held, numbers = state
    return PortfolioHoldings(capital.T, held.T), PortfolioNumbers(*numbers)


def _written(holdings: PortfolioHoldings, numbers: PortfolioNumbers) -> TaskState:
    return holdings.capital.T, holdings.held.T, torch.stack(numbers)
