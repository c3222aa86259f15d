"""What a feature is: its name, unit, formulae and policies, and the hash of a list of them.

Formulae live in the topical files (price, trend, momentum …), evaluation in compute and streaming.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tradingbot.features.graph.nodes import Input, Node

Family = Literal["technical", "regime", "covariate"]
Form = Literal["raw", "network"]


@dataclass(frozen=True)
class FeatureSpec:
    """One feature in two forms: raw as traders know it, network scale-free for learners.

    Undefined values are NaN: where the symbol has no bar, and during the warm-up.
    """

    name: str  # column name, unique
    unit: str  # of the raw form
    family: Family
    raw: Node
    network: Node
    formula: str  # of the raw form, for people
    network_formula: str  # of the network form, for people
    network_range: tuple[float, float]  # bounds that the network form never leaves
    nan_policy: str  # when it is NaN, and what stands for a division by zero
    description: str = ""
    version: int = 1  # raised whenever a number it gives can change

    @property
    def id(self) -> str:
        """Name and version, e.g. `rsi_14-v1`."""
        return f"{self.name}-v{self.version}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the bar fields and covariates that either form reads, sorted."""
        names: set[str] = set()
        pending: list[Node] = [self.raw, self.network]
        while pending:
            node = pending.pop()
            pending.extend(node.arguments)
            if isinstance(node, Input):
                names.add(node.name)
        return tuple(sorted(names))

    @property
    def lookback_bars(self) -> int:
        """Bars, the current one included, until both forms are defined."""
        return max(self.raw.warm_up_bars, self.network.warm_up_bars) + 1

    @property
    def finite_memory(self) -> bool:
        """Whether `lookback_bars` bars fix the value; else it also remembers all bars before."""
        return self.raw.finite_memory and self.network.finite_memory

    def node(self, form: Form) -> Node:
        """Return the expression of one form."""
        return self.raw if form == "raw" else self.network


technical = partial(FeatureSpec, family="technical")


def spec_hash(specs: Sequence[FeatureSpec]) -> str:
    """Hash names, versions, order and the structure of both formulae (hex SHA-256)."""
    lines = [f"{spec.id} {spec.raw.digest} {spec.network.digest}" for spec in specs]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
