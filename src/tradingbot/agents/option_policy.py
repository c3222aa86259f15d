"""Trained heads that act by options as a policy: a controller chooses, a low level corrects."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tradingbot.agents.network_policy import TRADES, by_agent, require_accounts, seen_numbers
from tradingbot.agents.options.market_options import MarketOptions
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.market.goals import GOAL_INPUTS, AskedGoal
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.option_actor import (
    N_EXTRA_INPUTS,
    ActionRange,
    choose_options,
    corrected,
    option_inputs,
)
from tradingbot.networks.options import OptionMemory
from tradingbot.networks.view import View

_PRIVATE_NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)


class OptionPolicy:
    """N agents that follow options, as an `agents.policy.Policy`; account i is agent i mod N's.

    Options go on from bar to bar: what was decided at the row before is remembered. Asked again at
    the same rows it answers the same; at any other rows options begin anew.
    """

    def __init__(
        self,
        view: View,
        heads: tuple[StackedHead, StackedHead],
        options: MarketOptions,
        *,
        private: tuple[str, ...],
        reach: float,
        trades: Tensor | None = None,
        goal: AskedGoal | None = None,
    ) -> None:
        """Keep networks as they are now.

        Args:
            view: Embeddings by row.
            heads: Controller, and low level.
            options: Of the rows that are traded, and of `private`.
            private: Names of the private numbers that agents were trained with, in order.
            reach: Largest correction of what an option proposes.
            trades: (N,) bool, agents that trade; the others want nothing. All by default.
            goal: What agents are asked for, where they were trained towards goals: the last names
                of `private` are then `GOAL_INPUTS`.
        """
        self._view, (self._controller, self._low) = view, heads
        self.options, self._reach = options, reach
        own, self._goal = private if goal is None else private[: -len(GOAL_INPUTS)], goal
        self._places = torch.tensor([_PRIVATE_NAMES.index(name) for name in own])
        self._n_agents = self._controller.n_agents
        everyone = torch.ones(self._n_agents, dtype=torch.bool)
        self._trades = (everyone if trades is None else trades)[:, None]
        self._memory = OptionMemory()
        self._range = ActionRange(-1.0, 1.0)
        self.followed = torch.empty(0, dtype=torch.int64)
        """(B,) int64, the options that were followed at the last decision."""
        self.begun = torch.empty(0, dtype=torch.bool)
        """(B,) bool, whether they were chosen at it."""

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return continuous actions (B,) of accounts that agents 0 … N − 1 hold, in turn.

        Raises:
            ConfigError: If B is no multiple of N.
        """
        require_accounts(seen, self._n_agents)
        row = by_agent(seen.row, self._n_agents)
        numbers = seen_numbers(seen, self._places, self._goal)
        private = by_agent(numbers, self._n_agents).movedim(0, -1).float()
        x = torch.cat([self._view.look(row), private], dim=-1)
        before, is_new = self._memory.recall(self.options, row, private)
        run = choose_options(
            self.options, self._controller(x).float(), row, private, before, is_new
        )
        self._memory.keep(row, before, is_new, run)
        proposal = self.options.propose(row, private, run)
        inputs = option_inputs(self.options, run, proposal)
        number = torch.tanh(self._low(torch.cat([x, inputs], dim=-1))[..., 0].float())
        wanted = corrected(proposal, number, self._reach, self._range)
        self.followed, self.begun = run.option.T.reshape(-1), is_new.T.reshape(-1)
        return torch.where(self._trades, wanted, 0.0).T.reshape(-1).to(seen.private.dtype)


def build_option_policy(
    tensors: Mapping[str, Tensor],
    layouts: tuple[ActorLayout, ActorLayout],
    view: View,
    options: MarketOptions,
    *,
    n_agents: int,
    reach: float,
    goal: AskedGoal | None = None,
) -> OptionPolicy:
    """Build the policy of N agents from tensors of a checkpoint.

    Args:
        tensors: All that acting needs.
        layouts: Of controller and low level.
        view: Embeddings of the rows that will be traded.
        options: Of the same rows.
        n_agents: N.
        reach: Largest correction of what an option proposes.
        goal: What agents are asked for, where they were trained towards goals.

    Raises:
        ConfigError: If tensors are missing, superfluous or of another shape.
    """
    controller, low_level = layouts
    n_seen, n_extra = view.width + len(controller.private), len(options.names) + N_EXTRA_INPUTS
    sizes = {controller: n_seen, low_level: n_seen + n_extra}
    first, second = (
        _head(tensors, layout, n_agents, n_inputs) for layout, n_inputs in sizes.items()
    )
    return OptionPolicy(
        view,
        (first, second),
        options,
        private=controller.private,
        reach=reach,
        trades=tensors.get(TRADES),
        goal=goal,
    )


def _head(
    tensors: Mapping[str, Tensor], layout: ActorLayout, n_agents: int, n_inputs: int
) -> StackedHead:
    stored = {
        name.removeprefix(layout.prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(layout.prefix)
    }
    head = StackedHead(n_agents, n_inputs, layout.n_outputs, layout.head, torch.Generator())
    try:
        head.load_state_dict(stored)
    except RuntimeError as e:
        raise ConfigError(
            "weights must be those of the heads that the run describes",
            was=str(e).splitlines()[-1].strip(),
            where=layout.prefix,
        ) from e
    return head.requires_grad_(False)
