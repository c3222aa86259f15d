"""Student's points are those of the tables, for every number of draws."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tradingbot.domain.student_t import student_point

Z = 1.959963984540054


TABLE = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451, 9: 2.2621572, 29: 2.0452296}


@pytest.mark.parametrize(("freedom", "point"), [*TABLE.items(), (142, 1.9768110), (1e9, Z)])
def test_student_points_match_the_printed_tables(freedom: float, point: float) -> None:
    assert student_point(Z, freedom) == pytest.approx(point, rel=1e-7)


@pytest.mark.parametrize("z", [0.01, 0.7, Z, 2.0, 3.5, 8.0])
def test_student_points_leave_as_much_beyond_as_the_normal(z: float) -> None:
    for freedom in (1.0, 1.3, 2.0, 2.7, 5.5, 7.0, 40.0, 999.5, 99_999.0, 100_001.0, 1e7):
        point = student_point(z, freedom)

        assert point == pytest.approx(stats.t.isf(stats.norm.sf(z), freedom), rel=1e-9)


def test_student_points_fall_with_draws_and_count_fewer_than_one_as_one() -> None:
    points = [student_point(Z, freedom) for freedom in (1.0, 1.5, 2.0, 5.0, 50.0, 5e4, 5e6)]

    assert points == sorted(points, reverse=True)
    assert points[-1] > Z
    assert student_point(Z, 0.2) == student_point(Z, -1.0) == points[0]


def test_student_point_of_nothing_is_zero_and_of_the_impossible_infinite() -> None:
    assert student_point(0.0, 3.0) == 0.0
    assert math.isinf(student_point(50.0, 3.0))
