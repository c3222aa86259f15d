"""A world of prices alone, for strategies and rules that look at nothing else."""

from __future__ import annotations

import numpy as np

from tradingbot.envs.world import World
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs


def world_of_prices(inputs: MarketInputs, *, label: str, synthetic: bool) -> World:
    """Make a world of bars alone, without features: any length will do, and no bar is lost to them.

    Args:
        inputs: The market.
        label: Where the bars are from.
        synthetic: They were generated.
    """
    present = np.ascontiguousarray(inputs.present.T)
    columns = [inputs.bars[name].T for name in BAR_FIELDS]
    blank = np.zeros((*present.shape, 0), dtype=np.float32)
    return World(
        symbols=inputs.symbols,
        prices=np.where(present[..., None], np.stack(columns[:5], axis=-1), np.nan),
        present=present,
        features=blank,
        regimes=blank,
        probabilities=np.full((*present.shape, 3), 1.0 / 3.0, dtype=np.float32),
        usable=present,
        closed_at=inputs.closed_at.astype(np.int64),
        feature_names=(),
        regime_names=(),
        label=label,
        synthetic=synthetic,
        vwap=np.where(present, columns[5], np.nan),
    )
