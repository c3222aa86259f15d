"""What a master adds to equal weight of its sleeves, which keeps as much cash."""

from __future__ import annotations

import numpy as np

from tradingbot.evaluation.analyses.allocation_figures import added_by_master


def test_cash_alone_adds_nothing_to_sleeves_that_lose() -> None:
    sleeves = np.random.default_rng(3).normal(-1e-4, 1e-3, 400)
    even, moved = np.full((400, 3), [0.495, 0.495, 0.01]), np.full((400, 3), [0.9, 0.09, 0.01])
    moved[::2] = [0.09, 0.9, 0.01]

    assert not added_by_master(0.99 * sleeves - 1e-9, sleeves, even).any()
    np.testing.assert_allclose(added_by_master(0.99 * sleeves, sleeves, moved), 0.0, atol=1e-12)
    np.testing.assert_allclose(added_by_master(sleeves, sleeves, moved), 0.01 * sleeves)
