"""What auxiliary tasks ask an encoder for: one answer per series and bar, and where it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from tradingbot.domain.errors import DataError


@dataclass(frozen=True, eq=False)
class AuxiliaryTarget:
    """The answers of one task. They look ahead: never an input, nor known when one acts."""

    values: Tensor
    """(M, T) numbers (float32), or classes (int64); 0 where not valid."""
    valid: Tensor
    """(M, T) bool: the answer exists and lies within the training period."""
    horizon_bars: int
    """Bars after t that the answer of bar t looks at; 0 if none."""
    n_classes: int = 0
    """Classes; 0 for numbers."""

    def __post_init__(self) -> None:
        """Refuse answers and mask that do not belong together."""
        if self.values.dim() != 2 or self.values.shape != self.valid.shape:
            raise DataError(
                "answers and their mask must share one (M, T) shape",
                was=f"{tuple(self.values.shape)} and {tuple(self.valid.shape)}",
            )
        if self.n_classes and self.values.dtype.is_floating_point:
            raise DataError("classes must be whole numbers", was=str(self.values.dtype))


Targets = Mapping[str, AuxiliaryTarget]
"""Name of a task, a field of `AuxiliaryWeights` → its answers."""
