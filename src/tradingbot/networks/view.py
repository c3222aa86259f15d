"""How learners see rows of the exogenous table: ready embeddings, or an encoder that learns too."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class View(nn.Module, ABC):
    """Turns row numbers (series · T + bar) into embeddings (…, D)."""

    width: int
    """D."""

    @abstractmethod
    def look(self, row: Tensor) -> Tensor:
        """Return embeddings (…, D) of rows (…) without gradients, as of the last `refresh`."""

    @abstractmethod
    def forward(self, row: Tensor) -> Tensor:
        """Return embeddings (…, D) of rows (…), with gradients where something can learn."""

    @abstractmethod
    def segments(self, first: Tensor, length: int) -> Tensor:
        """Return embeddings (L, length, D) of runs of rows that begin at `first` (L,).

        With gradients, and for an encoder much cheaper than row by row: bars share their past.
        """

    @abstractmethod
    def refresh(self) -> None:
        """Bring `look` up to date with the weights."""


class TableView(View):
    """Embeddings that do not change: features as they are, or those of a frozen encoder."""

    table: Tensor

    def __init__(self, table: Tensor) -> None:
        """Keep a table (M, T, D); it is shared, not copied."""
        super().__init__()
        self.register_buffer("table", table.reshape(-1, table.shape[-1]), persistent=False)
        self.width = table.shape[-1]

    def look(self, row: Tensor) -> Tensor:
        """Gather rows."""
        return self.table.index_select(0, row.reshape(-1)).view(*row.shape, self.width)

    def forward(self, row: Tensor) -> Tensor:
        """Gather rows; there is nothing to learn."""
        return self.look(row)

    def segments(self, first: Tensor, length: int) -> Tensor:
        """Gather runs of rows."""
        return self.look(first[:, None] + torch.arange(length, device=first.device))

    def refresh(self) -> None:
        """Nothing changes."""
