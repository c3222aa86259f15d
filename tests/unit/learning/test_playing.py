from __future__ import annotations

import math

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.playing import action_histogram, histogram_entropy, play, score
from tradingbot.learning.task import ActionSpec


def test_play_of_holding_nothing_earns_nothing() -> None:
    task = SignalTask(2, 3)

    played = play(task, lambda seen: torch.zeros(seen.row.shape), 40)
    scores = score(played, task.action, bars_per_year=100.0)

    assert played.wealth.shape == (41, 2, 3)
    assert scores["return_bp"].tolist() == scores["sharpe"].tolist() == [0.0, 0.0]
    assert scores["trades_per_1000"].tolist() == scores["entropy"].tolist() == [0.0, 0.0]


def test_score_equals_the_figures_worked_out_by_hand() -> None:
    task = SignalTask(1, 1, episode_bars=8, n_bars=64)
    played = play(task, lambda seen: torch.ones(seen.row.shape), 12)
    growth = (played.wealth[1:] / played.wealth[:-1] - 1.0)[~played.ended].double()

    scores = score(played, task.action, bars_per_year=49.0)

    assert played.ended[:, 0, 0].nonzero().tolist() == [[7]]
    assert scores["return_bp"].item() == pytest.approx(growth.mean().item() * 1e4)
    expected = growth.mean() / growth.std(correction=0) * 7.0
    assert scores["sharpe"].item() == pytest.approx(expected.item())
    assert scores["trades_per_1000"].item() == pytest.approx(2 / 12 * 1e3)
    assert scores["lowest"].item() == scores["highest"].item() == 1.0
    assert scores["histogram"][0].tolist() == [0.0] * 6 + [1.0]


def test_histogram_bins_numbers_by_width_and_codes_by_code() -> None:
    numbers = torch.tensor([[[-1.0, -0.6, 0.0, 0.99, 1.0]]])
    codes = torch.tensor([[[0, 2, 2, 2]], [[0, 2, 2, 2]]])

    box = action_histogram(numbers, ActionSpec("box", 0, -1.0, 1.0), 4)
    discrete = action_histogram(codes, ActionSpec("discrete", 3))

    assert box[0].tolist() == pytest.approx([0.4, 0.0, 0.2, 0.4])
    assert discrete[0].tolist() == pytest.approx([0.25, 0.0, 0.75])


def test_entropy_is_one_for_even_use_and_zero_for_one_bin() -> None:
    shares = torch.tensor([[0.25] * 4, [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])

    assert histogram_entropy(shares).tolist() == pytest.approx(
        [1.0, 0.0, math.log(2) / math.log(4)]
    )


def test_play_repeats_itself() -> None:
    first, second = (
        play(SignalTask(2, 3), lambda s: s.private[..., 0] * 0.5 + 0.2, 50) for _ in "ab"
    )

    assert all(map(torch.equal, first, second))
