"""The agents of a run as what trades sleeves: the record that data of a portfolio carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy
from tradingbot.market.params import SimulatorParams


@dataclass(frozen=True, eq=False)
class SleeveAgents:
    """The agents of a run, and how they see the market."""

    run: str
    """Id of the run."""
    policy: Policy
    rules: SimulatorParams
    """Of the accounts that they were trained with."""
    embeddings: NDArray[np.float32]
    """(T, N, E) what their heads read of the market at each bar."""
    sha256: str
    """Of their weights."""
