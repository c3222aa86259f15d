"""What may be measured: shapes, lengths, counts and shares at their bounds, and what moves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import inputs, multiple, superior
from tradingbot.evaluation.statistics.bootstrap import stationary_indices

NOISE = np.random.default_rng(5).standard_normal((64, 2))


@pytest.mark.parametrize("numbers", [0.5, [[0.1, 0.2]]])
def test_series_has_one_axis(numbers: object) -> None:
    with pytest.raises(DataError, match=r"gains must have 1 axis\(es\), was shape"):
        inputs.finite_series(numbers, "gains")  # type: ignore[arg-type]


def test_matrix_has_two_axes_and_a_column() -> None:
    with pytest.raises(DataError, match=r"gains must have 2 axis\(es\)"):
        inputs.finite_matrix([0.1, 0.2], "gains")
    with pytest.raises(DataError, match=r"one column or more, was \(3, 0\)"):
        inputs.finite_matrix(np.zeros((3, 0)), "gains")
    assert inputs.finite_matrix(np.zeros((0, 1)), "gains").shape == (0, 1)


def test_length_is_enough_from_the_least_on() -> None:
    assert len(inputs.finite_series([0.1, 0.2], "gains", at_least=2)) == 2
    with pytest.raises(DataError, match="gains must have 2 rows or more, was 1"):
        inputs.finite_series([0.1], "gains", at_least=2)


def test_refusal_counts_what_else_is_not_finite() -> None:
    with pytest.raises(DataError, match="nan at 1 and 2 more"):
        inputs.finite_series([0.0, math.nan, math.inf, 1.0, -math.inf], "gains")


@pytest.mark.parametrize("number", [2, 3, 3.0])
def test_count_is_a_whole_number_from_the_least_on(number: float) -> None:
    found = inputs.require_count(number, "draws", at_least=2)  # type: ignore[arg-type]
    assert found == number
    assert isinstance(found, int)


@pytest.mark.parametrize("number", [1, 2.5, -3])
def test_other_numbers_are_no_count(number: float) -> None:
    with pytest.raises(ConfigError, match="draws must be a whole number of 2 or more"):
        inputs.require_count(number, "draws", at_least=2)  # type: ignore[arg-type]


def test_count_is_one_or_more_unless_more_are_asked_for() -> None:
    assert inputs.require_count(1, "draws") == 1
    with pytest.raises(ConfigError, match="1 or more, was 0"):
        inputs.require_count(0, "draws")
    generator = np.random.default_rng(0)
    for counts in ({"n_bars": 0, "n_draws": 5}, {"n_bars": 5, "n_draws": 0}):
        with pytest.raises(ConfigError, match="must be a whole number of 1 or more"):
            stationary_indices(**counts, block_bars=2.0, generator=generator)


@pytest.mark.parametrize("share", [0.0, 1.0, math.nan])
def test_share_excludes_its_ends(share: float) -> None:
    assert inputs.require_share(0.5, "level") == 0.5
    with pytest.raises(ConfigError, match="level must lie between 0 and 1"):
        inputs.require_share(share, "level")


def test_chunks_hold_every_draw_once_and_stay_within_memory() -> None:
    sizes = inputs.chunk_sizes(1001, 1_000_000)
    assert sum(sizes) == 1001
    assert set(sizes[:-1]) == {4}
    assert sizes[-1] == 1
    assert inputs.chunk_sizes(7, 10**9) == [1] * 7  # a draw that is too large is drawn alone
    assert inputs.chunk_sizes(7, 0) == [7]


def test_spread_is_scaled_so_that_no_square_vanishes_or_overflows() -> None:
    for unit in (1e-280, 1.0, 1e280):
        assert inputs.spread_of(np.array([1.0, 2.0, 4.0]) * unit) == pytest.approx(
            math.sqrt(7.0 / 3.0) * unit
        )
    assert math.isnan(inputs.spread_of(np.array([1e-291, -1e-291])))
    assert math.isnan(inputs.spread_of(np.array([1.0])))
    assert inputs.spread_of(np.array([0.0, 2.0])) == pytest.approx(math.sqrt(2.0))


def test_column_moves_where_it_moves_by_more_than_rounding() -> None:
    columns = np.array([[1.0, 1.0, 0.0, -1.0], [1.0, 1.0 + 1e-15, 0.0, -1.0 + 1e-13]])
    assert inputs.moves(columns).tolist() == [False, False, False, True]


@pytest.mark.parametrize("miss", [-0.1, 1.1, math.nan])
def test_miss_that_is_no_probability_is_refused(miss: float) -> None:
    with pytest.raises(DataError, match="miss must lie within"):
        multiple.false_discovery_rate(prior=0.5, alpha=0.05, miss=miss)


def test_discoveries_at_the_ends_of_power() -> None:
    rate = {"prior": 0.5, "alpha": 0.25}
    assert multiple.false_discovery_rate(**rate, miss=1.0) == 1.0  # skill never passes
    assert multiple.false_discovery_rate(**rate, miss=0.0) == 0.2  # 0.125 of 0.125 + 0.5
    with pytest.raises(ConfigError, match="alpha"):
        multiple.false_discovery_rate(prior=0.5, alpha=1.0, miss=0.2)
    with pytest.raises(ConfigError, match="prior"):
        multiple.observed_false_discovery_rate(0.1, n_bars=50, prior=1.0)


@pytest.mark.parametrize("block_bars", [0.5, 65.0])
def test_block_longer_than_the_history_is_refused(block_bars: float) -> None:
    with pytest.raises(ConfigError, match="between 1 and the number of bars"):
        superior.superior_ability(NOISE, NOISE[:, 0], block_bars=block_bars)


@pytest.mark.parametrize("block_bars", [1.0, 64.0])
def test_block_may_be_as_long_as_the_history(block_bars: float) -> None:
    found = superior.superior_ability(NOISE, NOISE[:, 0] * 0.5, block_bars=block_bars)
    assert found.block_bars == block_bars


def test_superior_ability_needs_a_hundred_draws() -> None:
    found = superior.superior_ability(NOISE, NOISE[:, 0] * 0.5, n_draws=100)
    assert (found.n_draws, found.n_bars, found.n_candidates) == (100, 64, 2)
    with pytest.raises(ConfigError, match="n_draws must be a whole number of 100 or more"):
        superior.superior_ability(NOISE, NOISE[:, 0] * 0.5, n_draws=99)
