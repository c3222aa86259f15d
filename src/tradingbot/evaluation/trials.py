"""How far apart the trials of the ledger lie: the spread that a deflated Sharpe ratio needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def trial_variance(sharpes: Sequence[float | None], *, bars: int) -> float:
    """Estimate the variance of Sharpe ratios per bar across trials.

    Where every trial came to a result it is their sample variance. A trial without one (killed,
    or still going) may have been anything: then it is at least the variance of a Sharpe ratio that
    is all luck, 1 ÷ (bars − 1).

    Args:
        sharpes: One per trial; None where it never came to a result.
        bars: Of the track that is judged, 2 or more.
    """
    known = np.array([each for each in sharpes if each is not None], dtype=np.float64)
    luck = 1.0 / max(bars - 1, 1)
    observed = float(known.var(ddof=1)) if len(known) > 1 else math.nan
    if len(known) == len(sharpes) and math.isfinite(observed):
        return observed
    return max(observed, luck) if math.isfinite(observed) else luck
