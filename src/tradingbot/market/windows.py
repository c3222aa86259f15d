"""Windows of market features: gathered from one tensor on demand, never stored."""

from __future__ import annotations

from torch import Tensor


def window_view(features: Tensor, window_bars: int) -> Tensor:
    """See features (R, F) as overlapping windows, without copying.

    Returns:
        (R − W + 1, W·F); row i is the window whose first bar is row i, bar by bar. A window is one
        run of memory, so gathering it costs one copy.
    """
    rows, width = features.shape
    features = features.contiguous()
    return features.as_strided((rows - window_bars + 1, window_bars * width), (width, 1))
