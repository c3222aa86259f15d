"""How good probabilities are: log loss, Brier score, calibration error, against the base rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.supervised.labels import CLASSES, DOWN, FLAT, UNKNOWN, UP, FloatArray, LabelArray

Real = NDArray[np.floating[Any]]

BINS = 15
"""Equal bins of confidence in [0, 1]; Guo et al. 2017 (arXiv:1706.04599)."""
_LEAST = 1e-12


@dataclass(frozen=True)
class Scores:
    """Figures of probabilities on labelled bars; losses in nats, less is better."""

    n: int
    """Labelled bars, over all symbols."""
    log_loss: float
    base_log_loss: float
    """Of frequencies that were known before: those of the model's training labels."""
    brier: float
    """Mean of the squared distance to the truth, summed over classes; 0 … 2."""
    base_brier: float
    ece: float
    """Expected calibration error of the most probable class, 15 equal bins; 0 … 1."""
    accuracy: float
    """Share of bars whose most probable class came true."""
    base_accuracy: float
    """The same of the class that was most frequent before."""
    direction_gain_nats: float
    """Log loss of the base rate less the model's on "up or down" alone, where the price moved: what
    a trader can use. The rest of the gain is about whether it moves at all. NaN for no move."""

    @property
    def gain_nats(self) -> float:
        """How much better than the base rate, per bar; positive is better."""
        return self.base_log_loss - self.log_loss


def base_rates(labels: LabelArray) -> FloatArray:
    """Frequencies (3,) of the classes among known labels, each class counted once more.

    The added count keeps a class that never occurred from an infinite loss (Laplace).
    """
    known = labels[labels != UNKNOWN]
    counts = np.bincount(known.astype(np.int64), minlength=len(CLASSES)) + 1.0
    return np.asarray(counts / counts.sum())


def bar_losses(probabilities: Real, labels: LabelArray) -> FloatArray:
    """Log loss (…) of probabilities (…, 3); NaN where there is no label."""
    known = labels != UNKNOWN
    index = np.where(known, labels, 0).astype(np.int64)[..., None]
    chosen = np.take_along_axis(np.asarray(probabilities, dtype=np.float64), index, axis=-1)[..., 0]
    return np.where(known, -np.log(np.maximum(chosen, _LEAST)), np.nan)


def score(probabilities: Real, labels: LabelArray, rates: FloatArray) -> Scores:
    """Score probabilities where there is a label.

    Args:
        probabilities: (…, 3), each row summing to 1.
        labels: (…) classes or UNKNOWN, which is left out.
        rates: (3,) base rates of the training labels, or (…, 3) where they differ by bar.

    Raises:
        DataError: If nothing is labelled.
    """
    known = labels != UNKNOWN
    if not known.any():
        raise DataError("scores must have a labelled bar", was="none")
    truth = labels[known].astype(np.int64)
    chance = np.asarray(probabilities, dtype=np.float64)[known]
    before = np.broadcast_to(rates, (*labels.shape, len(CLASSES)))[known]
    hit = np.eye(len(CLASSES))[truth]
    return Scores(
        n=len(truth),
        log_loss=_log_loss(chance, truth),
        base_log_loss=_log_loss(before, truth),
        brier=float(np.square(chance - hit).sum(axis=1).mean()),
        base_brier=float(np.square(before - hit).sum(axis=1).mean()),
        ece=_calibration_error(chance, truth),
        accuracy=float((chance.argmax(axis=1) == truth).mean()),
        base_accuracy=float((before.argmax(axis=1) == truth).mean()),
        direction_gain_nats=_direction_gain(chance, before, truth),
    )


def _log_loss(chance: FloatArray, truth: NDArray[np.int64]) -> float:
    chosen = chance[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(chosen, _LEAST)).mean())


def _direction_gain(chance: FloatArray, before: FloatArray, truth: NDArray[np.int64]) -> float:
    """Compare what both say of up against down, given that it is one of them."""
    moved = truth != FLAT
    if not moved.any():
        return math.nan
    answers = (truth[moved] == UP).astype(np.int64)
    losses = []
    for table in (before, chance):
        pair = np.maximum(table[moved][:, [DOWN, UP]], _LEAST)
        losses.append(_log_loss(pair / pair.sum(axis=1, keepdims=True), answers))
    return losses[0] - losses[1]


def _calibration_error(chance: FloatArray, truth: NDArray[np.int64]) -> float:
    """Mean distance of confidence and hit rate over bins, weighted by their counts."""
    confidence = chance.max(axis=1)
    correct = (chance.argmax(axis=1) == truth).astype(np.float64)
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.abs(np.bincount(place, confidence - correct, minlength=BINS))
    return float(gaps.sum() / len(truth))
