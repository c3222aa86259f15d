"""A few updates of weights by what a return at each bar is worth to someone else: a portfolio."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tradingbot.learning.direct.learner import play_chunk
from tradingbot.learning.task import Observation, Task

_BASIS_POINTS = 1e4


def follow_worth(
    task: Task,
    act: Callable[[Observation], Tensor],
    weights: Sequence[Tensor],
    worth: Tensor,
    *,
    rate: float,
    updates: int,
    chunk_bars: int,
) -> None:
    """Move weights along the gradient of Σ worth · return, through actions, costs and what is held.

    Begins with environments of its own and an optimiser of its own: nothing is left over that a
    later call would need.

    Args:
        task: N agents with numeric actions, and a differentiable step.
        act: What they do; gradients flow from it to the weights.
        weights: Of single agents, (N, …) each; moved in place.
        worth: (N, T) what a return of an agent from a bar to the next is worth. Its size does not
            count, only what it is beside the other bars: Adam divides by it.
        rate: Of Adam.
        updates: How many.
        chunk_bars: Bars of each, through which gradients flow back.
    """
    optimiser = torch.optim.Adam(weights, lr=rate)
    state, _ = task.begin()
    flat, n_bars = worth.reshape(-1), worth.shape[-1]
    agent = torch.arange(len(worth), device=worth.device)[:, None] * n_bars
    for _ in range(updates):
        rows: list[Tensor] = []

        def noted(seen: Observation, rows: list[Tensor] = rows) -> Tensor:
            rows.append(agent + seen.row % n_bars)
            return act(seen)

        made, growth = play_chunk(task, state, noted, chunk_bars)
        counted = flat[torch.stack(rows)] * growth.expm1()
        loss = -_BASIS_POINTS * counted.mean((0, 2)).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        state = tuple(part.detach() for part in made[-1][1].state)
