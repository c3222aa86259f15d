"""Windows of features: a row of the view is a slice."""

from __future__ import annotations

import pytest
import torch

from tradingbot.market.windows import window_view

FEATURES = torch.arange(60.0).reshape(20, 3)


@pytest.mark.parametrize("window_bars", [1, 4, 20])
def test_row_of_the_view_is_a_slice(window_bars: int) -> None:
    windows = window_view(FEATURES, window_bars)
    assert len(windows) == 20 - window_bars + 1
    for first, window in enumerate(windows):
        assert torch.equal(window, FEATURES[first : first + window_bars].ravel())


def test_view_does_not_copy() -> None:
    assert window_view(FEATURES, 4).data_ptr() == FEATURES.data_ptr()


def test_features_that_are_not_contiguous_are_read_rightly() -> None:
    turned = FEATURES.t().contiguous().t()
    assert torch.equal(window_view(turned, 4), window_view(FEATURES, 4))
