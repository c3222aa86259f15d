"""Options that ended, of all agents in a ring on the device: a `Replay` whose lanes fill unevenly.

Options end at different times in different environments. Every step writes what each lane's option
has come to into the lane's next slot; the slot counts once the option has ended.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tradingbot.learning.replay import Replay, Transitions, gather_places
from tradingbot.learning.task import TransitionExtras

_NO_GOALS = TransitionExtras()


class EndedOptions(Replay):
    """The last options of each agent that ended; each lane has one slot in the making besides."""

    lane_cursor: Tensor
    """(N, B) int64, slot that each lane writes."""
    lane_count: Tensor
    """(N, B) int64, options of each lane that ended and are kept."""
    lane_written: Tensor
    """(N, B) int64, options of each lane that ended so far, where goals are kept."""
    courses: Tensor
    """(N, slots, B, K, G) what each step of an option reached, where goals are kept."""

    def __init__(
        self,
        n_agents: int,
        n_envs: int,
        n_private: int,
        *,
        capacity: int,
        longest: int = 0,
        goals: TransitionExtras = _NO_GOALS,
        device: torch.device | str = "cpu",
    ) -> None:
        """Reserve all memory at once: `capacity` options of each agent, and those in the making.

        Args:
            n_agents: N.
            n_envs: B.
            n_private: P.
            capacity: Options of each agent.
            longest: K, steps of the longest option; only where goals are kept.
            goals: What is kept of goals: numbers, what was reached, episodes; or nothing.
            device: Where everything lives.
        """
        extras = replace(goals, duration=True, discount=True)
        kept = max(capacity, n_envs) + n_envs
        super().__init__(n_agents, n_envs, n_private, capacity=kept, extras=extras, device=device)
        lanes = torch.zeros(n_agents, n_envs, dtype=torch.int64, device=device)
        self.register_buffer("lane_cursor", lanes)
        self.register_buffer("lane_count", lanes.clone())
        if extras.achieved:
            shape = (n_agents, self.n_slots, n_envs, longest, extras.n_goal)
            self.register_buffer("courses", torch.zeros(shape, device=device))
            self.register_buffer("lane_written", lanes.clone())

    @property
    def has_any(self) -> Tensor:
        """(N,) bool, agents of which an option has ended."""
        return self.lane_count.sum(1) > 0

    @torch.no_grad()
    def insert_where(self, step: Transitions, ended: Tensor) -> None:
        """Write what options have come to (N, B, …); it stays where they `ended` (N, B)."""
        record = self._pack(step)
        place = self._place(self.lane_cursor)
        if step.achieved is not None:
            self._insert_course(step, place, ended)
        width = record.shape[-1]
        self.records.view(-1, width)[place.reshape(-1)] = record.view(-1, width)
        self.lane_cursor.copy_(torch.remainder(self.lane_cursor + ended, self.n_slots))
        self.lane_count.copy_((self.lane_count + ended).clamp(max=self.n_slots - 1))

    def _insert_course(self, step: Transitions, place: Tensor, ended: Tensor) -> None:
        """Write what the newest step of each option reached, and count those that ended."""
        assert step.achieved is not None
        assert step.duration is not None
        assert step.episode is not None
        longest, width = self.courses.shape[-2:]
        newest = (place * longest + step.duration.long() - 1).reshape(-1)
        self.courses.view(-1, width)[newest] = step.achieved.reshape(-1, width).float()
        before = self._place(torch.remainder(self.lane_cursor - 1, self.n_slots))
        goes_on = (gather_places(self.records, before)[..., 2] == step.episode) & (
            self.lane_written > 0
        )
        span = self._place(torch.remainder(step.episode, self.n_slots))
        old = gather_places(self.spans, span)
        now = self.lane_written.to(old.dtype)
        new = torch.stack([torch.where(goes_on, old[..., 0], now), now], dim=-1)
        changed = torch.where(ended[..., None], new, old)
        self.spans.view(-1, 2)[span.reshape(-1)] = changed.view(-1, 2)
        self.lane_written.add_(ended)

    def _place(self, slot: Tensor) -> Tensor:
        """Return flat places (N, B) of a slot of each lane."""
        n_envs = self.rows.shape[2]
        return self.first + slot * n_envs + torch.arange(n_envs, device=slot.device)

    def _clock(self, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same of the lanes that places (N, M) are in."""
        lane = torch.remainder(place, self.rows.shape[2])
        written, cursor, kept = (
            each.gather(1, lane) for each in (self.lane_written, self.lane_cursor, self.lane_count)
        )
        return written, cursor, kept

    def take(self, place: Tensor) -> Transitions:
        """Return options (N, M, …) with the courses that they took, where those are kept."""
        taken = super().take(place)
        if not self.extras.achieved:
            return taken
        return taken._replace(course=gather_places(self.courses, place))

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
