"""Early stopping per agent: an agent that no longer improves keeps the parameters of its best time.

Agents share part of their networks, so one agent cannot leave training alone. What is its own (the
parameters named in `StackedHead.own_names`) is put back after every update; what all share learns
on for those that still improve, and from them alone (`Learner.set_agent_weight`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tradingbot.domain.checks import require, require_kinds
from tradingbot.learning.learner_state import collect_state, restore_state
from tradingbot.networks.heads import StackedHead


@dataclass(frozen=True)
class StoppingConfig:
    """When an agent has had enough."""

    patience: int = 0
    """Evaluations in a row without a better score after which an agent stops; 0: never."""
    min_gain: float = 0.0
    """Rise of the score that counts as better."""
    first_updates: int = 0
    """Updates before the first score that counts: early scores are luck."""

    def __post_init__(self) -> None:
        """Refuse a rule that cannot be followed."""
        require_kinds(self)
        require(self.patience >= 0, "patience must be 0 or more evaluations", self)
        require(
            math.isfinite(self.min_gain) and self.min_gain >= 0.0,
            "min_gain must be 0 or more",
            self,
        )
        require(self.first_updates >= 0, "first_updates must be 0 or more", self)


class EarlyStopping:
    """Follows the score of each agent and holds those that stopped."""

    def __init__(
        self, networks: Mapping[str, nn.Module], n_agents: int, config: StoppingConfig
    ) -> None:
        """Begin with no agent stopped; nothing is copied before the first score."""
        self._config = config
        self._own = own_parameters(networks)
        self._best = torch.full((n_agents,), -math.inf, dtype=torch.float64)
        self._waited = torch.zeros(n_agents, dtype=torch.int64)
        self._kept = {name: parameter.detach().clone() for name, parameter in self._own.items()}

    @property
    def stopped(self) -> Tensor:
        """(N,) bool on the CPU."""
        if not self._config.patience:
            return torch.zeros_like(self._waited, dtype=torch.bool)
        return self._waited >= self._config.patience

    @property
    def best(self) -> Tensor:
        """(N,) best score of each agent so far, on the CPU; −∞ before the first."""
        return self._best

    def judge(self, score: Tensor, *, updates: int) -> Tensor:
        """Take the scores (N,) of an evaluation; return which agents stopped just now, (N,) bool.

        A score that is not a number is no improvement. Stopped agents stay so.
        """
        if updates < self._config.first_updates:
            return torch.zeros_like(self._waited, dtype=torch.bool)
        score = score.detach().double().cpu()
        before = self.stopped
        better = (score > self._best + self._config.min_gain) & ~before
        self._best = torch.where(better, score, self._best)
        self._waited = torch.where(better, 0, self._waited + 1)
        for name, parameter in self._own.items():
            chosen = _along(better, parameter)
            self._kept[name] = torch.where(chosen, parameter.detach(), self._kept[name])
        return self.stopped & ~before

    @torch.no_grad()
    def hold(self) -> None:
        """Put back the own parameters of those that stopped."""
        stopped = self.stopped
        if not stopped.any():
            return
        for name, parameter in self._own.items():
            parameter.copy_(torch.where(_along(stopped, parameter), self._kept[name], parameter))

    def state(self) -> dict[str, Tensor]:
        """Return what resuming needs."""
        return collect_state(self._parts())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned."""
        made = restore_state(self._parts(), state)
        self._best, self._waited = made["best"], made["waited"]
        self._kept = {name: made[f"kept/{name}"] for name in self._kept}

    def _parts(self) -> dict[str, Tensor]:
        kept = {f"kept/{name}": tensor for name, tensor in self._kept.items()}
        return {"best": self._best, "waited": self._waited, **kept}


def own_parameters(networks: Mapping[str, nn.Module]) -> dict[str, nn.Parameter]:
    """Return the parameters (N, …) that belong to single agents, by network and path."""
    found: dict[str, nn.Parameter] = {}
    for network_name, network in networks.items():
        for path, module in network.named_modules():
            if isinstance(module, StackedHead):
                parameters = dict(module.named_parameters())
                found |= {
                    ".".join(filter(None, (network_name, path, own))): parameters[own]
                    for own in module.own_names
                }
    return found


def _along(agents: Tensor, parameter: Tensor) -> Tensor:
    return agents.to(parameter.device).view(-1, *[1] * (parameter.dim() - 1))
