"""From stored tensors to a policy: which of them are the actor, and how its output is read."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

TRADES = "trades"
"""Name of the tensor (N,) bool that says which agents trade; all do where there is none."""


def build_policy(
    tensors: Mapping[str, Tensor], layout: ActorLayout, view: View, n_agents: int
) -> NetworkPolicy:
    """Build the policy of N agents from tensors of a checkpoint.

    Args:
        tensors: All that acting needs; those that are not the actor's are not read.
        layout: How they are to be read.
        view: Embeddings of the rows that will be traded.
        n_agents: N.

    Raises:
        ConfigError: If tensors are missing, superfluous or of another shape, or it has vectors.
    """
    if layout.n_components:
        raise ConfigError(
            "an account must be traded with one number or code",
            was=f"an actor of {layout.n_components} numbers",
            remedy="Act with the learner itself where actions are vectors",
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
    _require_shapes({name: tuple(tensor.shape) for name, tensor in stored.items()}, wanted)
    trades = tensors.get(TRADES)
    if trades is not None:
        _require_shapes({TRADES: tuple(trades.shape)}, {TRADES: (n_agents,)})
    actor.load_state_dict(stored)
    return NetworkPolicy(
        view, actor.requires_grad_(False), layout.squash, private=layout.private, trades=trades
    )


def _require_shapes(
    found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]
) -> None:
    odd = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
    if odd:
        raise ConfigError(
            "weights must be those of the actor that the run describes",
            was=f"{odd[0]} {found.get(odd[0], 'missing')}",
            where=f"expected {wanted.get(odd[0], 'nothing of that name')}",
        )
