"""Calibration: it undoes overconfidence, shrinks the useless to base rates, and is modest."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.seeding import stream
from tradingbot.supervised.calibration import MIN_LABELS, Calibration, fit_calibration
from tradingbot.supervised.labels import UNKNOWN
from tradingbot.supervised.scores import base_rates, score


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def drawn(logits: np.ndarray, seed: int = 0) -> np.ndarray:
    """Labels drawn with the probabilities that the logits say."""
    chances = softmax(logits).cumsum(axis=1)
    rolls = stream(seed, "test").random((len(logits), 1))
    return (rolls > chances).sum(axis=1).astype(np.int8)


def test_overconfidence_is_undone() -> None:
    honest = stream(1, "test").normal(0.0, 1.0, size=(20_000, 3))
    labels = drawn(honest)

    found = fit_calibration(softmax(3.0 * honest), labels)

    assert found.inverse_temperature == pytest.approx(1 / 3, abs=0.02)
    assert abs(found.down_bias) < 0.05
    rates = base_rates(labels)
    before = score(softmax(3.0 * honest), labels, rates)
    after = score(found.apply(softmax(3.0 * honest)), labels, rates)
    assert after.log_loss < before.log_loss - 0.3
    assert after.ece < 0.02 < 0.15 < before.ece


def test_biased_classes_are_moved_to_their_frequency() -> None:
    honest = stream(2, "test").normal(0.0, 0.5, size=(20_000, 3)) + np.array([0.0, 1.0, 0.5])
    labels = drawn(honest)

    found = fit_calibration(softmax(honest - np.array([0.0, 1.0, 0.5])), labels)

    assert found.up_bias == pytest.approx(-0.5, abs=0.1)
    assert found.down_bias == pytest.approx(-1.0, abs=0.1)


def test_opinions_that_mean_nothing_go_to_the_base_rates() -> None:
    labels = drawn(np.tile([0.0, 0.8, -0.2], (20_000, 1)))
    noise = stream(3, "test").normal(0.0, 1.0, size=(20_000, 3))

    found = fit_calibration(softmax(noise), labels)

    assert found.inverse_temperature < 0.03
    np.testing.assert_allclose(found.apply(softmax(noise))[0], base_rates(labels), atol=0.02)


def test_opinions_that_are_reversed_are_not_turned_round() -> None:
    honest = stream(4, "test").normal(0.0, 1.0, size=(5_000, 3))

    found = fit_calibration(softmax(-honest), drawn(honest))

    assert found.inverse_temperature == 0.0


def test_few_labels_move_little_and_fewer_nothing() -> None:
    honest = stream(5, "test").normal(0.0, 1.0, size=(MIN_LABELS, 3))
    labels = drawn(honest)
    few = fit_calibration(softmax(0.1 * honest), labels, overlap=10)
    labels[0] = UNKNOWN

    assert 1.0 < few.inverse_temperature < 1.5  # alone it would be near 10
    assert fit_calibration(softmax(0.1 * honest), labels) == Calibration()


def test_identity_returns_what_it_is_given() -> None:
    chances = np.array([[0.2, 0.5, 0.3]], dtype=np.float32)

    assert np.array_equal(Calibration().apply(chances), chances.astype(np.float64))


def test_calibrated_rows_are_distributions_even_at_zero() -> None:
    found = Calibration(2.0, 0.3, -0.4, n=500).apply(np.array([[0.0, 1.0, 0.0], [0.3, 0.3, 0.4]]))

    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found > 0.0).all()
