"""What rules read beside closes, computed from the bars of a world by the registered features."""

from __future__ import annotations

import numpy as np

from tradingbot.agents.baselines.expert import ExpertIndicators
from tradingbot.agents.baselines.residual_reversal import OwnMoves
from tradingbot.envs.world import World
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.features.registry import find_feature
from tradingbot.features.relative import idiosyncratic_volatility, residual_1, same_hour_residual

_READ = ("rsi_14", "macd_histogram", "adx_14", "sma_20", "bollinger_bandwidth", "volume_sma_20")


def expert_indicators(world: World) -> ExpertIndicators:
    """Compute RSI, MACD, Bollinger position, volume and ADX, (N, T) each, in traders' units."""
    inputs = _inputs_of(world)
    found = compute_features(inputs, [find_feature(name) for name in _READ], form="raw")
    middle, close = found["sma_20"], inputs.bars["close"]
    width = found["bollinger_bandwidth"] * middle
    with np.errstate(divide="ignore", invalid="ignore"):
        band = np.where(width > 0.0, 0.5 + (close - middle) / width, np.nan)
        volume = inputs.bars["volume"] / found["volume_sma_20"]
    parts = (found["rsi_14"], found["macd_histogram"], band, volume, found["adx_14"])
    return ExpertIndicators(*(np.ascontiguousarray(part.T) for part in parts))


def own_moves(world: World) -> OwnMoves:
    """Compute the own moves of the symbols, (N, T) each, by the features `relative`."""
    inputs = _inputs_of(world)
    moves = compute_features(inputs, [residual_1, same_hour_residual])
    volatility = compute_features(inputs, [idiosyncratic_volatility], form="raw")
    parts = (
        moves[residual_1.name],
        volatility[idiosyncratic_volatility.name],
        moves[same_hour_residual.name],
    )
    return OwnMoves(*(np.ascontiguousarray(part.T) for part in parts))


def _inputs_of(world: World) -> MarketInputs:
    columns = [np.where(world.present, world.prices[..., i], np.nan).T for i in range(5)]
    bars = dict(zip(BAR_FIELDS, columns, strict=False))
    return MarketInputs(
        symbols=world.symbols,
        closed_at=world.closed_at.astype("datetime64[us]"),
        present=np.ascontiguousarray(world.present.T),
        bars={name: np.ascontiguousarray(values) for name, values in bars.items()},
    )
