"""A trained master as a policy: what a portfolio sees → weights of sleeves and cash."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tradingbot.agents.network_policy import TRADES, require_shapes
from tradingbot.domain.errors import ConfigError
from tradingbot.market.portfolio.inputs import OWN_INPUTS, PORTFOLIO_INPUTS
from tradingbot.networks.actor_layout import ActorLayout, Squash
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.set_head import SetHead


class MasterPolicy:
    """The weights that a master wants; the same inputs give the same bits as in training."""

    def __init__(self, head: SetHead, squash: Squash, *, trades: bool = True) -> None:
        """Keep a frozen head; one that does not trade wants all in cash."""
        self.head, self.squash, self.trades = head, squash, trades

    @property
    def n_sleeves(self) -> int:
        """N."""
        return self.head.inputs.n_members

    @property
    def member_width(self) -> int:
        """D: numbers that are seen of each sleeve, the portfolio's own left out."""
        return self.head.inputs.spans[0][1]

    @torch.no_grad()
    def __call__(self, market: Tensor, private: Tensor) -> Tensor:
        """Return weights (…, N + 1), cash last.

        Args:
            market: (…, N · D + S) float32: `market.portfolio.inputs.see_sleeves` of all sleeves,
                one after another, then what is seen of the market.
            private: (…, 2 N + 4) float32, as `market.portfolio.inputs.see_portfolio` writes it.
        """
        output = self.head(torch.cat([market, private], dim=-1))
        weights = self.squash(output[..., : self.n_sleeves])
        if self.trades:
            return weights
        idle = torch.zeros_like(weights)
        idle[..., -1] = 1.0
        return idle


def build_master(tensors: Mapping[str, Tensor], layout: ActorLayout) -> MasterPolicy:
    """Build a master from the tensors of a checkpoint.

    Args:
        tensors: All that acting needs; those that are not the actor's are not read.
        layout: How they are to be read.

    Raises:
        ConfigError: If tensors are missing, superfluous or of another shape, or these are no
            weights of a set.
    """
    squash, n = layout.squash, layout.n_components - 1
    if squash is None or squash.kind != "softmax" or n < 1:
        was = f"an actor of {layout.n_components} numbers"
        raise ConfigError("a master must have weights of sleeves and cash", was=was)
    stored = {
        name.removeprefix(layout.prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(layout.prefix)
    }
    inputs, n_inputs = _inputs_of(stored, n, len(layout.private))
    # The generator's draws are overwritten: every parameter is in the tensors.
    head = SetHead(inputs, n_inputs, layout.n_outputs // n, layout.head, torch.Generator())
    wanted = {name: tuple(parameter.shape) for name, parameter in head.state_dict().items()}
    require_shapes({name: tuple(tensor.shape) for name, tensor in stored.items()}, wanted)
    head.load_state_dict(stored)
    trades = bool(tensors[TRADES].all()) if TRADES in tensors else True
    return MasterPolicy(head.requires_grad_(False), squash, trades=trades)


def _inputs_of(stored: Mapping[str, Tensor], n: int, n_private: int) -> tuple[MemberInputs, int]:
    """Read from the first layer's widths which inputs are of single sleeves, and how many are."""
    try:
        members, together = (len(stored[f"weights.{place}"]) for place in (0, 1))
    except KeyError as e:
        rule = "weights must be those of a head over sleeves"
        raise ConfigError(rule, was=f"no {e.args[0]} among {len(stored)} tensors") from e
    width, shared = members - len(OWN_INPUTS), together - len(PORTFOLIO_INPUTS)
    inputs = MemberInputs.beside(n, width, shared, len(OWN_INPUTS))
    return inputs, n * width + shared + n_private
