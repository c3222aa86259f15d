"""Placebo bars: whatever comes in, bars come out, and what was to be kept is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.analyses.placebos.analysis import _kinds
from tradingbot.evaluation.analyses.placebos.bars import (
    flip_bars,
    flip_bars_at_random,
    reverse_bars,
    shuffle_bars,
)
from tradingbot.evaluation.analyses.settings import PlaceboSettings

OPEN, HIGH, LOW, CLOSE, VOLUME = range(5)
PLACEBOS = {
    "shuffle": lambda bars: shuffle_bars(bars, seed=3),
    "shuffle days": lambda bars: shuffle_bars(bars, block_bars=7, seed=3),
    "flip at random": lambda bars: flip_bars_at_random(bars, block_bars=2, seed=3),
    "flip": flip_bars,
    "reverse": reverse_bars,
}


def market(seed: int, n_symbols: int, n_bars: int, *, absent: float, scale: float) -> np.ndarray:
    """Bars with gaps, wide and doji bars, zero volume and absences."""
    generator = np.random.default_rng(seed)
    shape = (n_symbols, n_bars)
    common = generator.standard_normal(n_bars)
    gap, close = scale * (generator.standard_normal((2, *shape)) + common)
    close[generator.random(shape) < 0.1] = 0.0
    level = np.cumsum(gap + close, axis=1) - close
    reach = scale * np.abs(generator.standard_normal((2, *shape)))
    reach[generator.random((2, *shape)) < 0.3] = 0.0  # closes at the high, opens at the low
    opened = 50.0 * np.exp(level)
    closed = opened * np.exp(close)
    bars = np.stack(
        [
            opened,
            np.maximum(opened, closed) * np.exp(reach[0]),
            np.minimum(opened, closed) * np.exp(-reach[1]),
            closed,
            generator.integers(0, 1000, shape).astype(float),
        ],
        axis=-1,
    )
    bars[generator.random(shape) < absent] = np.nan
    return bars


markets = st.builds(
    market,
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.integers(1, 40),
    absent=st.sampled_from([0.0, 0.0, 0.2, 1.0]),
    scale=st.sampled_from([1e-6, 0.01, 0.3]),
)


def log_moves(bars: np.ndarray, base: np.ndarray | None = None) -> np.ndarray:
    """Close ÷ close before, of the bars that one symbol has; the first from the base's open."""
    there = bars[np.isfinite(bars[:, CLOSE])]
    first = there[:1, OPEN] if base is None else base[np.isfinite(base[:, CLOSE])][:1, OPEN]
    before = np.concatenate([first, there[:-1, CLOSE]])
    return np.log(there[:, CLOSE] / before)


@pytest.mark.parametrize("name", PLACEBOS)
@given(bars=markets)
@settings(max_examples=20, deadline=None)
def test_placebo_of_any_bars_is_bars(name: str, bars: np.ndarray) -> None:
    placebo = PLACEBOS[name](bars)
    known = placebo[np.isfinite(placebo[..., CLOSE])]

    assert placebo.shape == bars.shape
    assert np.isfinite(known).all()
    assert (np.isfinite(placebo) == np.isfinite(placebo[..., :1])).all()
    assert len(known) == np.isfinite(bars[..., CLOSE]).sum()
    assert (known[:, :VOLUME] > 0.0).all()
    assert (known[:, VOLUME] >= 0.0).all()
    assert (known[:, HIGH] >= known[:, [OPEN, CLOSE]].max(axis=1)).all()
    assert (known[:, LOW] <= known[:, [OPEN, CLOSE]].min(axis=1)).all()


