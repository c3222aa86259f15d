"""Moments of a stream: those of what was seen, from the first numbers on."""

from __future__ import annotations

import torch

from tradingbot.learning.running_moments import RunningMoments


def test_moments_of_the_first_numbers_are_theirs_however_little_a_step_counts_for() -> None:
    numbers = 3.0 + torch.randn(1, 2, 64, generator=torch.Generator().manual_seed(1))
    moments = RunningMoments(2, 0.01)
    assert [part.tolist() for part in moments.moments()] == [[0.0, 0.0], [0.0, 0.0]]

    moments.insert(numbers)

    mean, deviation = moments.moments()
    torch.testing.assert_close(mean, numbers.mean((0, 2)))
    torch.testing.assert_close(deviation, numbers.std((0, 2), correction=0), rtol=1e-4, atol=1e-4)


def test_second_numbers_count_by_the_rate() -> None:
    moments = RunningMoments(1, 0.25)
    for number in (1.0, 5.0):
        moments.insert(torch.full((1, 1, 4), number))

    # ¾ · ¼ of the first, ¼ of the second, of 7/16 seen.
    mean, deviation = moments.moments()
    assert torch.isclose(mean, torch.tensor(23 / 7)).all()
    assert torch.isclose(deviation, torch.tensor((3 / 7 + 25 * 4 / 7 - (23 / 7) ** 2) ** 0.5)).all()


def test_steps_of_a_chunk_weigh_together_what_they_weigh_one_by_one() -> None:
    chunk = torch.full((3, 1, 4), 2.0)
    whole, single = RunningMoments(1, 0.1), RunningMoments(1, 0.1)
    for part in (whole, single):
        part.insert(torch.zeros(1, 1, 4))
    whole.insert(chunk)
    for step in chunk:
        single.insert(step[None])

    torch.testing.assert_close(whole.moments(), single.moments())
