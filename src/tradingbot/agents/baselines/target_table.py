"""Positions that were worked out before, one per symbol and bar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import MarketRule
from tradingbot.domain.errors import DataError


@dataclass(frozen=True, eq=False)
class TargetTable(MarketRule):
    """Follows a table of targets, which must use nothing later than their bar."""

    targets: Tensor
    """(N · T,) by row of the market."""

    def __post_init__(self) -> None:
        """Refuse what is not a number: such a target would be read as hold, silently."""
        if not bool(torch.isfinite(self.targets).all()):
            raise DataError("targets must be finite", was="NaN or infinity in a table of targets")

    def wants(self, row: Tensor) -> Tensor:
        """Gather targets of rows (…)."""
        return self.targets[row]


def table_of(targets: NDArray[np.float64]) -> TargetTable:
    """Return the policy that follows targets (N, T)."""
    return TargetTable(torch.from_numpy(np.ascontiguousarray(targets, dtype=np.float64).ravel()))
