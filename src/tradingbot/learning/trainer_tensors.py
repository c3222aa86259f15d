"""Named tensors as the trainer needs them: on the host, below a prefix, of networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tradingbot.learning.learner import Metrics
from tradingbot.learning.trainer_hooks import Figures


def to_host(figures: Metrics) -> Figures:
    """Bring figures to the CPU as float64 in one transfer; some may be there already."""
    devices = [figure.device for figure in figures.values() if figure.device.type != "cpu"]
    home = devices[0] if devices else torch.device("cpu")
    flat = [figure.detach().to(home).double().reshape(-1) for figure in figures.values()]
    parts = torch.split(torch.cat(flat).cpu(), [len(part) for part in flat]) if flat else ()
    return {
        name: part.view(figure.shape)
        for (name, figure), part in zip(figures.items(), parts, strict=True)
    }


def as_lists(figures: Figures) -> dict[str, Any]:
    """Return figures as events carry them: numbers and lists of numbers."""
    return {name: figure.tolist() for name, figure in figures.items()}


def copied_tensors(networks: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """Return copies of all tensors of networks, named `network.tensor`."""
    return {
        f"{name}.{key}": tensor.detach().clone()
        for name, network in networks.items()
        for key, tensor in network.state_dict().items()
    }


def all_finite(networks: Mapping[str, nn.Module]) -> Tensor:
    """Tell, as a tensor, whether no parameter is NaN or infinite."""
    parameters = [each.detach() for network in networks.values() for each in network.parameters()]
    # A sum is finite where every part is, short of an overflow, which is no good sign either.
    return torch.isfinite(torch.stack([each.double().sum() for each in parameters]).sum())
