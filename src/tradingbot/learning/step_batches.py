"""Collected steps laid out for networks of N agents: by agent, in chunks, and drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.learning.reward_transform import CollectedSteps

_ROWS = 1 << 16
"""Transitions of all agents in one pass: what hidden layers may take in memory."""


def by_agent(values: Tensor) -> Tensor:
    """(S, N, B, …) → (N, S · B, …)."""
    return values.transpose(0, 1).flatten(1, 2)


def in_chunks(measure: Callable[[CollectedSteps], Tensor], steps: CollectedSteps) -> Tensor:
    """Return a measure (S, N, B) of steps, a few of them at a time."""
    chunk = max(1, _ROWS // steps.row[0].numel())
    if chunk >= len(steps.row):
        return measure(steps)
    parts = [None if part is None else torch.split(part, chunk) for part in steps]
    count = len(torch.split(steps.row, chunk))
    cut = ([p if p is None else p[i] for p in parts] for i in range(count))
    return torch.cat([measure(CollectedSteps._make(some)) for some in cut])


def draw_samples(steps: CollectedSteps, count: int, generator: torch.Generator) -> CollectedSteps:
    """Draw transitions with replacement, the same places of every agent: (count, N, 1, …) each.

    Terms are left out.
    """
    n_steps, _, n_envs = steps.reward.shape
    place = torch.randint(n_steps * n_envs, (count,), generator=generator, device=generator.device)
    step, env = place // n_envs, place % n_envs

    def take(part: Tensor) -> Tensor:
        return part[step, :, env].unsqueeze(2)

    parts = [None if part is None else take(part) for part in steps._replace(terms=None)]
    return CollectedSteps._make(parts)
