"""A fixed linear view of embeddings: their mean taken off, then a few directions; never learned."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class Projection(nn.Module):
    """(…, E) → (…, C) float32, in double precision until the last step."""

    mean: Tensor
    directions: Tensor

    def __init__(self, mean: Tensor, directions: Tensor) -> None:
        """Keep a mean (E,) and directions (E, C), float64."""
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("directions", directions)

    @classmethod
    def stored(cls, tensors: Mapping[str, Tensor], prefix: str) -> Projection | None:
        """Return that of a checkpoint; None where it has none."""
        names = [f"{prefix}{name}" for name in ("mean", "directions")]
        return cls(*(tensors[name] for name in names)) if names[0] in tensors else None

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return the components (…, C) of embeddings (…, E)."""
        seen: Tensor = (embeddings - self.mean) @ self.directions
        return seen.to(torch.float32)
