"""A finished portfolio run as the subject of an evaluation: the whole chain is one policy.

Sleeves are traded by the agents or the rule of training, at the costs that are asked for; the
master divides capital among them, and the portfolio's one account sends net orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.allocation.schedule import backtest_allocations
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, Part
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.evaluation.backtest.portfolios import (
    backtest_portfolio,
    pool_accounts,
)
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.market.costs import CostProfile
from tradingbot.runs.master import StoredChain
from tradingbot.training.data import TrainingData
from tradingbot.training.sleeve_agents import open_sleeve_agents
from tradingbot.training.sleeve_book import book_through, portfolio_terms
from tradingbot.training.trained_sleeves import SleeveAgents

FloatArray = NDArray[np.float64]
_ONE_ACCOUNT = "not for portfolios: it reads inputs and actions of accounts of one symbol each"
NOT_FOR_PORTFOLIOS = {
    "policy": f"{_ONE_ACCOUNT}; weights are in the section on allocation",
    "rewards": f"{_ONE_ACCOUNT}; a master is rewarded with log growth less risk",
    "ablation": "not for portfolios: its variants change what agents of single symbols learn with",
}
"""Analyses that have no meaning for a master, and why."""


class ChainPolicy:
    """What a portfolio run trades by, where a policy is named: `PortfolioRun` plays it."""

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Refuse: a master decides for one account of all symbols.

        Raises:
            ConfigError: Always.
        """
        rule = "an account of one symbol must be traded by a policy of one symbol"
        raise ConfigError(rule, was="a master, which divides capital among all symbols")


@dataclass(frozen=True, eq=False)
class PortfolioRun(EvaluatedRun):
    """A portfolio run that is evaluated."""

    chain: StoredChain
    _tasks: dict[CostProfile, PortfolioTask] = field(default_factory=dict)
    """Sleeves as they trade at some costs, played once each."""

    def task(self, costs: CostProfile | None = None) -> PortfolioTask:
        """Return portfolios of the run's sleeves, which pay these costs; the run's by default."""
        paid = costs or self.env.costs
        if paid not in self._tasks:
            env, seed = replace(self.env, costs=paid), self.run.record.seeds["root"]
            book = book_through(self.chain.projection, self.config, self.data, env, seed)
            terms = portfolio_terms(self.config, env)
            self._tasks[paid] = PortfolioTask(book, terms, n_envs=1, seed=seed)
        return self._tasks[paid]

    def backtest_all(
        self,
        policies: Sequence[PolicyUnderTest],
        part: Part | IndexRange = "test",
        *,
        env: EnvConfig | None = None,
        progress: Progress = ignore_progress,
    ) -> tuple[Backtest, ...]:
        """Backtest policies on the run's symbols and bars, each as one portfolio.

        Those of single accounts are pooled; `env` is theirs, and for the chain its gate.
        """
        found: list[Backtest] = []
        for under_test in policies:
            if isinstance(under_test.policy, ChainPolicy):
                found.append(self._play(under_test, self.bars(part), env))
            else:
                (played,) = super().backtest_all([under_test], part, env=env, progress=progress)
                found.append(pool_accounts(played))
        return tuple(found)

    def backtest_allocations(
        self,
        part: Part | IndexRange,
        *,
        names: Sequence[str] | None = None,
        costs: CostProfile | None = None,
        delay_bars: int = 0,
    ) -> list[Backtest]:
        """Backtest allocation rules over the same sleeves, with the same costs and gate."""
        played = backtest_allocations(
            self.task(costs),
            self.bars(part),
            bars_per_year=self.bars_per_year,
            names=names,
            delay_bars=delay_bars,
        )
        return [replace(each, time_zone=self.data.time_zone) for each in played]

    @property
    def traded_by(self) -> str:
        """Who trades the sleeves, in words."""
        record = self.chain.record
        return f"the agents of run {record.run}" if record.run else f"the rule {record.rule}"

    def sleeve_returns(self, played: Backtest) -> FloatArray:
        """Return what each sleeve's own account earned over the bars of a backtest, (S, N).

        A portfolio that was halted has no sleeves any more: 0 from then on.
        """
        book = self.task(played.costs).book
        first = int(np.searchsorted(book.closed_at, played.closed_at[0]))
        earned = simple_returns(book.value[first : first + played.n_bars + 1])
        earned[_halted_from(played, self.env.rules.account.portfolio_loss_frac) :] = 0.0
        return earned

    def with_world(self, data: TrainingData) -> PortfolioRun:
        """Return the same run on other data of its kind; its sleeves are traded anew there.

        Raises:
            ConfigError: If features, scale or symbols are not those of the sleeves' agents.
        """
        identity = data.identity.model_copy(update={"agents": data.world.symbols})
        sleeves = self.config.environment.portfolio.sleeves
        agents = open_sleeve_agents(sleeves, data.world, identity, self.workspace, keeps=False)
        opened = traded_by_chain(self.chain, replace(data, sleeve_agents=agents))
        return replace(self, data=opened, _tasks={})

    def _play(
        self, under_test: PolicyUnderTest, bars: IndexRange, env: EnvConfig | None
    ) -> Backtest:
        """Play the chain; another `env` changes the gate and the capital of the portfolio alone."""
        task = self.task(under_test.costs if env is None else None)
        if env is not None:
            costs = under_test.costs or env.costs
            task = task.by_terms(replace(task.terms, rules=env.rules, costs=costs))
        played = play_chain(self.chain, task, bars, under_test, self.bars_per_year)
        return replace(played, time_zone=self.data.time_zone)


def play_chain(
    chain: StoredChain,
    task: PortfolioTask,
    bars: IndexRange,
    under_test: PolicyUnderTest,
    bars_per_year: float,
) -> Backtest:
    """Let the master of a chain divide capital among the sleeves of a task over some bars.

    Args:
        chain: Whose master decides.
        task: What its sleeves do.
        bars: Of the portfolio.
        under_test: Name and delay.
        bars_per_year: To annualise with.
    """
    table = task.table.view(-1, task.table.shape[-1])
    return backtest_portfolio(
        task.backtest(bars.start, bars.stop - 1),
        lambda seen: chain.master(table[seen.row], seen.private),
        bars_per_year=bars_per_year,
        name=under_test.name,
        delay_bars=under_test.delay_bars,
    )


def _halted_from(played: Backtest, loss_frac: float) -> int:
    """Return the first of S bars that a portfolio does not trade any more; S without a halt."""
    lost = np.flatnonzero(played.portfolio <= 1.0 - loss_frac)
    return int(lost[0]) if len(lost) else played.n_bars


def traded_by_chain(chain: StoredChain, data: TrainingData) -> TrainingData:
    """Return data whose sleeves are traded by a chain's agents, as they learned with its master.

    Args:
        chain: With agents, or a rule that the configuration names.
        data: With the agents as their own run left them.
    """
    agents = as_learned_with(chain, data.sleeve_agents)
    return data if agents is None else replace(data, sleeve_agents=agents)


def as_learned_with(chain: StoredChain, agents: SleeveAgents | None) -> SleeveAgents | None:
    """Return the agents of sleeves as they learned with a master; None: a rule trades.

    What they see of the market stays: a master's training changes their own layers alone.

    Args:
        chain: With agents, or a rule.
        agents: As their own run left them.
    """
    if chain.agents is None or agents is None or not chain.agents.learned:
        return agents
    assert isinstance(agents.policy, NetworkPolicy)
    return replace(agents, policy=agents.policy.with_layers(chain.agents.learned))
