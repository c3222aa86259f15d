"""The ring of past transitions: what goes in comes out, the oldest leaves, every place alike."""

from __future__ import annotations

import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.generators import make_generator
from tradingbot.learning.replay import Replay, Transitions, transitions_of

N, B, P = 3, 2, 2


def step(number: int) -> Transitions:
    """A step whose every field says agent, environment and step."""
    agent = torch.arange(N)[:, None].expand(N, B)
    lane = torch.arange(B)[None].expand(N, B)
    mark = agent * 10_000 + lane * 1_000 + number
    return Transitions(
        mark,
        torch.stack([mark + 0.25, mark + 0.5], -1),
        -mark.float(),
        mark * 2.0,
        (mark % 2).float(),
        mark + 1,
        torch.stack([mark + 1.25, mark + 1.5], -1),
    )


def filled(count: int, capacity: int = 8) -> Replay:
    replay = Replay(N, B, P, capacity=capacity)
    for number in range(count):
        replay.insert(step(number))
    return replay


def test_transitions_end_at_what_was_seen_before_the_reset():
    task = SignalTask(2, 3, episode_bars=2)
    state, seen = task.begin()
    for _ in range(2):
        before, action = seen, torch.rand(2, 3)
        made = task.step(state, action)
        state, seen = made.state, made.observation
    assert made.truncated.all()
    kept = transitions_of(before, action, made)
    assert torch.equal(kept.row, before.row)
    assert torch.equal(kept.final_row, before.row + 1)
    assert not torch.equal(kept.final_row, seen.row)
    assert torch.equal(kept.final_private[..., 0], action)
    assert kept.continues.eq(1.0).all()


def test_sample_returns_whole_transitions_of_the_same_agent():
    drawn = filled(3).sample(50, make_generator(0, "draws"))
    mark = drawn.row.float()
    assert (drawn.row // 10_000 == torch.arange(N)[:, None]).all()
    assert torch.equal(drawn.private, torch.stack([mark + 0.25, mark + 0.5], -1))
    assert torch.equal(drawn.action, -mark)
    assert torch.equal(drawn.reward, mark * 2.0)
    assert torch.equal(drawn.continues, mark % 2)
    assert torch.equal(drawn.final_row, drawn.row + 1)
    assert torch.equal(drawn.final_private, torch.stack([mark + 1.25, mark + 1.5], -1))
    assert drawn.row.dtype == drawn.final_row.dtype == torch.int64


def test_sample_of_a_part_filled_ring_never_sees_an_empty_place():
    replay = filled(2)
    drawn = replay.sample(400, make_generator(0, "draws"))
    assert {int(row) % 1_000 for row in drawn.row.flatten()} == {0, 1}


def test_insert_beyond_capacity_forgets_the_oldest_and_nothing_else():
    drawn = filled(6, capacity=8).sample(600, make_generator(0, "draws"))
    assert {int(row) % 1_000 for row in drawn.row.flatten()} == {2, 3, 4, 5}


def test_sample_draws_every_place_equally_often():
    n_draws = 40_000
    drawn = filled(4).sample(n_draws, make_generator(0, "draws"))
    for agent in range(N):
        _, counts = drawn.row[agent].unique(return_counts=True)
        assert len(counts) == 8
        # Five standard deviations of a binomial count.
        assert (counts - n_draws / 8).abs().max() < 5 * (n_draws / 8) ** 0.5


def test_agents_draw_different_moments():
    drawn = filled(4).sample(64, make_generator(0, "draws"))
    moment = drawn.row % 10_000
    assert not torch.equal(moment[0], moment[1])


def test_memory_is_reserved_at_once_and_counted():
    replay = Replay(N, B, P, capacity=100)
    before = replay.state_bytes
    assert before == N * 100 * (2 * 4 + (2 * P + 3) * 4) + 2 * 8
    for number in range(120):
        replay.insert(step(number))
    assert replay.state_bytes == before


def test_capacity_below_one_slot_keeps_one():
    replay = filled(3, capacity=1)
    assert replay.sample(20, make_generator(0, "draws")).row.remainder(1_000).eq(2).all()


def test_state_continues_where_it_was():
    replay, twin = filled(3), Replay(N, B, P, capacity=8)
    twin.load_state_dict(replay.state_dict())
    for ring in (replay, twin):
        ring.insert(step(3))
        ring.insert(step(4))
    one, other = (ring.sample(30, make_generator(1, "draws")) for ring in (replay, twin))
    kept = [part is not None for part in one]  # nothing besides was asked for
    assert kept == [True] * 7 + [False] * 6
    assert all(torch.equal(a, b) for a, b in zip(one[:7], other[:7], strict=True))
