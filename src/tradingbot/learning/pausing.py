"""Agents that stand still: an update of the others leaves what is their own as it was.

Agents share part of their networks, so one agent cannot be left out of an update. What is its own
is put back afterwards; what all share does not learn from it (`Learner.set_agent_weight`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tradingbot.learning.early_stopping import own_parameters
from tradingbot.networks.heads import per_agent


@contextmanager
def standing_still(networks: Mapping[str, nn.Module], paused: Tensor) -> Iterator[None]:
    """Put back the own parameters of paused agents after what is done within.

    Args:
        networks: That agents act by.
        paused: (N,) bool on the CPU.
    """
    own = own_parameters(networks) if bool(paused.any()) else {}
    kept = {name: parameter.detach().clone() for name, parameter in own.items()}
    yield
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(torch.where(per_agent(paused, parameter), kept[name], parameter))
