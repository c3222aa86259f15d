"""Real sessions over drawn faults, kills and interventions: nothing twice, nothing lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fixtures.replayed_sessions import STOP
from fixtures.rough_sessions import LIMITS, Course, silence


def run_course(folder: Path, seed: int) -> Counter[str]:
    """Trade all bars; every book is compared after each."""
    folder.mkdir()
    course = Course(folder, np.random.default_rng(seed))
    with silence():
        course.run(until=STOP - 2)
    trades = course.count_opening_trades()
    course.opened.close()

    assert max(trades.values()) <= LIMITS.max_trades, f"seed {seed}"
    return course.n


def test_sessions_over_drawn_faults_and_kills_keep_all_books_equal(tmp_path: Path) -> None:
    found = sum((run_course(tmp_path / str(seed), seed) for seed in range(4)), Counter[str]())

    for kind in ("kills", "openings", "refused", "late rejections", "lost back", "lost there"):
        assert found[kind] > 0, found


@pytest.mark.slow
def test_hundred_sessions_over_drawn_faults_and_kills(tmp_path: Path) -> None:
    found = sum(
        (run_course(tmp_path / str(seed), seed) for seed in range(100, 200)), Counter[str]()
    )

    assert found["kills"] > 200
    assert found["busts"] > 10
    assert found["journal failures"] > 10
