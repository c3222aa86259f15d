"""Agents of sleeves that learn with the master, by turns, each beside its frozen self.

After so many updates of the master its agents have a turn. What a return of each sleeve at each bar
of training was worth to the portfolio (its weight there × the slope of the portfolio's reward) is
taken from the master as it is; agents follow the gradient of that through their own accounts. Then
every agent meets its frozen self on the first half of validation, and goes back to it, bit for bit,
where it earned less alpha. The book is written anew, and the master goes on.

What agents learned is part of the master's view, and so of its state, its best weights and its
checkpoints; a turn has nothing else to remember.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.training import SleevesCompared
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.portfolio.task import PortfolioNumbers, PortfolioTask
from tradingbot.evaluation.backtest import backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.backtest.portfolios import Allocator, play_portfolios
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval
from tradingbot.learning.direct.weighted import follow_worth
from tradingbot.learning.task import Observation
from tradingbot.networks.heads import per_agent
from tradingbot.networks.view import TableView
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, halves
from tradingbot.training.opponents import span_of
from tradingbot.training.result_file import JointAgent
from tradingbot.training.sleeve_book import open_book

FIGURES = ("frozen", "joint", "difference", "low", "high", "kept")
"""Columns of a comparison; see `domain.events.training.SleevesCompared`."""
_BASIS_POINTS = 1e4
_Layers = Sequence[tuple[Tensor, Tensor]]


class SleeveView(TableView):
    """What a master sees of sleeves whose agents learn: their own layers are part of its state."""

    compared: Tensor
    turns: Tensor

    def __init__(self, table: Tensor, layers: _Layers, rewrite: Callable[[], None]) -> None:
        """Begin with frozen agents.

        Args:
            table: Of the book, shared.
            layers: Of the frozen agents.
            rewrite: Writes the book, and so the table, anew; called where layers have changed.
        """
        super().__init__(table)
        device = table.device
        self.agents = nn.ParameterList(
            nn.Parameter(part.to(device, copy=True), requires_grad=False)
            for layer in layers
            for part in layer
        )
        n_agents = len(self.agents[0])
        self.register_buffer("compared", torch.zeros(n_agents, len(FIGURES), dtype=torch.float64))
        self.register_buffer("turns", torch.zeros((), dtype=torch.int64))
        self._rewrite, self._written = rewrite, [part.detach().clone() for part in self.agents]
        self._version = self._versions()

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """What agents act by now, on the host."""
        parts = [part.detach().cpu() for part in self.agents]
        return list(zip(parts[::2], parts[1::2], strict=True))

    @torch.no_grad()
    def put(self, parts: Sequence[Tensor], figures: Tensor) -> None:
        """Take what a turn left of agents, and how they compared; `refresh` writes the book."""
        for own, part in zip(self.agents, parts, strict=True):
            own.copy_(part)
        self.compared.copy_(figures)
        self.turns += 1

    def refresh(self) -> None:
        """Write the book anew where agents are not those that it was written with."""
        if self._versions() == self._version:
            return
        self._version = self._versions()
        pairs = zip(self.agents, self._written, strict=True)
        if all(torch.equal(now, before) for now, before in pairs):
            return
        self._written = [part.detach().clone() for part in self.agents]
        self._rewrite()

    def _versions(self) -> int:
        """Count what was written into the agents in place; asks the device nothing."""
        return sum(part._version for part in self.agents)


class JointSleeves:
    """The agents of a portfolio's sleeves while they learn."""

    def __init__(
        self, config: TrainConfig, data: TrainingData, env: EnvConfig, task: PortfolioTask
    ) -> None:
        """Begin with the agents of a run, frozen until the first turn.

        Args:
            config: Of the master's run.
            data: With the agents.
            env: Rules and costs of the portfolio; agents trade by their own rules, at its costs.
            task: Of the master; its book is written anew as agents learn.

        Raises:
            ConfigError: If what trades the sleeves has no weights that gradients could follow.
        """
        assert data.sleeve_agents is not None
        self._config, self._data, self._env, self._task = config, data, env, task
        self._settings = config.environment.portfolio.joint
        self._agents = data.sleeve_agents
        self._frozen = _able(self._agents.policy)
        self._own_env = replace(env, rules=self._agents.rules, reward="log_growth")
        self._earned: dict[IndexRange, NDArray[np.float64]] = {}
        self._table = self._fitted(task)
        self.view = SleeveView(task.table, self._frozen.own_layers, self._rewrite)

    def teach(self, act: Allocator, updates: int) -> SleevesCompared | None:
        """Let agents learn where it is their turn; return how they compared then.

        Args:
            act: Of the master as it is now.
            updates: Of the master so far.
        """
        if updates % self._settings.every_updates:
            return None
        parts = [part.detach().clone().requires_grad_() for part in self.view.agents]
        self._learn(parts, self._worth(act), updates)
        found = self._compare([part.detach() for part in parts])
        frozen = [part for layer in self._frozen.own_layers for part in layer]
        kept = torch.from_numpy(found[:, -1] > 0.0)
        chosen = [
            torch.where(per_agent(kept, part), part.detach(), before.to(part.device))
            for part, before in zip(parts, frozen, strict=True)
        ]
        self.view.put(chosen, torch.from_numpy(found))
        self.view.refresh()
        figures = {name: found[:, place].tolist() for place, name in enumerate(FIGURES)}
        return SleevesCompared(updates, self._data.world.symbols, figures)

    def report(self) -> tuple[JointAgent, ...]:
        """Return how agents compared in the turn before the present weights; nothing without one.

        The second half of validation, which decided nothing about them, stands beside it.
        """
        if not int(self.view.turns):
            return ()
        later = halves(self._data.split.validation)[1]
        gained = self._alpha(self._policy(self.view.layers), later) - self._of_frozen(later)
        rows = self.view.compared.tolist()
        return tuple(
            JointAgent(
                agent=name,
                frozen_bps=row[0],
                joint_bps=row[1],
                difference_bps=Interval(*row[2:5]),
                kept=row[5] > 0.0,
                later_bps=net_bps_interval(gained[:, place]),
            )
            for place, (name, row) in enumerate(zip(self._data.world.symbols, rows, strict=True))
        )

    @torch.no_grad()
    def _worth(self, act: Allocator) -> Tensor:
        """Return what a return of each sleeve was worth to the portfolio, (N, T); 0 elsewhere.

        The slope of the reward log(1 + r) − ½ γ r² in a sleeve's return is its weight times
        1 ÷ (1 + r) − γ r, with the portfolio's own return r.
        """
        train, book = self._data.split.train, self._task.book
        first = max(train.start, int(np.flatnonzero(book.usable)[0]))
        played = play_portfolios(self._task.backtest(first, train.stop - 1), [act])
        growth = PortfolioNumbers(*played.numbers.unbind(1)).growth[1:]
        slope = 1.0 / growth - self._task.terms.risk_aversion * (growth - 1.0)
        worth = book.rows.new_zeros(book.n_bars, book.n_sleeves)
        worth[first : first + len(growth)] = played.action[:, 0, :-1] * slope
        return worth.T.float().contiguous()

    def _learn(self, parts: Sequence[Tensor], worth: Tensor, updates: int) -> None:
        device, settings, frozen = worth.device, self._settings, self._frozen
        task = PopulationTask(
            self._data.world,
            self._own_env,
            n_envs=settings.n_envs,
            seed=int(stream(self._task.seed, "joint", updates).integers(2**31)),
            device=device,
            compiled=False,
        ).during(self._data.split.train.start, self._data.split.train.stop - 1)
        layers = list(zip(parts[::2], parts[1::2], strict=True))
        policy, places = frozen.with_layers(layers), frozen.places.to(device)
        assert frozen.squash is not None
        squash, trades = replace(frozen.squash, levels=0), frozen.trades.to(device)

        def act(seen: Observation) -> Tensor:
            private = seen.private.index_select(-1, places)
            output = policy.forward(torch.cat([self._table.look(seen.row), private], dim=-1))
            return torch.where(trades, squash(output[..., 0]), 0.0)

        follow_worth(
            task,
            act,
            parts,
            worth,
            rate=settings.rate,
            updates=settings.updates,
            chunk_bars=settings.chunk_bars,
        )

    def _compare(self, parts: Sequence[Tensor]) -> NDArray[np.float64]:
        """Return what agents earn beside their frozen selves, (N, 6) of `FIGURES`."""
        bars = halves(self._data.split.validation)[0]
        host = [part.cpu() for part in parts]
        layers = list(zip(host[::2], host[1::2], strict=True))
        joint, frozen = self._alpha(self._policy(layers), bars), self._of_frozen(bars)
        gained = joint - frozen
        intervals = np.array([net_bps_interval(own) for own in gained.T])
        means = [_BASIS_POINTS * each.mean(axis=0) for each in (frozen, joint)]
        kept = gained.mean(axis=0) >= 0.0
        return np.column_stack([*means, intervals, kept])

    def _of_frozen(self, bars: IndexRange) -> NDArray[np.float64]:
        if bars not in self._earned:
            self._earned[bars] = self._alpha(self._frozen, bars)
        return self._earned[bars]

    def _alpha(self, policy: NetworkPolicy, bars: IndexRange) -> NDArray[np.float64]:
        """Let agents trade their accounts over some bars; return alpha (S, N), net of costs."""
        data = self._data
        played = backtest(data.world, self._own_env, policy, name="sleeves", **span_of(data, bars))
        return np.asarray(attribute_backtest(played, data.factor).alpha)

    def _policy(self, layers: _Layers) -> NetworkPolicy:
        return self._frozen.with_layers(layers)

    def _rewrite(self) -> None:
        """Let agents as they are now trade every bar, and show the master what they did."""
        agents = replace(self._agents, policy=self._policy(self.view.layers))
        data = replace(self._data, sleeve_agents=agents)
        book = open_book(self._config, data, self._env, self._task.seed)
        self._task.book.overwrite(book)
        self._task.table.copy_(book.table)

    def _fitted(self, task: PortfolioTask) -> TableView:
        """Return what heads read of the market, rows as tasks number them."""
        seen = torch.from_numpy(self._agents.embeddings).movedim(0, 1).contiguous()
        return TableView(seen.to(task.table.device))


def open_joint(
    config: TrainConfig, data: TrainingData, env: EnvConfig, task: object
) -> JointSleeves | None:
    """Return what teaches the agents of a portfolio's sleeves; None where they are frozen."""
    if not isinstance(task, PortfolioTask) or not config.environment.portfolio.joint.rate:
        return None
    return JointSleeves(config, data, env, task)


def _able(policy: object) -> NetworkPolicy:
    """Refuse agents that no gradient reaches.

    Raises:
        ConfigError: If they choose codes, follow options or aim for goals.
    """
    if isinstance(policy, NetworkPolicy) and policy.squash is not None and policy.goal is None:
        return policy
    raise ConfigError(
        "environment.portfolio.joint.rate must be 0 where agents of the sleeves choose codes, "
        "follow options or aim for goals: no gradient of what they earn reaches them",
        was="above 0",
        remedy="Leave it out, or use agents that ask for positions",
    )
