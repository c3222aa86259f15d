"""Labels: what counts as up, flat and down, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.supervised.labels import (
    DOWN,
    FLAT,
    UNKNOWN,
    UP,
    LabelConfig,
    label_moves,
    past_volatility,
    purge_labels,
)


def zigzag(n: int, step: float = 0.01) -> np.ndarray:
    """Closes with log returns ±step, so that volatility is exactly `step`."""
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    return 100.0 * np.exp(np.concatenate([[0.0], np.cumsum(step * signs[1:])]))


def test_move_beyond_barrier_is_up_or_down_and_within_is_flat() -> None:
    closes = zigzag(40)
    config = LabelConfig(horizon_bars=1, barrier_vols=0.5, volatility_bars=4)
    up, down, flat = closes.copy(), closes.copy(), closes.copy()
    up[21:] *= np.exp(0.006) * closes[20] / closes[21]
    down[21:] *= np.exp(-0.006) * closes[20] / closes[21]
    flat[21:] *= np.exp(0.004) * closes[20] / closes[21]

    labels = label_moves(np.stack([up, down, flat]), config)

    assert labels[:, 20].tolist() == [UP, DOWN, FLAT]


def test_barrier_grows_with_the_root_of_the_horizon() -> None:
    closes = zigzag(60)
    closes[30:] *= np.exp(0.015)
    one = label_moves(closes[None], LabelConfig(horizon_bars=2, barrier_vols=1.0))
    wide = label_moves(closes[None], LabelConfig(horizon_bars=4, barrier_vols=1.0))

    assert one[0, 29] == UP  # ln 1.015 + a step against 1.41 σ
    assert wide[0, 27] == FLAT  # against 2 σ


def test_first_barrier_passed_decides_where_the_horizon_would_not() -> None:
    closes = zigzag(60, 0.002)
    closes[30] *= 1.05  # one bar up, then back
    horizon = label_moves(closes[None], LabelConfig("horizon", horizon_bars=6))
    barriers = label_moves(closes[None], LabelConfig("barriers", horizon_bars=6))

    assert horizon[0, 27] == FLAT
    assert barriers[0, 27] == UP


def test_earlier_of_two_passages_counts() -> None:
    closes = zigzag(60, 0.002)
    closes[30], closes[32] = closes[30] * 0.95, closes[32] * 1.05

    labels = label_moves(closes[None], LabelConfig("barriers", horizon_bars=6))

    assert labels[0, 28] == DOWN
    assert labels[0, 31] == UP


@pytest.mark.parametrize("kind", ["horizon", "barriers"])
def test_label_is_unknown_at_the_end_before_volatility_and_without_a_bar(kind: str) -> None:
    closes = zigzag(60)
    closes[40] = np.nan
    config = LabelConfig(kind, horizon_bars=3, volatility_bars=10)

    labels = label_moves(closes[None], config)[0]

    assert (labels[-3:] == UNKNOWN).all()
    assert (labels[:5] == UNKNOWN).all()
    assert labels[40] == UNKNOWN
    assert labels[20] != UNKNOWN


def test_missing_bar_at_the_horizon_leaves_no_label() -> None:
    closes = zigzag(60)
    closes[40] = np.nan

    labels = label_moves(closes[None], LabelConfig(horizon_bars=3))[0]

    assert labels[37] == UNKNOWN
    assert labels[36] != UNKNOWN


def test_volatility_is_the_root_mean_square_of_past_returns() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    logs = np.cumsum(rng.normal(0.0, 0.01, size=(2, 50)), axis=1)

    found = past_volatility(logs, LabelConfig(volatility_bars=8))

    expected = np.sqrt(np.mean(np.diff(logs[1, 12:21]) ** 2))
    assert found[1, 20] == pytest.approx(expected, rel=1e-12)
    assert np.isnan(found[:, :4]).all()


def test_normal_returns_fall_into_classes_of_similar_size() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    closes = np.exp(np.cumsum(rng.normal(0.0, 0.01, size=(20, 2_000)), axis=1))

    labels = label_moves(closes, LabelConfig(horizon_bars=1, volatility_bars=100))

    shares = np.bincount(labels[labels != UNKNOWN], minlength=3) / (labels != UNKNOWN).sum()
    assert np.abs(shares - 1 / 3).max() < 0.02


def test_purge_leaves_out_what_would_reach_past_the_part() -> None:
    assert purge_labels(IndexRange(10, 50), LabelConfig(horizon_bars=7)) == IndexRange(10, 43)
    assert len(purge_labels(IndexRange(10, 12), LabelConfig(horizon_bars=7))) == 0


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "best"},
        {"horizon_bars": 0},
        {"horizon_bars": 1.5},
        {"barrier_vols": -0.1},
        {"barrier_vols": float("nan")},
        {"volatility_bars": 1},
    ],
)
def test_impossible_labels_are_refused(values: dict) -> None:
    with pytest.raises(ConfigError):
        LabelConfig(**values)


def test_closes_of_another_shape_are_refused() -> None:
    with pytest.raises(DataError, match="closes"):
        label_moves(np.ones(5), LabelConfig())
