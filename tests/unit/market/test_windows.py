"""Windows of features: a gather is a slice."""

from __future__ import annotations

import pytest
import torch

from tradingbot.market.windows import gather_windows, window_view

FEATURES = torch.arange(60.0).reshape(20, 3)


@pytest.mark.parametrize("window_bars", [1, 4, 20])
def test_gather_equals_slices(window_bars: int) -> None:
    windows = window_view(FEATURES, window_bars)
    rows = torch.arange(window_bars - 1, 20, dtype=torch.int32)
    found = gather_windows(windows, rows, window_bars)
    for row, window in zip(rows.tolist(), found, strict=True):
        assert torch.equal(window, FEATURES[row - window_bars + 1 : row + 1].ravel())


def test_view_does_not_copy() -> None:
    assert window_view(FEATURES, 4).data_ptr() == FEATURES.data_ptr()


def test_features_that_are_not_contiguous_are_read_rightly() -> None:
    turned = FEATURES.t().contiguous().t()
    assert torch.equal(window_view(turned, 4), window_view(FEATURES, 4))


def test_window_before_the_first_bar_is_refused() -> None:
    with pytest.raises(IndexError):
        gather_windows(window_view(FEATURES, 4), torch.tensor([2]), 4)
