"""Early stopping per agent: an agent that no longer improves keeps the parameters of its best time.

Agents share part of their networks, so one agent cannot leave training alone. What is its own (the
parameters named in `StackedHead.own_names`) is put back after every update; what all share learns
on for those that still improve, and from them alone (`Learner.set_agent_weight`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.train_plan import StoppingConfig
from tradingbot.networks.heads import StackedHead, per_agent


class EarlyStopping(Resumable):
    """Follows the score of each agent and holds those that stopped."""

    _STATE = name_parts("_best", "_waited", "_kept")

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
            chosen = per_agent(better, parameter)
            self._kept[name] = torch.where(chosen, parameter.detach(), self._kept[name])
        return self.stopped & ~before

    @torch.no_grad()
    def hold(self) -> None:
        """Put back the own parameters of those that stopped."""
        stopped = self.stopped
        if not stopped.any():
            return
        for name, parameter in self._own.items():
            parameter.copy_(torch.where(per_agent(stopped, parameter), self._kept[name], parameter))


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