@given(bars=markets, block_bars=st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_shuffling_keeps_returns_volumes_and_the_end(bars: np.ndarray, block_bars: int) -> None:
    shuffled = shuffle_bars(bars, block_bars=block_bars, seed=1)
    for before, after in zip(bars, shuffled, strict=True):
        moves = log_moves(before)
        assert np.sort(log_moves(after, before)) == pytest.approx(np.sort(moves), abs=1e-9)
        assert np.sort(after[:, VOLUME]) == pytest.approx(np.sort(before[:, VOLUME]), nan_ok=True)
        if len(moves):
            ends = [side[np.isfinite(side[:, CLOSE])][-1, CLOSE] for side in (before, after)]
            assert ends[1] == pytest.approx(ends[0])


@given(bars=markets, block_bars=st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_flips_keep_the_size_of_every_move(bars: np.ndarray, block_bars: int) -> None:
    mixed = flip_bars_at_random(bars, block_bars=block_bars, seed=1)
    for before, after, turned in zip(bars, mixed, flip_bars(bars), strict=True):
        assert np.abs(log_moves(after, before)) == pytest.approx(
            np.abs(log_moves(before)), abs=1e-9
        )
        assert log_moves(turned, before) == pytest.approx(-log_moves(before), abs=1e-9)


@given(bars=markets)
@settings(max_examples=20, deadline=None)
def test_flipping_or_reversing_twice_restores_the_bars(bars: np.ndarray) -> None:
    assert flip_bars(flip_bars(bars)) == pytest.approx(bars, rel=1e-9, nan_ok=True)
    assert reverse_bars(reverse_bars(bars)) == pytest.approx(bars, nan_ok=True)


def test_reversed_bars_end_where_they_began() -> None:
    bars = market(1, 3, 30, absent=0.0, scale=0.01)
    played_back = reverse_bars(bars)

    assert (played_back[:, -1, CLOSE] == bars[:, 0, OPEN]).all()
    assert (played_back[:, 0, OPEN] == bars[:, -1, CLOSE]).all()
    assert (played_back[:, ::-1, HIGH:CLOSE] == bars[..., HIGH:CLOSE]).all()


def test_shuffling_moves_all_symbols_alike() -> None:
    bars = market(1, 3, 200, absent=0.0, scale=0.01)
    shuffled = shuffle_bars(bars, seed=9)
    before, after = (
        np.stack([log_moves(*pair) for pair in zip(each, bars, strict=True)])
        for each in (bars, shuffled)
    )
    order = [int(np.abs(before[0] - move).argmin()) for move in after[0]]

    assert order != sorted(order)
    assert after == pytest.approx(before[:, order], abs=1e-9)
    assert (shuffled[..., VOLUME] == bars[:, order, VOLUME]).all()


def test_shuffling_in_days_keeps_the_time_of_day() -> None:
    bars = market(1, 2, 70, absent=0.0, scale=0.01)
    bars[..., VOLUME] = np.arange(70) % 7
    assert (shuffle_bars(bars, block_bars=7, seed=2)[..., VOLUME] == bars[..., VOLUME]).all()


def test_trend_is_gone_after_shuffling_and_there_after_flipping() -> None:
    generator = np.random.default_rng(0)
    trend = np.convolve(generator.standard_normal(2009), np.ones(10), mode="valid") * 0.001
    closed = 50.0 * np.exp(np.cumsum(trend))[None]
    opened = np.concatenate([[[50.0]], closed[:, :-1]], axis=1)
    high, low = np.maximum(opened, closed), np.minimum(opened, closed)
    bars = np.stack([opened, high, low, closed, np.ones_like(closed)], axis=-1)

    def follows(placebo: np.ndarray) -> float:
        moves = log_moves(placebo[0])
        return float(np.corrcoef(moves[1:], moves[:-1])[0, 1])

    assert follows(bars) > 0.8
    assert follows(flip_bars(bars)) > 0.8
    assert follows(reverse_bars(bars)) > 0.8
    assert abs(follows(shuffle_bars(bars, seed=1))) < 0.1
    assert abs(follows(shuffle_bars(bars, block_bars=7, seed=1))) < 0.1
    assert abs(follows(flip_bars_at_random(bars, seed=1))) < 0.1


def test_bars_that_judge_a_pipeline_have_nothing_that_follows_from_what_was_before() -> None:
    generator = np.random.default_rng(1)
    trend = np.convolve(generator.standard_normal(2005), np.ones(6), mode="valid") * 0.001
    closed = 50.0 * np.exp(np.cumsum(trend))[None]
    opened = np.concatenate([[[50.0]], closed[:, :-1]], axis=1)
    high, low = np.maximum(opened, closed), np.minimum(opened, closed)
    bars = np.stack([opened, high, low, closed, np.ones_like(closed)], axis=-1)
    judged = [changes for _, _, changes in _kinds(PlaceboSettings()) if len(changes) > 1]
    assert len(judged) == 2
    for changes in judged:
        moves = log_moves(changes[0](bars)[0])
        assert max(abs(np.corrcoef(moves[lag:], moves[:-lag])[0, 1]) for lag in (1, 2, 3)) < 0.1


def test_other_seed_gives_other_bars_and_the_same_seed_the_same() -> None:
    bars = market(4, 2, 60, absent=0.1, scale=0.01)
    for placebo in (shuffle_bars, flip_bars_at_random):
        one, two, other = (placebo(bars, seed=seed) for seed in (1, 1, 2))
        assert np.array_equal(one, two, equal_nan=True)
        assert not np.array_equal(one, other, equal_nan=True)


def test_bars_that_came_in_are_left_alone() -> None:
    bars = market(4, 2, 60, absent=0.1, scale=0.01)
    kept = bars.copy()
    for placebo in PLACEBOS.values():
        placebo(bars)
    assert np.array_equal(bars, kept, equal_nan=True)


@pytest.mark.parametrize(
    ("place", "number", "complaint"),
    [
        ((0, 3, HIGH), 1.0, "low ≤ open, close ≤ high"),
        ((0, 3, LOW), 0.0, "above 0"),
        ((0, 3, VOLUME), -1.0, "volumes 0 or more"),
        ((0, 3, OPEN), np.nan, "whole or absent"),
        ((0, 3, CLOSE), np.nan, "whole or absent"),
        ((0, 3, HIGH), np.inf, "whole or absent"),
    ],
)
@pytest.mark.parametrize("name", PLACEBOS)
def test_broken_bars_are_refused(
    name: str, place: tuple[int, int, int], number: float, complaint: str
) -> None:
    bars = market(4, 2, 20, absent=0.0, scale=0.01)
    bars[place] = number
    with pytest.raises(DataError, match=complaint):
        PLACEBOS[name](bars)


def test_other_shapes_and_blocks_are_refused() -> None:
    with pytest.raises(DataError, match="symbols, bars, 5"):
        flip_bars(np.ones((3, 5)))
    with pytest.raises(DataError, match="symbols, bars, 5"):
        flip_bars(np.ones((3, 0, 5)))
    with pytest.raises(ConfigError, match="block_bars"):
        shuffle_bars(market(4, 2, 20, absent=0.0, scale=0.01), block_bars=0)
