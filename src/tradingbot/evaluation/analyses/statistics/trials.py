"""How far apart the trials of the ledger lie: the spread that a deflated Sharpe ratio needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def trial_variance(sharpes: Sequence[float | None], *, bars: int) -> float:
    """Estimate the variance of Sharpe ratios per bar across trials.

    It is their sample variance, and at least that of a Sharpe ratio that is all luck,
    1 ÷ (bars − 1): trials that are nearly the same, or that never came to a result, must not make
    a search look smaller than it was.

    Args:
        sharpes: One per trial; None where it never came to a result.
        bars: Of the track that is judged, 2 or more.
    """
    known = np.array([each for each in sharpes if each is not None], dtype=np.float64)
    luck = 1.0 / max(bars - 1, 1)
    return max(float(known.var(ddof=1)), luck) if len(known) > 1 else luck
