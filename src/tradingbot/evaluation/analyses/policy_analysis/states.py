"""States that agents met on the test part, what was done there, and what networks say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.action import Action
from tradingbot.envs.population import PRIVATE_NAMES
from tradingbot.envs.population.layout import market_table
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis.measure import evenly_spaced
from tradingbot.evaluation.backtest import Backtest
from tradingbot.market.goals import GOAL_INPUTS

FloatArray = NDArray[np.float64]
_SIDES = {Action.SELL_PARTIAL: -1.0, Action.SELL_ALL: -1.0, Action.HOLD: 0.0}
SIDES = np.array([_SIDES.get(code, 1.0) for code in Action])
"""(7,) which way each code trades. The mean of codes themselves would mean nothing."""
OWN = "own "
"""What the names of private numbers begin with."""


class RecordedPolicy:
    """A policy, and what its accounts knew of themselves at each call."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.private: list[Tensor] = []

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Act as the policy does."""
        self.private.append(seen.private.clone())
        return self._policy(seen)


@dataclass(frozen=True, eq=False)
class States:
    """M states of agents that trade, and what was done there."""

    agent: NDArray[np.int64]
    """(M,) place in the world."""
    bar: NDArray[np.int64]
    """(M,) of the world, at whose close was decided."""
    action: FloatArray
    """(M,) number, or the side of a code."""
    inputs: FloatArray
    """(M, F) columns of the market table, and the P private numbers that agents see."""
    names: tuple[str, ...]
    """F; private numbers begin with `own`."""

    @property
    def private(self) -> Tensor:
        """Return what agents were shown of their accounts, (M, P) float32."""
        own = [place for place, name in enumerate(self.names) if name.startswith(OWN)]
        return torch.from_numpy(self.inputs[:, own]).float()

    def column(self, name: str) -> FloatArray:
        """Return one input, (M,)."""
        return self.inputs[:, self.names.index(name)]

    def take(self, places: NDArray[np.int64]) -> States:
        """Return some of the states."""
        agent, bar, action = self.agent[places], self.bar[places], self.action[places]
        return States(agent, bar, action, self.inputs[places], self.names)


def collect_states(
    subject: EvaluatedRun, played: Backtest, watched: RecordedPolicy, most: int
) -> States:
    """Take at most so many states of agents that trade, evenly over the test part."""
    world, first = subject.data.world, subject.bars("test").start
    trading = np.flatnonzero(np.abs(played.position_frac).max(axis=0) > 0.0)
    chosen = evenly_spaced(played.n_bars * len(trading), most)
    step, place = np.divmod(chosen, max(1, len(trading)))
    agent = trading[place] if len(trading) else np.zeros(0, dtype=np.int64)
    step, bar = step[: len(agent)], first + step[: len(agent)]
    shown, private = _shown(subject, torch.stack(watched.private).double()[step, :, agent])
    market = market_table(world).numpy()[agent, bar]
    action = played.action[step, agent]
    is_code = subject.config.task.rules.action.space == "discrete"
    return States(
        agent=agent,
        bar=bar,
        action=SIDES[action.astype(np.int64)] if is_code else action,
        inputs=np.concatenate([market, private], axis=1).astype(np.float64),
        names=(*market_names(subject), *(f"{OWN}{name}" for name in shown)),
    )


def _shown(subject: EvaluatedRun, numbers: Tensor) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and numbers (M, P) that agents see of accounts (M, 18), and of their goal."""
    names, environment = subject.config.task.private or PRIVATE_NAMES, subject.config.environment
    seen = [numbers[:, PRIVATE_NAMES.index(name)] for name in names]
    if environment.kind == "goal":
        now = [numbers[:, PRIVATE_NAMES.index(name)] for name in ("total_return", "drawdown")]
        names, seen = (*names, *GOAL_INPUTS), seen + environment.goal.asked.inputs(*now)
    return names, torch.stack(seen, dim=1).numpy()


def market_names(subject: EvaluatedRun) -> tuple[str, ...]:
    """Name the columns of the market table."""
    world = subject.data.world
    named = (*world.feature_names, *world.regime_names)
    rest = subject.data.identity.feature_ids[len(named) :]
    return (*named, *(each.partition(":")[0] for each in rest))


def ask_by_agent(
    network: Callable[[Tensor], Tensor], inputs: Tensor, agent: NDArray[np.int64], n_agents: int
) -> Tensor:
    """Return what a network of N agents, (N, K, I) → (N, K, …), says of each state, (M, …).

    Args:
        network: Of all agents at once.
        inputs: (M, I) of some agents.
        agent: (M,) whose they are.
        n_agents: N.
    """
    counts, order = np.bincount(agent, minlength=n_agents), np.argsort(agent, kind="stable")
    # Place of each state among those of its agent, so that all heads work at once.
    place = np.empty(len(agent), dtype=np.int64)
    place[order] = np.arange(len(agent)) - np.repeat(np.cumsum(counts) - counts, counts)
    laid = inputs.new_zeros(n_agents, int(counts.max(initial=1)), inputs.shape[-1])
    laid = laid.index_put((torch.from_numpy(agent), torch.from_numpy(place)), inputs)
    return network(laid)[agent, place]
