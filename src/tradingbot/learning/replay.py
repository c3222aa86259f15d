"""Past transitions of all agents in a ring on the device, and uniform samples of them.

What is exogenous is stored as its row number, never as an embedding. Nothing here asks the device
for a number: cursor and count are tensors.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.learning.task import Observation, TaskStep, TransitionExtras, delivered

_NOTHING = TransitionExtras()
GoalStrategy = Literal["future", "episode", "random"]
"""Where a goal in hindsight is taken from; see `Replay.sample_with_others`."""


class Transitions(NamedTuple):
    """Steps of N agents; the second axis counts environments or samples."""

    row: Tensor
    """(N, M) int64, what was seen: row of the task's table."""
    private: Tensor
    """(N, M, P) what was known of oneself."""
    action: Tensor
    """(N, M) number, or (N, M, K) vector, as the task got it, after squashing."""
    reward: Tensor
    """(N, M); no number where it is not kept, because goals to come decide it."""
    continues: Tensor
    """(N, M) 0 where a failure ended the episode, else 1; 1 where time was up."""
    final_row: Tensor
    """(N, M) int64, what followed, before any reset."""
    final_private: Tensor
    """(N, M, P)"""
    duration: Tensor | None = None
    """(N, M) steps of the task's clock, where it was asked for."""
    discount: Tensor | None = None
    """(N, M) what the value of what followed counts for, where it was asked for."""
    goal: Tensor | None = None
    """(N, M, G) what was aimed for, where it was asked for."""
    episode: Tensor | None = None
    """(N, M) int64, number of the environment's episode, where it was asked for."""
    achieved: Tensor | None = None
    """(N, M, G) what was reached by the end of the step, where it was asked for."""
    course: Tensor | None = None
    """(N, M, K, G) what was reached by each of its steps, `duration` of them; of options alone."""


def transitions_of(
    before: Observation, action: Tensor, step: TaskStep, extras: TransitionExtras = _NOTHING
) -> Transitions:
    """Return what a step of all environments was, (N, B, …), with the extras that are asked for.

    Raises:
        ConfigError: If the task does not deliver one of them.
    """
    return Transitions(
        before.row,
        before.private,
        action,
        step.reward,
        (~step.terminated).to(step.reward.dtype),
        step.final_row,
        step.final_private,
        duration=delivered(step, "duration") if extras.duration else None,
        discount=delivered(step, "discount") if extras.discount else None,
        goal=delivered(step, "goal") if extras.n_goal else None,
        episode=delivered(step, "episode") if extras.episode else None,
        achieved=delivered(step, "achieved") if extras.achieved else None,
    )


