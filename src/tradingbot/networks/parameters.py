"""What agents weigh: parameters of one, of all, and what sharing saves, counted by storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

MAX_ENCODER = 5_000_000
MAX_AGENT = 10_000_000
"""Of one agent with its encoder."""
MAX_POPULATION = 50_000_000
"""Of all agents together, at `BUDGETED_AGENTS` or fewer."""
BUDGETED_AGENTS = 143


@dataclass(frozen=True)
class ParameterReport:
    """Counts of parameters; storage that several modules use is counted once."""

    n_agents: int
    encoder: int
    """Shared by all agents."""
    shared_heads: int
    """Of heads, used by every agent."""
    own_heads: int
    """Of heads, all agents together: each has its N-th."""
    encoder_copies: int
    """Encoders of the same kind with storage of their own; 1 where weights are truly shared."""

    @property
    def head_of_agent(self) -> int:
        """What one agent's heads take, shared or not."""
        return self.shared_heads + self.own_heads // self.n_agents

    @property
    def agent(self) -> int:
        """What one agent alone would take, encoder included."""
        return self.encoder + self.head_of_agent

    @property
    def total(self) -> int:
        """What all agents take together."""
        return self.encoder * self.encoder_copies + self.shared_heads + self.own_heads

    @property
    def separate(self) -> int:
        """What N agents that share nothing would take."""
        return self.n_agents * self.agent

    @property
    def saved_frac(self) -> float:
        """Share of parameters that sharing saves."""
        return 1.0 - self.total / self.separate if self.separate else 0.0

    @property
    def figures(self) -> dict[str, int | float | tuple[str, ...]]:
        """All counts by name, with what follows from them, and which budgets are broken."""
        return {
            "per_agent": self.agent,
            "encoder": self.encoder,
            "heads_per_agent": self.head_of_agent,
            "shared": self.encoder + self.shared_heads,
            "own": self.own_heads,
            "total": self.total,
            "separate": self.separate,
            "saved_frac": self.saved_frac,
            "over_budget": self.complaints(),
        }

    @property
    def words(self) -> str:
        """The counts in one line."""
        heads = f"{self.encoder:,} of the encoder, {self.head_of_agent:,} of its heads"
        return (
            f"{self.agent:,} parameters per agent ({heads}); {self.total:,} of all "
            f"{self.n_agents} agents together, {self.saved_frac:.0%} fewer than apart"
        )

    def complaints(self) -> tuple[str, ...]:
        """Say which budgets are broken, one sentence each; nothing if all is well."""
        rows = [
            ("encoder", self.encoder, MAX_ENCODER),
            ("one agent with its encoder", self.agent, MAX_AGENT),
            ("encoders in storage", self.encoder_copies, 1),
        ]
        if self.n_agents <= BUDGETED_AGENTS:
            rows.append((f"{self.n_agents} agents", self.total, MAX_POPULATION))
        return tuple(
            f"{what}: {count:,} is more than {limit:,}"
            for what, count, limit in rows
            if count > limit
        )


def report_parameters(
    encoder: nn.Module, heads: Mapping[str, nn.Module], n_agents: int
) -> ParameterReport:
    """Count the parameters of N agents.

    Args:
        encoder: The one all agents use.
        heads: Modules by name; those that name parameters of single agents (N, …) in `own_names`
            are counted accordingly. They may hold the encoder: same storage, counted once.
        n_agents: N.
    """
    seen = {_place(parameter) for parameter in encoder.parameters()}
    shared = own = copies = 0
    for head in heads.values():
        others = [module for module in head.modules() if _is_copy(module, encoder)]
        copies += len(others)
        seen.update(_place(parameter) for other in others for parameter in other.parameters())
        own_parameters = {id(parameter) for parameter in _own(head)}
        for parameter in head.parameters():
            if _place(parameter) in seen:
                continue
            seen.add(_place(parameter))
            if id(parameter) in own_parameters:
                own += parameter.numel()
            else:
                shared += parameter.numel()
    count = sum(parameter.numel() for parameter in encoder.parameters())
    return ParameterReport(n_agents, count, shared, own, 1 + copies)


def one_storage(modules: Iterable[nn.Module]) -> bool:
    """Tell whether modules use the same weights: the same memory, not equal numbers."""
    places = [[_place(parameter) for parameter in module.parameters()] for module in modules]
    return all(place == places[0] for place in places)


def _is_copy(module: nn.Module, encoder: nn.Module) -> bool:
    if type(module) is not type(encoder) or one_storage([module, encoder]):
        return False
    shapes = [[parameter.shape for parameter in part.parameters()] for part in (module, encoder)]
    return shapes[0] == shapes[1]


def _own(head: nn.Module) -> list[nn.Parameter]:
    """Return parameters that belong to single agents, of a head and of those within it."""
    return [
        module.get_parameter(name)
        for module in head.modules()
        for name in getattr(module, "own_names", ())
    ]


def _place(tensor: Tensor) -> tuple[int, int]:
    return tensor.untyped_storage().data_ptr(), int(tensor.storage_offset())
