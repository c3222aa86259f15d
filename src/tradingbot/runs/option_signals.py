"""What options read of the market, from the table that agents see: averages in their own units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tradingbot.agents.options.market_options import OptionSignals
from tradingbot.domain.errors import ConfigError
from tradingbot.features.scaling import Scaler

_READ = ("sma_10", "sma_20")


def option_signals(
    table: Tensor, scalers: Sequence[Scaler], symbols: Sequence[str]
) -> OptionSignals:
    """Take the scale out of the averages of a table (N, T, F).

    Args:
        table: What agents see of the market; its first columns are those of the scalers.
        scalers: What they were scaled by, in order.
        symbols: N names.

    Raises:
        ConfigError: If the scale is not known, or the averages are not among the columns.
    """
    names = [name for scaler in scalers for name in scaler.feature_names]
    missing = [name for name in _READ if name not in names]
    if missing:
        raise ConfigError(
            "options must know the averages of closes and their scale",
            was=f"no {missing[0]} among {len(names)} scaled columns",
            remedy="Train on features with sma_10 and sma_20, which the default has",
        )
    repeats = len(table) // len(symbols)
    found = [_unscaled(table, scalers, symbols, names.index(name), repeats) for name in _READ]
    return OptionSignals.of_averages(*found)


def _unscaled(
    table: Tensor, scalers: Sequence[Scaler], symbols: Sequence[str], column: int, repeats: int
) -> Tensor:
    """Return a column (N, T) in the feature's own units; 0 stays 0 where nothing is known."""
    place = column
    for scaler in scalers:
        if place < len(scaler.feature_names):
            break
        place -= len(scaler.feature_names)
    own = scaler.of_symbols(symbols)
    pair = (np.broadcast_to(each[..., place], len(symbols)) for each in (own.scale, own.centre))
    scale, centre = (torch.from_numpy(np.tile(each, repeats)).to(table)[:, None] for each in pair)
    return table[..., column] * scale + centre
