"""One Adam for all weights of SAC, in named groups with rates of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from tradingbot.learning.captured import rate_holder, set_rate
from tradingbot.learning.sac.networks import SoftNetworks
from tradingbot.networks.view import View


def make_optimiser(networks: SoftNetworks, view: View, weight_decay: float) -> torch.optim.Adam:
    """Return the optimiser of critics, actor, a learning view and tuned temperatures; rates are 0.

    On a GPU rates are tensors, so that a captured step follows them.
    """
    weights = {
        "critic": [*networks.critic.parameters()],
        "actor": [*networks.actor.parameters()],
        "view": learning(view.parameters()),
        "temperature": learning([networks.log_temperature]),
    }
    device = networks.log_temperature.device
    groups = [
        {
            "name": name,
            "params": part,
            "weight_decay": 0.0 if name == "temperature" else weight_decay,
            "lr": rate_holder(device),
        }
        for name, part in weights.items()
        if part
    ]
    return torch.optim.Adam(groups, fused=True, capturable=device.type == "cuda")


def set_rates(optimiser: torch.optim.Adam, rates: Mapping[str, float], other: float) -> None:
    """Set the learning rate of each group by name; `other` where a group has none of its own."""
    for group in optimiser.param_groups:
        set_rate(group, rates.get(group["name"], other))


def weights_of(optimiser: torch.optim.Adam, *names: str) -> list[Tensor]:
    """Return the weights of named groups; none of a group that is not there."""
    return [
        weight
        for group in optimiser.param_groups
        if group["name"] in names
        for weight in group["params"]
    ]


def learning(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """Return the parameters that learn."""
    return [parameter for parameter in parameters if parameter.requires_grad]
