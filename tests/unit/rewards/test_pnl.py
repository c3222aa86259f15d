"""P&L: marked or realised, and multipliers that act on what is realised."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


def test_marked_gain_is_scaled_without_multiplier() -> None:
    # 1 % of the largest position; the position's ROI of 30 % multiplies nothing yet.
    assert term_of("pnl", gain=0.01, roi=0.3, closed_class=3.0) == pytest.approx(0.5)


def test_marked_loss_counts_in_full() -> None:
    assert term_of("pnl", gain=-0.02, roi=-0.4) == pytest.approx(-1.0)


def test_realised_only_ignores_the_mark() -> None:
    assert term_of("pnl", {"realised_only": True}, gain=0.05) == 0.0
    fee = term_of("pnl", {"realised_only": True}, gain=0.05, realised=-0.0001)
    assert fee == pytest.approx(-0.005)


@pytest.mark.parametrize(
    ("roi", "multiplier"),
    [(0.05, 1.1), (0.5, 2.0), (1.0, 3.0), (7.0, 3.0), (0.0, 1.0), (-0.1, 0.8), (-0.6, 0.5)],
)
def test_roi_multiplier_is_clamped(roi: float, multiplier: float) -> None:
    full = {"closed_frac": 1.0, "ended": 1.0, "closed_class": 2.0}
    value = term_of("pnl", {"realised_only": True}, realised=0.02, roi=roi, **full)
    assert value == pytest.approx(50 * 0.02 * multiplier)


@pytest.mark.parametrize(("size", "multiplier"), [(0, 1.0), (1, 1.2), (2, 1.0), (3, 0.8)])
def test_entry_size_multiplies_a_realised_gain(size: int, multiplier: float) -> None:
    full = {"closed_frac": 1.0, "ended": 1.0}
    value = term_of("pnl", {"realised_only": True}, realised=0.01, closed_class=size, **full)
    assert value == pytest.approx(0.5 * multiplier)


@pytest.mark.parametrize(
    ("ended", "staged", "closed_frac", "multiplier"),
    [(0, 0, 0.5, 0.8), (1, 0, 1.0, 1.0), (1, 1, 1.0, 1.1)],
)
def test_kind_of_exit_multiplies(
    ended: int, staged: int, closed_frac: float, multiplier: float
) -> None:
    value = term_of(
        "pnl",
        {"realised_only": True},
        realised=0.01,
        ended=ended,
        staged=staged,
        closed_frac=closed_frac,
    )
    assert value == pytest.approx(0.5 * multiplier)


def test_pyramiding_multiplies() -> None:
    full = {"closed_frac": 1.0, "ended": 1.0, "pyramided": 1.0}
    value = term_of("pnl", {"realised_only": True}, realised=0.01, **full)
    assert value == pytest.approx(0.65)


def test_all_multipliers_together() -> None:
    # 1.1 (ROI 5 %) · 1.2 (small) · 1.1 (staged) · 1.3 (pyramided) = 1.8876; the mark moved −0.5 %.
    value = term_of(
        "pnl",
        gain=-0.005,
        realised=0.01,
        roi=0.05,
        closed_class=1.0,
        closed_frac=1.0,
        ended=1.0,
        staged=1.0,
        pyramided=1.0,
    )
    assert value == pytest.approx(50 * (-0.005 + 0.8876 * 0.01))


def test_realised_loss_is_multiplied_unless_told_otherwise() -> None:
    lost = {"realised": -0.01, "roi": -0.2, "closed_class": 3.0, "closed_frac": 1.0, "ended": 1.0}

    assert term_of("pnl", {"multiply_losses": False}, gain=-0.01, **lost) == pytest.approx(-0.5)
    # 0.6 (ROI) · 0.8 (large) = 0.48
    multiplied = term_of("pnl", gain=-0.01, **lost)
    assert multiplied == pytest.approx(-0.5 - 0.5 * (0.48 - 1.0))


def test_commission_of_an_entry_is_not_multiplied() -> None:
    value = term_of("pnl", gain=-0.0001, realised=-0.0001, roi=0.9)
    assert value == pytest.approx(-0.005)