class Replay(nn.Module):
    """The last `capacity` transitions of each agent; a module so that its tensors are its state.

    A slot holds one step of all B environments. Each transition is one record, so that writing is
    one copy and sampling one gather: it is memory that sampling waits for.
    """

    records: Tensor
    """(N, slots, B, R + W) int32: `rows`, and the bits of `numbers`."""
    cursor: Tensor
    """(1,) int64, slot that is written next."""
    count: Tensor
    """(1,) int64, slots that are filled."""
    spans: Tensor
    """(N, slots, B, 2) int32, where episode numbers are kept: slots written so far when an episode
    began, and when its newest step was written; at its number modulo slots."""
    written: Tensor
    """(1,) int64, slots written so far, where episode numbers are kept."""

    def __init__(
        self,
        n_agents: int,
        n_envs: int,
        n_private: int,
        *,
        capacity: int,
        n_components: int = 0,
        extras: TransitionExtras = _NOTHING,
        device: torch.device | str = "cpu",
    ) -> None:
        """Reserve all memory at once; it does not grow afterwards.

        Args:
            n_agents: N.
            n_envs: B.
            n_private: P.
            capacity: Transitions of each agent that are kept, rounded down to whole slots of B,
                one slot at least.
            n_components: K, numbers of an action that is a vector; 0: one number.
            extras: What is kept besides.
            device: Where everything lives.
        """
        super().__init__()
        self.n_private, self.n_slots = n_private, max(1, capacity // n_envs)
        self.n_components, self.extras = n_components, extras
        shape = (n_agents, self.n_slots, n_envs)
        self._widths = (
            *(n_private, n_private, max(n_components, 1), int(extras.reward), 1),
            *(int(extras.duration), int(extras.discount), extras.n_goal),
            extras.n_goal * int(extras.achieved),
        )
        self._n_rows = 2 + extras.episode
        width = self._n_rows + sum(self._widths)
        records = torch.zeros(*shape, width, dtype=torch.int32, device=device)
        self.register_buffer("records", records)
        self.register_buffer("cursor", torch.zeros(1, dtype=torch.int64, device=device))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64, device=device))
        if extras.episode:
            spans = torch.zeros(*shape, 2, dtype=torch.int32, device=device)
            self.register_buffer("spans", spans)
            self.register_buffer("written", torch.zeros(1, dtype=torch.int64, device=device))
        first = torch.arange(n_agents, device=device)[:, None] * (self.n_slots * n_envs)
        self.register_buffer("first", first, persistent=False)

    first: Tensor
    """(N, 1) int64, place of each agent's first transition when all axes but the last are one."""

    @property
    def rows(self) -> Tensor:
        """(N, slots, B, 2): seen, and what followed; a third is the episode where it is kept."""
        return self.records[..., : self._n_rows]

    @property
    def numbers(self) -> Tensor:
        """(N, slots, B, W) private, final private, action, reward, continues, and the extras.

        W is 2 P + 3 for one number and no extras.
        """
        return self.records[..., self._n_rows :].view(torch.float32)

    @property
    def state_bytes(self) -> int:
        """Memory of everything stored; reserved from the beginning, and what saving costs."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.state_dict().values())

    @torch.no_grad()
    def insert(self, step: Transitions) -> None:
        """Write one step of all environments, (N, B, …), over the oldest one once it is full."""
        record = self._pack(step)
        if step.episode is not None:
            self._span(step.episode)
        self.records.index_copy_(1, self.cursor, record[:, None])
        self.cursor.add_(1).remainder_(self.n_slots)
        self.count.add_(1).clamp_(max=self.n_slots)

    def _pack(self, step: Transitions) -> Tensor:
        """Return what is kept of a step, (N, B, R + W)."""
        rows = torch.stack(
            [part for part in (step.row, step.final_row, step.episode) if part is not None], dim=-1
        ).to(torch.int32)
        action = step.action if self.n_components else step.action[..., None]
        reward = step.reward if self.extras.reward else None
        columns = (reward, step.continues, step.duration, step.discount)
        single = torch.stack([part for part in columns if part is not None], dim=-1)
        goal = [part for part in (step.goal, step.achieved) if part is not None]
        numbers = torch.cat([step.private, step.final_private, action, single, *goal], dim=-1)
        return torch.cat([rows, numbers.float().view(torch.int32)], dim=-1)

    @torch.no_grad()
    def sample(self, n_samples: int, generator: torch.Generator) -> Transitions:
        """Draw transitions (N, M, …) uniformly with replacement, each agent from its own past.

        There must be one at least.
        """
        return self.take(self._draw_places(n_samples, generator))

    @torch.no_grad()
    def sample_with_others(
        self, n_samples: int, generator: torch.Generator, *, strategy: GoalStrategy, n_others: int
    ) -> tuple[Transitions, Tensor]:
        """Draw transitions (N, M, …), and places (N, K) of others for the first K of them.

        What another one of the same agent reached is a goal that hindsight can put in place of the
        one that was aimed for. It is uniform over what is kept: of the same episode from this step
        on (`future`), of the same episode (`episode`), or of everything (`random`). Episode numbers
        must be kept; one look-up each, however long episodes are.
        """
        place = self._draw_places(n_samples, generator)
        drawn = self.take(place)
        if strategy == "random":
            return drawn, self._draw_places(n_samples, generator)[:, :n_others]
        share = torch.rand(place.shape, generator=generator, device=place.device)[:, :n_others]
        place, n_envs = place[:, :n_others], self.rows.shape[2]
        slot = torch.div(place - self.first, n_envs, rounding_mode="floor")
        written, cursor, kept = self._clock(place)
        # When a slot was written, counted in slots; the newest stands before the cursor.
        made = written - 1 - torch.remainder(cursor - 1 - slot, self.n_slots)
        assert drawn.episode is not None
        number = torch.remainder(drawn.episode[:, :n_others], self.n_slots)
        span = gather_places(self.spans, place + (number - slot) * n_envs).long()
        oldest = torch.maximum(span[..., 0], written - kept)
        begin = made if strategy == "future" else oldest
        count = span[..., 1] - begin + 1
        chosen = begin + torch.minimum((share * count).long(), count - 1)
        return drawn, place + (torch.remainder(chosen, self.n_slots) - slot) * n_envs

    @torch.no_grad()
    def episode(self, agent: int, env: int, number: int) -> Transitions:
        """Return what is kept of an episode in order of time, (1, L, …); asks the device.

        Args:
            agent: Place of the agent.
            env: Place of its environment.
            number: Of the episode; episode numbers must be kept.
        """
        count, cursor = int(self.count), int(self.cursor)
        order = torch.arange(count, device=self.rows.device)
        slots = (order + cursor) % self.n_slots if count == self.n_slots else order
        inside = slots[self.rows[agent, slots, env, 2] == number]
        return self.take(self.first[agent] + inside[None] * self.rows.shape[2] + env)

    def _clock(self, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return slots written so far, the one written next, and how many are kept, at places."""
        return self.written, self.cursor, self.count

    def _span(self, episode: Tensor) -> None:
        """Count the slot that is about to be written to the span of its episode, (N, B)."""
        n_agents, _, n_envs, _ = self.rows.shape
        env = torch.arange(n_envs, device=episode.device)
        place = self.first + torch.remainder(episode, self.n_slots) * n_envs + env
        flat, newest = self.spans.view(-1, 2), torch.remainder(self.cursor - 1, self.n_slots)
        # Of whole records: selecting from a part of them would copy that part of the whole replay.
        before = self.records.index_select(1, newest)[:, 0, :, 2]
        goes_on = (before == episode) & (self.written > 0)
        now = self.written.to(torch.int32).expand(n_agents, n_envs)
        begun = torch.where(goes_on, flat[place.reshape(-1), 0].view(place.shape), now)
        flat[place.reshape(-1)] = torch.stack([begun, now], dim=-1).view(-1, 2)
        self.written.add_(1)

    def _draw_places(self, n_samples: int, generator: torch.Generator) -> Tensor:
        """Draw flat places (N, M); as doubles: 24 bits would favour some of 100 k places."""
        n_agents, _, n_envs, _ = self.rows.shape
        share = torch.rand(
            (n_agents, n_samples), generator=generator, dtype=torch.float64, device=self.rows.device
        )
        return (share * (self.count * n_envs)).long() + self.first

    def achieved_at(self, place: Tensor) -> Tensor:
        """Return what was reached (N, M, G) by the transitions at flat places (N, M)."""
        return gather_places(self.records[..., -self.extras.n_goal :], place).view(torch.float32)

    def take(self, place: Tensor) -> Transitions:
        """Return the transitions (N, M, …) at flat places (N, M)."""
        record = gather_places(self.records, place)
        rows, numbers = record[..., : self._n_rows].long(), record[..., self._n_rows :]
        parts = torch.split(numbers.view(torch.float32), list(self._widths), dim=-1)
        private, final_private, action, reward, continues, *others = parts
        duration, discount, goal, achieved = others
        extras = self.extras
        return Transitions(
            rows[..., 0],
            private,
            action if self.n_components else action.squeeze(-1),
            reward.squeeze(-1) if extras.reward else torch.full_like(continues[..., 0], math.nan),
            continues.squeeze(-1),
            rows[..., 1],
            final_private,
            duration=duration.squeeze(-1) if extras.duration else None,
            discount=discount.squeeze(-1) if extras.discount else None,
            goal=goal if extras.n_goal else None,
            episode=rows[..., 2] if extras.episode else None,
            achieved=achieved if extras.achieved else None,
        )


def gather_places(stored: Tensor, place: Tensor) -> Tensor:
    """Return (N, M, …) of (N, slots, B, …) at flat places (N, M)."""
    rest = stored.shape[3:]
    return stored.view(-1, *rest).index_select(0, place.reshape(-1)).view(*place.shape, *rest)
