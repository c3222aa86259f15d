"""Scores and their intervals against what they estimate."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.domain.seeding import stream
from tradingbot.learning.pretraining.loss import ConstantForecast
from tradingbot.learning.pretraining.scores import score_task

UNIT = ConstantForecast(torch.tensor(0.0), torch.tensor(1.0))


def noisy(seed: int, correlation: float, shape: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    draw = stream(seed, "scores")
    answer = draw.normal(size=shape)
    truth = correlation * answer + np.sqrt(1 - correlation**2) * draw.normal(size=shape)
    return torch.from_numpy(answer).float(), torch.from_numpy(truth).float()


def test_scores_of_numbers_agree_with_numpy() -> None:
    answer, truth = noisy(1, 0.5, (4, 160))
    counts = torch.rand(4, 160, generator=torch.Generator().manual_seed(1)) > 0.2

    scores = score_task(answer, truth, counts, UNIT, n_blocks=8)

    x, y = answer[counts].numpy(), truth[counts].numpy()
    assert scores["correlation"].item() == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-5)
    assert scores["skill"].item() == pytest.approx(1.0 - np.mean((x - y) ** 2), abs=1e-5)


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(120):
        answer, truth = noisy(seed, 0.3, (3, 320))
        scores = score_task(answer, truth, torch.ones(3, 320, dtype=torch.bool), UNIT, 16)
        inside += int(scores["correlation_low"] < 0.3 < scores["correlation_high"])

    assert 0.88 <= inside / 120 <= 0.99


def test_interval_of_series_that_move_together_is_that_of_one_series() -> None:
    answer, truth = noisy(3, 0.3, (1, 320))
    counts = torch.ones(1, 320, dtype=torch.bool)

    one = score_task(answer, truth, counts, UNIT, 16)
    many = score_task(answer.expand(9, -1), truth.expand(9, -1), counts.expand(9, -1), UNIT, 16)

    for name in ("skill_low", "skill_high", "correlation_low", "correlation_high"):
        assert many[name].item() == pytest.approx(one[name].item(), abs=1e-5)


def test_scores_of_classes_count_hits_and_the_most_frequent_class() -> None:
    values = torch.tensor([[0, 1, 2, 1, 1, 1, 0, 2]])
    logits = torch.nn.functional.one_hot(torch.tensor([[0, 1, 1, 1, 1, 0, 0, 2]]), 3).float()
    constant = ConstantForecast(torch.tensor([0.2, 0.5, 0.3]).log(), torch.tensor(1.0))

    scores = score_task(9.0 * logits, values, torch.ones(1, 8, dtype=torch.bool), constant, 4)

    assert scores["accuracy"].item() == pytest.approx(6 / 8)
    assert scores["base_accuracy"].item() == pytest.approx(4 / 8)
    assert scores["accuracy_low"] < scores["accuracy"] < scores["accuracy_high"]


def test_scores_without_a_bar_that_counts_are_finite() -> None:
    answer, truth = noisy(3, 0.3, (2, 40))

    scores = score_task(answer, truth, torch.zeros(2, 40, dtype=torch.bool), UNIT, 4)

    assert all(bool(torch.isfinite(score)) for score in scores.values())
