"""Past transitions of all agents in a ring on the device, and uniform samples of them.

What is exogenous is stored as its row number, never as an embedding. Nothing here asks the device
for a number: cursor and count are tensors.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.learning.task import Observation, TaskStep


class Transitions(NamedTuple):
    """Steps of N agents; the second axis counts environments or samples."""

    row: Tensor
    """(N, M) int64, what was seen: row of the task's table."""
    private: Tensor
    """(N, M, P) what was known of oneself."""
    action: Tensor
    """(N, M) number as the task got it, after squashing."""
    reward: Tensor
    """(N, M)"""
    continues: Tensor
    """(N, M) 0 where a failure ended the episode, else 1; 1 where time was up."""
    final_row: Tensor
    """(N, M) int64, what followed, before any reset."""
    final_private: Tensor
    """(N, M, P)"""


def transitions_of(before: Observation, action: Tensor, step: TaskStep) -> Transitions:
    """Return what a step of all environments was, (N, B, …)."""
    return Transitions(
        before.row,
        before.private,
        action,
        step.reward,
        (~step.terminated).to(step.reward.dtype),
        step.final_row,
        step.final_private,
    )


class Replay(nn.Module):
    """The last `capacity` transitions of each agent; a module so that its tensors are its state.

    A slot holds one step of all B environments. Each transition is two rows of one table each, so
    that writing is two copies and sampling two gathers.
    """

    rows: Tensor
    """(N, slots, B, 2) int32: seen, and what followed."""
    numbers: Tensor
    """(N, slots, B, 2 P + 3) private, final private, action, reward, continues."""
    cursor: Tensor
    """(1,) int64, slot that is written next."""
    count: Tensor
    """(1,) int64, slots that are filled."""

    def __init__(
        self,
        n_agents: int,
        n_envs: int,
        n_private: int,
        *,
        capacity: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Reserve all memory at once; it does not grow afterwards.

        Args:
            n_agents: N.
            n_envs: B.
            n_private: P.
            capacity: Transitions of each agent that are kept, rounded down to whole slots of B,
                one slot at least.
            device: Where everything lives.
        """
        super().__init__()
        self.n_private, self.n_slots = n_private, max(1, capacity // n_envs)
        shape = (n_agents, self.n_slots, n_envs)
        width = 2 * n_private + 3
        self.register_buffer("rows", torch.zeros(*shape, 2, dtype=torch.int32, device=device))
        self.register_buffer("numbers", torch.zeros(*shape, width, device=device))
        self.register_buffer("cursor", torch.zeros(1, dtype=torch.int64, device=device))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64, device=device))
        first = torch.arange(n_agents, device=device)[:, None] * (self.n_slots * n_envs)
        self.register_buffer("first", first, persistent=False)

    first: Tensor
    """(N, 1) int64, place of each agent's first transition when all axes but the last are one."""

    @property
    def state_bytes(self) -> int:
        """Memory of everything stored; reserved from the beginning, and what saving costs."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.state_dict().values())

    @torch.no_grad()
    def insert(self, step: Transitions) -> None:
        """Write one step of all environments, (N, B, …), over the oldest one once it is full."""
        rows = torch.stack([step.row, step.final_row], dim=-1).to(torch.int32)
        columns = (step.action, step.reward, step.continues)
        numbers = torch.cat(
            [step.private, step.final_private, torch.stack(columns, dim=-1)], dim=-1
        )
        self.rows.index_copy_(1, self.cursor, rows[:, None])
        self.numbers.index_copy_(1, self.cursor, numbers[:, None].to(self.numbers.dtype))
        self.cursor.add_(1).remainder_(self.n_slots)
        self.count.add_(1).clamp_(max=self.n_slots)

    @torch.no_grad()
    def sample(self, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw transitions (N, M, …) uniformly with replacement, each agent from its own past.

        There must be one at least. Drawn as doubles: 24 bits would favour some of 100 k places.
        """
        n_agents, _, n_envs, _ = self.rows.shape
        share = torch.rand(
            (n_agents, n_samples), generator=generator, dtype=torch.float64, device=self.rows.device
        )
        place = (share * (self.count * n_envs)).long() + self.first
        rows = _gather(self.rows, place).long()
        numbers = _gather(self.numbers, place)
        p = self.n_private
        action, reward, continues = numbers[..., 2 * p :].unbind(-1)
        return Transitions(
            rows[..., 0],
            numbers[..., :p],
            action,
            reward,
            continues,
            rows[..., 1],
            numbers[..., p : 2 * p],
        )


def _gather(stored: Tensor, place: Tensor) -> Tensor:
    """Return (N, M, W) of (N, slots, B, W) at flat places (N, M)."""
    width = stored.shape[-1]
    return stored.view(-1, width).index_select(0, place.reshape(-1)).view(*place.shape, width)
