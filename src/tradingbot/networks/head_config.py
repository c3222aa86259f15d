"""Settings of a head: its size, and how agents share it. Read without torch; see `heads.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import bounded, require, require_kinds

Pooling = Literal["partial", "pooled", "independent"]
"""How agents share a head: one with deviations, one for all, or one each."""
Initialisation = Literal["orthogonal", "xavier", "he"]
"""Distribution of first weights; see `initialisation.draw_weight`."""


@dataclass(frozen=True)
class HeadConfig:
    """Size of a head, and how agents share it."""

    hidden: tuple[int, ...] = (128,)
    """Width of each hidden layer."""
    activation: Literal["tanh", "relu", "gelu"] = "tanh"
    """Nonlinearity of hidden layers."""
    pooling: Pooling = "partial"
    """How agents share the head: one for all, one each, or one with deviations."""
    n_directions: int = bounded(4, ">= 1")
    """K, in which partially pooled agents may differ."""
    deviation_scale: float = bounded(0.1, "(0, inf)")
    """Standard deviation of the z at first; at 0 symmetric agents could never begin to differ."""
    initialisation: Initialisation = "orthogonal"
    """Distribution of the first weights."""
    output_gain: float = bounded(0.1, "(0, inf)")
    """Scale of the last layer at first: small, so that policies begin undecided."""

    def __post_init__(self) -> None:
        """Refuse a head that cannot be."""
        require_kinds(self)
        require_widths(self.hidden, self)


def require_widths(hidden: tuple[int, ...], rules: object) -> None:
    """Refuse hidden layers, `hidden` of some settings, that no head can have."""
    require(bool(hidden), "hidden must have a layer", rules)
    require(all(width >= 1 for width in hidden), "hidden must be widths of 1 or more", rules)
