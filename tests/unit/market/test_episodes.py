"""Where episodes begin, and begin again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fixtures.streams import play, scene
from tradingbot.domain.errors import DataError
from tradingbot.market import EpisodeRules, SimulatorParams
from tradingbot.market.bars import UNSEEN_STALE_BARS, tensor_market
from tradingbot.market.episodes import (
    Starts,
    begin,
    drawn_symbols,
    fixed_symbols,
    lane_key,
    mix,
    own_symbols,
    possible_starts,
    start_row,
    start_rows,
)
from tradingbot.market.observation import observe_accounts

EVERYWHERE = np.ones((3, 100), dtype=bool)


def starts_of(n_choices: int, n_lanes: int, seed: int = 1) -> Starts:
    return drawn_symbols(np.ones((1, n_choices), dtype=bool), n_lanes, seed)


def test_hash_of_one_number_equals_the_batched_one() -> None:
    numbers = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**40 + 5]
    assert mix(torch.tensor(numbers)).tolist() == [mix(x) for x in numbers]


def test_starts_are_uniform_over_choices() -> None:
    starts = starts_of(50, 2_000)
    counts = torch.zeros(50)
    for episode in range(20):
        rows = start_rows(starts, torch.full((2_000,), episode, dtype=torch.int32))
        counts += torch.bincount(rows, minlength=50)
    chi_squared = float(((counts - 800.0) ** 2 / 800.0).sum())
    assert 20.0 < chi_squared < 95.0  # 49 degrees of freedom: outside once in 10⁴


def test_starts_of_lanes_and_episodes_do_not_follow_each_other() -> None:
    starts = starts_of(1_000, 4_000)
    first, second = (
        start_rows(starts, torch.full((4_000,), n, dtype=torch.int32)).double() for n in (0, 1)
    )
    pairs = torch.stack((first, second))
    assert abs(float(torch.corrcoef(pairs)[0, 1])) < 0.06
    neighbours = torch.stack((first[1:], first[:-1]))
    assert abs(float(torch.corrcoef(neighbours)[0, 1])) < 0.06


def test_starts_are_a_function_of_seed_lane_and_episode() -> None:
    few, many = starts_of(500, 8), starts_of(500, 64)
    episode = torch.arange(64, dtype=torch.int32)
    assert torch.equal(start_rows(few, episode[:8]), start_rows(many, episode)[:8])
    other = start_rows(starts_of(500, 64, seed=2), episode)
    assert not torch.equal(start_rows(many, episode), other)
    assert lane_key(1, 0) != lane_key(1 + 2**32, 0)


def test_start_of_one_lane_equals_the_batched_one() -> None:
    starts = drawn_symbols(EVERYWHERE, 16, 9)
    episode = torch.arange(16, dtype=torch.int32) * 31
    alone = [
        start_row(starts.choices.numpy(), 0, int(starts.key[lane]), int(episode[lane]))
        for lane in range(16)
    ]
    assert start_rows(starts, episode).tolist() == alone


@pytest.mark.parametrize(("window", "length"), [(1, 99), (24, 50), (60, 40), (100, 1)])
def test_starts_leave_room_for_window_and_episode(window: int, length: int) -> None:
    if window + length > 100:
        with pytest.raises(DataError, match="must hold a window and an episode"):
            possible_starts(EVERYWHERE, window_bars=window, episode_bars=length)
        return
    bars = np.flatnonzero(possible_starts(EVERYWHERE, window_bars=window, episode_bars=length)[0])
    assert bars[0] == window - 1
    assert bars[-1] + length == 99


def test_starts_are_usable_bars_only() -> None:
    usable = EVERYWHERE.copy()
    usable[0, :50] = usable[2] = False
    possible = possible_starts(usable, window_bars=10, episode_bars=10)
    rows = start_rows(drawn_symbols(possible, 500, 0), torch.zeros(500, dtype=torch.int32))
    assert usable.ravel()[rows.numpy()].all()
    assert set((rows // 100).tolist()) == {0, 1}


def test_fixed_symbols_share_the_clock_of_their_environment() -> None:
    starts = fixed_symbols(EVERYWHERE, 20, 4)
    rows = start_rows(starts, torch.zeros(60, dtype=torch.int32)).reshape(20, 3)
    assert torch.equal(rows // 100, torch.arange(3).expand(20, 3).int())
    assert (rows % 100 == rows[:, :1] % 100).all()
    assert len(set((rows[:, 0] % 100).tolist())) > 10


def test_account_that_begins_at_a_price_nobody_saw_is_stale() -> None:
    prices = np.full((2, 4, 5), 100.0)
    present = np.array([[True] * 4, [False, False, True, True]])
    market = tensor_market(prices, present)
    only_second = np.zeros((2, 4), dtype=bool)
    only_second[:, 1] = True
    account = begin(fixed_symbols(only_second, 1, 0), market, 1e4, torch.zeros(2).int())
    assert account.stale_bars.tolist() == [0, UNSEEN_STALE_BARS]
    assert account.mark.tolist() == [100.0, 1.0]


def test_reset_keeps_the_observation_before_it() -> None:
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=5, window_bars=1))
    where = scene(rules, "alpaca", 2, n_lanes=32, n_steps=11)
    for count, taken in enumerate(play(where), start=1):
        before = taken.advanced.after
        assert torch.equal(taken.final_private, observe_accounts(rules, before))
        assert torch.equal(taken.private, observe_accounts(rules, taken.account))
        ended = taken.terminated | taken.truncated
        assert torch.equal(taken.account.episode, before.episode + ended.int())
        assert (taken.account.steps[ended] == 0).all()
        assert (taken.account.cash[ended] == 100_000.0).all()
        assert (before.steps[taken.truncated] == 5).all()
        assert ended.any() or count % 5


def test_streams_from_the_same_seed_are_the_same() -> None:
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=5, window_bars=1))
    where = scene(rules, "alpaca", 2, n_lanes=8, n_steps=12)
    again = dataclasses.replace(where, actions=where.actions.clone())
    first, second = ([taken.reward for taken in play(x)] for x in (where, again))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_lanes_keep_their_symbol_and_every_start_of_it_comes_as_often() -> None:
    possible = np.zeros((2, 10), dtype=bool)
    possible[0, [1, 4]] = possible[1, [2, 3, 5, 7]] = True
    starts = own_symbols(possible, n_environments=2, seed=3)

    assert starts.offset.tolist() == [0, 0, 1, 1]  # lane = symbol · B + environment
    assert starts.choices.tolist() == [[1, 1, 4, 4], [12, 13, 15, 17]]
    assert len({*starts.key.tolist()}) == 4
    possible[1] = False
    with pytest.raises(DataError, match=r"was none for 1 of 2 \(symbol 1\)"):
        own_symbols(possible, n_environments=2, seed=3)


@pytest.mark.parametrize("recency", [0.25, 0.5, 1.0])
def test_recent_starts_come_more_often_by_a_density_that_rises_evenly(recency: float) -> None:
    possible = np.ones((2, 4_000), dtype=bool)
    possible[1, ::2] = False
    starts = own_symbols(possible, n_environments=1, seed=3, recency=recency)
    rows = starts.choices.numpy() % 4_000

    assert possible[0, rows[0]].all()
    assert possible[1, rows[1]].all()
    for line in rows:  # the later half has 1/2 + recency / 4 of them, the last tenth its share
        assert (line >= 2_000).mean() == pytest.approx(0.5 + recency / 4.0, abs=2e-3)
        assert (line >= 3_600).mean() == pytest.approx(0.1 * (1.0 + 0.9 * recency), abs=2e-3)
    alike = own_symbols(possible, n_environments=1, seed=3)
    assert torch.equal(own_symbols(possible, 1, 3, recency=0.0).choices, alike.choices)
