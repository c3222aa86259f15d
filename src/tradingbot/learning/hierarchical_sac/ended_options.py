"""Options that ended, of all agents in a ring on the device: a `Replay` whose lanes fill unevenly.

Options end at different times in different environments. Every step writes what each lane's option
has come to into the lane's next slot; the slot counts once the option has ended.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.replay import Replay, Transitions
from tradingbot.learning.task import TransitionExtras


class EndedOptions(Replay):
    """The last options of each agent that ended; each lane has one slot in the making besides."""

    lane_cursor: Tensor
    """(N, B) int64, slot that each lane writes."""
    lane_count: Tensor
    """(N, B) int64, options of each lane that ended and are kept."""

    def __init__(
        self,
        n_agents: int,
        n_envs: int,
        n_private: int,
        *,
        capacity: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Reserve all memory at once: `capacity` options of each agent, and those in the making."""
        extras = TransitionExtras(duration=True, discount=True)
        kept = max(capacity, n_envs) + n_envs
        super().__init__(n_agents, n_envs, n_private, capacity=kept, extras=extras, device=device)
        lanes = torch.zeros(n_agents, n_envs, dtype=torch.int64, device=device)
        self.register_buffer("lane_cursor", lanes)
        self.register_buffer("lane_count", lanes.clone())

    @property
    def has_any(self) -> Tensor:
        """(N,) bool, agents of which an option has ended."""
        return self.lane_count.sum(1) > 0

    @torch.no_grad()
    def insert_where(self, step: Transitions, ended: Tensor) -> None:
        """Write what options have come to (N, B, …); it stays where they `ended` (N, B)."""
        rows = torch.stack([step.row, step.final_row], dim=-1).to(torch.int32)
        assert step.duration is not None
        assert step.discount is not None
        columns = (step.action, step.reward, step.continues, step.duration, step.discount)
        single = torch.stack([each.to(step.reward.dtype) for each in columns], dim=-1)
        numbers = torch.cat([step.private, step.final_private, single], dim=-1)
        place = self._place(self.lane_cursor).reshape(-1)
        self.rows.view(-1, 2)[place] = rows.view(-1, 2)
        width = numbers.shape[-1]
        self.numbers.view(-1, width)[place] = numbers.view(-1, width).to(self.numbers.dtype)
        self.lane_cursor.copy_(torch.remainder(self.lane_cursor + ended, self.n_slots))
        self.lane_count.copy_((self.lane_count + ended).clamp(max=self.n_slots - 1))

    def _place(self, slot: Tensor) -> Tensor:
        """Return flat places (N, B) of a slot of each lane."""
        n_envs = self.rows.shape[2]
        return self.first + slot * n_envs + torch.arange(n_envs, device=slot.device)

    def _draw_places(self, n_samples: int, generator: torch.Generator) -> Tensor:
        """Draw flat places (N, M), uniformly over all options of an agent that ended."""
        n_agents, _, n_envs, _ = self.rows.shape
        share = torch.rand(
            (n_agents, n_samples), generator=generator, dtype=torch.float64, device=self.rows.device
        )
        until = self.lane_count.cumsum(1)
        chosen = (share * until[:, -1:]).long()
        lane = torch.searchsorted(until, chosen, right=True).clamp(max=n_envs - 1)
        back = until.gather(1, lane) - chosen  # 1 is the newest of its lane
        slot = torch.remainder(self.lane_cursor.gather(1, lane) - back, self.n_slots)
        return self.first + slot * n_envs + lane
