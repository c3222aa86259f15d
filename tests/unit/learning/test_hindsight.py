"""Transitions with goals and episode numbers: an episode is found again and relabelled."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fixtures.replay_pairs import drawn_pairs
from tradingbot.learning.hindsight import relabel_goals
from tradingbot.learning.replay import Replay, Transitions
from tradingbot.learning.task import TransitionExtras

KEPT = TransitionExtras(episode=True, n_goal=1)
LENGTH = 5
N_AGENTS, N_ENVS, SLOTS = 2, 3, 22
STEPS = (3, 17, 22, 29)
"""Within the first episode; a ring not full, just full, and with an episode across its end."""


def walk(step: int, aims: Tensor) -> Transitions:
    """Step of walks to the right, all of `LENGTH` steps; private: place and goal."""
    place = torch.full((N_AGENTS, N_ENVS, 1), float(step % LENGTH))
    return Transitions(
        row=torch.full((N_AGENTS, N_ENVS), step),
        private=torch.cat([place, aims], -1),
        action=torch.ones(N_AGENTS, N_ENVS),
        reward=torch.full((N_AGENTS, N_ENVS), -1.0),
        continues=torch.ones(N_AGENTS, N_ENVS),
        final_row=torch.full((N_AGENTS, N_ENVS), step + 1),
        final_private=torch.cat([place + 1.0, aims], -1),
        goal=aims,
        episode=torch.full((N_AGENTS, N_ENVS), step // LENGTH),
    )


def filled(n_steps: int) -> Replay:
    replay = Replay(N_AGENTS, N_ENVS, 2, capacity=SLOTS * N_ENVS, extras=KEPT)
    aims = torch.full((N_AGENTS, N_ENVS, 1), 99.0)  # out of reach: no reward is ever seen
    for step in range(n_steps):
        replay.insert(walk(step, aims))
    return replay


def reached(transitions: Transitions) -> Tensor:
    """Pay 0 where the place after the step is the goal, else −1."""
    assert transitions.goal is not None
    return torch.where(transitions.final_private[..., :1] == transitions.goal, 0.0, -1.0)[..., 0]


@pytest.mark.parametrize("n_steps", STEPS)
def test_episode_is_found_in_order_of_time(n_steps: int) -> None:
    replay = filled(n_steps)
    for number in range(-(-n_steps // LENGTH)):
        found = replay.episode(1, 2, number)
        kept = range(max(n_steps - SLOTS, 0), n_steps)
        rows = [row for row in kept if row // LENGTH == number]
        assert found.row.tolist() == [rows]
        assert found.episode is not None
        assert found.episode.unique().tolist() in ([number], [])


def test_episode_that_missed_its_goal_reaches_what_it_reached() -> None:
    episode = filled(12).episode(0, 1, 1)
    assert episode.reward.tolist() == [[-1.0] * LENGTH]
    assert reached(episode).tolist() == [[-1.0] * LENGTH]

    achieved = episode.final_private[:, -1:, :1].expand(1, LENGTH, 1)  # where the walk ended
    relabelled = relabel_goals(episode, achieved, reached, n_own=1)

    assert relabelled.goal is not None
    assert relabelled.goal.unique().tolist() == [5.0]
    assert relabelled.reward.tolist() == [[-1.0, -1.0, -1.0, -1.0, 0.0]]
    assert relabelled.private[..., 1].unique().tolist() == [5.0]
    assert relabelled.final_private[..., 1].unique().tolist() == [5.0]
    assert torch.equal(relabelled.private[..., 0], episode.private[..., 0])
    assert episode.private[..., 1].unique().tolist() == [99.0]  # what is stored stays as it was


@pytest.mark.parametrize("n_steps", STEPS)
def test_later_transitions_are_of_the_same_episode_and_all_of_them_occur(n_steps: int) -> None:
    replay, generator = filled(n_steps), torch.Generator().manual_seed(1)

    now, later = drawn_pairs(replay, 4_000, generator, strategy="future")

    assert now.episode is not None
    assert torch.equal(now.episode, later.episode)
    assert bool((later.row >= now.row).all())
    assert bool((later.row < n_steps).all())
    # From the first step of an episode that is kept whole, every later one is as likely.
    whole = (now.row % LENGTH == 0) & (now.row >= n_steps - SLOTS) & (now.row + LENGTH <= n_steps)
    if n_steps < LENGTH:
        assert not whole.any()
        return
    ahead = torch.bincount((later.row - now.row)[whole], minlength=LENGTH).double()
    assert ahead.shape == (LENGTH,)
    assert float((ahead / ahead.sum() - 1.0 / LENGTH).abs().max()) < 0.06


def test_hindsight_by_batches_pays_where_the_goal_is_reached() -> None:
    draws = torch.Generator().manual_seed(2)
    now, later = drawn_pairs(filled(20), 500, draws, strategy="future")
    achieved = later.final_private[..., :1]

    relabelled = relabel_goals(now, achieved, reached, n_own=1)

    share = float((relabelled.reward == 0.0).double().mean())
    assert torch.equal(relabelled.reward == 0.0, later.row == now.row)
    assert 0.3 < share < 0.6  # (1 + ½ + ⅓ + ¼ + ⅕) ÷ 5 = 0.46


def test_replay_without_extras_is_as_small_as_before() -> None:
    plain, full = Replay(2, 3, 4, capacity=60), Replay(2, 3, 4, capacity=60, extras=KEPT)
    assert plain.numbers.shape[-1] == 2 * 4 + 3
    assert plain.rows.shape[-1] == 2
    assert full.numbers.shape[-1] == 2 * 4 + 4
    assert full.rows.shape[-1] == 3
    assert full.state_bytes > plain.state_bytes
