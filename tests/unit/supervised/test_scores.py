"""Scores: against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.supervised.labels import UNKNOWN
from tradingbot.supervised.scores import bar_losses, base_rates, score

RATES = np.array([0.25, 0.5, 0.25])


def test_scores_are_those_of_the_hand() -> None:
    chances = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [1 / 3, 1 / 3, 1 / 3]])
    labels = np.array([0, 1, UNKNOWN], dtype=np.int8)

    found = score(chances, labels, RATES)

    assert found.n == 2
    assert found.log_loss == pytest.approx(-(math.log(0.7) + math.log(0.3)) / 2)
    assert found.base_log_loss == pytest.approx(-(math.log(0.25) + math.log(0.5)) / 2)
    assert found.gain_nats == pytest.approx(found.base_log_loss - found.log_loss)
    assert found.brier == pytest.approx((0.09 + 0.04 + 0.01 + 0.01 + 0.49 + 0.36) / 2)
    assert found.accuracy == 0.5
    assert found.base_accuracy == 0.5
    assert found.ece == pytest.approx((abs(0.7 - 1.0) + abs(0.6 - 0.0)) / 2)


def test_direction_gain_is_about_up_or_down_alone() -> None:
    chances = np.array([[0.2, 0.0, 0.8], [0.05, 0.9, 0.05], [0.3, 0.4, 0.3]])
    labels = np.array([2, 1, 0], dtype=np.int8)

    found = score(chances, labels, RATES).direction_gain_nats

    assert found == pytest.approx((math.log(0.8) + math.log(0.5)) / 2 - math.log(0.5))
    assert math.isnan(score(chances[1:2], labels[1:2], RATES).direction_gain_nats)


def test_confident_and_right_as_often_as_said_has_no_calibration_error() -> None:
    chances = np.tile([0.75, 0.15, 0.10], (100, 1))
    labels = np.array([0] * 75 + [1] * 15 + [2] * 10, dtype=np.int8)

    assert score(chances, labels, RATES).ece == pytest.approx(0.0, abs=1e-12)


def test_certain_and_wrong_costs_much_and_not_infinity() -> None:
    found = score(np.array([[1.0, 0.0, 0.0]]), np.array([2], dtype=np.int8), RATES)

    assert 20.0 < found.log_loss < 40.0


def test_base_rates_are_never_zero_and_ignore_unknown() -> None:
    rates = base_rates(np.array([2, 2, 2, UNKNOWN, UNKNOWN], dtype=np.int8))

    assert rates.tolist() == pytest.approx([1 / 6, 1 / 6, 4 / 6])


def test_losses_by_bar_are_nan_without_a_label() -> None:
    losses = bar_losses(np.full((1, 2, 3), 1 / 3), np.array([[1, UNKNOWN]], dtype=np.int8))

    assert losses[0, 0] == pytest.approx(math.log(3.0))
    assert math.isnan(losses[0, 1])


def test_nothing_labelled_is_refused() -> None:
    with pytest.raises(DataError, match="labelled"):
        score(np.full((2, 3), 1 / 3), np.full(2, UNKNOWN, dtype=np.int8), RATES)
