"""Trained heads as a policy: what a network wants, for backtests and serving; no learning here."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.market.goals import GOAL_INPUTS, AskedGoal
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.actor_layout import ActorLayout, Squash
from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

_PRIVATE_NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)
_RETURN, _DRAWDOWN = map(_PRIVATE_NAMES.index, ("total_return", "drawdown"))


class NetworkPolicy:
    """N agents that were trained, as an `agents.policy.Policy`; account i is agent i mod N's.

    What they see of the market comes from the view, by row: it must be of the bars that are traded.
    """

    def __init__(
        self,
        view: View,
        actor: StackedHead,
        squash: Squash | None,
        *,
        private: tuple[str, ...] = _PRIVATE_NAMES,
        trades: Tensor | None = None,
        goal: AskedGoal | None = None,
    ) -> None:
        """Keep networks as they are now; what is learned afterwards is not seen.

        Args:
            view: Embeddings by row.
            actor: Its first output is what `squash` reads; or it has a preference for each code.
            squash: From output to number; None: the code that is preferred among those allowed.
            private: Names of the private numbers that the actor was trained with, in order.
            trades: (N,) bool, agents that trade; the others want nothing. All by default.
            goal: What agents are asked for, where they were trained towards goals: the last names
                of `private` are then `GOAL_INPUTS`.

        Raises:
            ConfigError: If a private number is unknown, or widths disagree.
        """
        own = private if goal is None else private[: -len(GOAL_INPUTS)]
        for name in own:
            require_known(name, _PRIVATE_NAMES, "private number must be a known one")
        n_inputs = actor.weights[0].shape[-2]
        if n_inputs != view.width + len(private):
            raise ConfigError(
                "an actor must read the view and the private numbers",
                was=f"{n_inputs} inputs for {view.width} + {len(private)}",
            )
        self.goal = goal
        self._view, self.actor, self.squash = view, actor, squash
        self.places = torch.tensor([_PRIVATE_NAMES.index(name) for name in own])
        self._hidden, self._last = _hidden_layers(actor), last_layer(actor)
        self._activation: Callable[[Tensor], Tensor] = getattr(functional, actor.config.activation)
        everyone = torch.ones(actor.n_agents, dtype=torch.bool)
        chosen = everyone if trades is None else trades
        self.trades = chosen.to(actor.weights[0].device)[:, None]

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return actions (B,) of accounts that agents 0 … N − 1 hold, in turn.

        Raises:
            ConfigError: If B is no multiple of N, or codes are asked for without what is allowed.
        """
        wanted = torch.where(self.trades, self._read(self.outputs(seen), seen), 0)
        return wanted.T.reshape(-1).to(seen.private.dtype)

    @torch.no_grad()
    def outputs(self, seen: PolicyInputs) -> Tensor:
        """Return what the actor says, (N, k, O) float32, before an action is read of it.

        Raises:
            ConfigError: If B is no multiple of N.
        """
        n_agents = self.actor.n_agents
        require_accounts(seen, n_agents)
        market = self._view.look(by_agent(seen.row, n_agents))
        private = by_agent(seen_numbers(seen, self.places, self.goal), n_agents).movedim(0, -1)
        return self.forward(torch.cat([market, private.to(market.dtype)], dim=-1)).float()

    @property
    def own_layers(self) -> list[tuple[Tensor, Tensor]]:
        """Weights (N, I, O) and biases (N, 1, O) of the last layers that no two agents share.

        All of them where agents are independent; else the last one, deviations in it.
        """
        return [*(each for each in self._hidden if each[0].dim() == 3), self._last]

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Weights (I, O) and biases (O,) that all share, or (N, I, O) and (N, 1, O), in order."""
        hidden = [(each.t() if each.dim() == 2 else each, bias) for each, bias in self._hidden]
        return [*hidden, self._last]

    def with_layers(self, own: Sequence[tuple[Tensor, Tensor]]) -> NetworkPolicy:
        """Return the same policy with other `own_layers`; gradients flow to what is given."""
        policy, device = copy.copy(self), own[-1][0].device
        layers = [(weight.to(device), bias.to(device)) for weight, bias in self._hidden]
        layers = [*layers[: len(layers) + 1 - len(own)], *own]
        policy._hidden, policy._last = layers[:-1], layers[-1]
        return policy

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs (N, k, O) of inputs (N, k, I): `StackedHead.forward` with weights at hand.

        A module looks its parameters up at every call, which takes longer than a small layer.
        """
        for weight, bias in self._hidden:
            shared = weight.dim() == 2
            x = functional.linear(x, weight, bias) if shared else torch.baddbmm(bias, x, weight)
            x = self._activation(x)
        return torch.baddbmm(self._last[1], x, self._last[0])

    def _read(self, output: Tensor, seen: PolicyInputs) -> Tensor:
        """Return actions (N, k) of outputs (N, k, O)."""
        if self.squash is not None:
            return self.squash(output[..., 0])
        if seen.allowed is None:
            raise ConfigError(
                "agents that choose codes must be told which are allowed",
                was="rules of another action space",
            )
        allowed = by_agent(seen.allowed, self.actor.n_agents).movedim(0, -1)
        return MaskedCategorical.of(output, allowed).mode()


