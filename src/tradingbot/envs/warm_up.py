"""How many bars features need before they are defined, and whether training has so many."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.features.panel import panel_specs


def require_warm(
    present: NDArray[np.bool_], rows: IndexRange, covariates: Collection[str], *, train_frac: float
) -> None:
    """Refuse training bars without a defined feature that end before any can be.

    Args:
        present: (N, T) there is a bar.
        rows: Training bars.
        covariates: Names of covariates, which are features too.
        train_frac: Share of the bars that is trained on by default, for the remedy.

    Raises:
        DataError: Saying how many bars are needed and how many there are.
    """
    needed = max(spec.lookback_bars for spec in panel_specs(covariates))
    most = int(present[:, : rows.stop].sum(axis=1).max())
    if most < needed:
        raise DataError(
            f"features must be defined in training: they need {needed} bars of a symbol",
            was=f"{most} by the end of training",
            where=f"training bars {rows.start} … {rows.stop - 1} of {present.shape[1]}",
            remedy=f"Use {math.ceil(needed / train_frac)} bars or more, or a later end of train",
        )