def _hidden_layers(actor: StackedHead) -> list[tuple[Tensor, Tensor]]:
    """Return weights and biases: (O, I), (O,) where agents share them, or (N, I, O), (N, 1, O)."""
    pairs = [*zip(actor.weights, actor.biases, strict=True)][:-1]
    return [
        (weight.detach().t() if weight.dim() == 2 else weight.detach(), bias.detach())
        for weight, bias in pairs
    ]


def last_layer(actor: StackedHead) -> tuple[Tensor, Tensor]:
    """Return weights (N, H, O) with each agent's deviation in them, and biases (N, 1, O)."""
    with torch.no_grad():
        weight, bias = actor.weights[-1], actor.biases[-1]
        whole = weight.expand(actor.n_agents, *weight.shape[-2:])
        if actor.config.pooling == "partial":
            directions = actor.directions.view(-1, actor.config.n_directions, actor.n_outputs)
            whole = whole + torch.einsum("nk,hko->nho", actor.deviations, directions)
        return whole.contiguous(), bias.expand(actor.n_agents, 1, actor.n_outputs).contiguous()


def require_accounts(seen: PolicyInputs, n_agents: int) -> None:
    """Refuse accounts that are not one for each agent, or a multiple of that.

    Raises:
        ConfigError: Saying how many there are.
    """
    if len(seen.row) % n_agents or not len(seen.row):
        raise ConfigError(
            "accounts must be one for each agent, or a multiple of that",
            was=len(seen.row),
            where=f"{n_agents} agents",
        )


def seen_numbers(seen: PolicyInputs, places: Tensor, goal: AskedGoal | None) -> Tensor:
    """Return the private numbers that agents were trained with, (P, B), the goal's at the end."""
    numbers = seen.private.index_select(0, places)
    if goal is None:
        return numbers
    inputs = goal.inputs(seen.private[_RETURN], seen.private[_DRAWDOWN])
    return torch.cat([numbers, torch.stack(inputs)])


def by_agent(values: Tensor, n_agents: int) -> Tensor:
    """See (…, k · N) as (…, N, k)."""
    return values.reshape(*values.shape[:-1], -1, n_agents).transpose(-1, -2)


TRADES = "trades"
"""Name of the tensor (N,) bool that says which agents trade; all do where there is none."""


def build_policy(
    tensors: Mapping[str, Tensor],
    layout: ActorLayout,
    view: View,
    n_agents: int,
    goal: AskedGoal | None = None,
) -> NetworkPolicy:
    """Build the policy of N agents from tensors of a checkpoint.

    Args:
        tensors: All that acting needs; those that are not the actor's are not read.
        layout: How they are to be read.
        view: Embeddings of the rows that will be traded.
        n_agents: N.
        goal: What agents are asked for, where they were trained towards goals.

    Raises:
        ConfigError: If tensors are missing, superfluous or of another shape, or it has vectors.
    """
    if layout.n_components:
        raise ConfigError(
            "an account must be traded with one number or code",
            was=f"an actor of {layout.n_components} numbers",
            remedy="A master acts by `runs.master.load_master`",
        )
    prefix = layout.prefix
    stored = {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
    n_inputs = view.width + len(layout.private)
    # The generator's draws are overwritten: every parameter is in the tensors.
    actor = StackedHead(n_agents, n_inputs, layout.n_outputs, layout.head, torch.Generator())
    wanted = {name: tuple(parameter.shape) for name, parameter in actor.state_dict().items()}
    require_shapes({name: tuple(tensor.shape) for name, tensor in stored.items()}, wanted)
    trades = tensors.get(TRADES)
    if trades is not None:
        require_shapes({TRADES: tuple(trades.shape)}, {TRADES: (n_agents,)})
    actor.load_state_dict(stored)
    return NetworkPolicy(
        view,
        actor.requires_grad_(False),
        layout.squash,
        private=layout.private,
        trades=trades,
        goal=goal,
    )


def require_shapes(
    found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse tensors of other names or shapes.

    Raises:
        ConfigError: Naming the first.
    """
    odd = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
    if odd:
        raise ConfigError(
            "weights must be those of the actor that the run describes",
            was=f"{odd[0]} {found.get(odd[0], 'missing')}",
            where=f"expected {wanted.get(odd[0], 'nothing of that name')}",
        )
