"""What chance earns: Sharpe ratios of many policies that know nothing but trade as much.

Both nulls hold the market as it was, drift included. They ask whether a policy's *timing* is better
than chance, not whether being invested paid. Positions are exposures held during a bar; a change
costs `cost_frac` of what is traded; the portfolio is the mean of the symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.bootstrap import sharpe_of
from tradingbot.evaluation.statistics.series import FloatArray, finite_matrix, require_count

MIN_BARS = 8
_CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class ChanceSharpes:
    """Sharpe ratios per bar of policies that know nothing."""

    sharpes: FloatArray
    """(K,) per bar, net of costs; 0 for a policy that never had a position."""

    def p_value(self, sharpe: float) -> float:
        """Return how often chance does as well or better, in (0, 1]; NaN for an undefined ratio.

        The policy itself counts as one of the draws, so that the smallest is 1 ÷ (K + 1).
        """
        if np.isnan(sharpe):
            return float("nan")
        return float(1 + np.count_nonzero(self.sharpes >= sharpe)) / (len(self.sharpes) + 1)


def random_policies_null(
    market_returns: ArrayLike,
    *,
    turnover: float,
    exposure: float = 0.5,
    cost_frac: float = 0.0,
    n_policies: int = 1000,
    short: bool = False,
    seed: int = 0,
) -> ChanceSharpes:
    """Let policies toss coins that trade as much as one of interest.

    Each symbol is in or out (or long or short) by a coin that is tossed anew now and then; how
    often follows from the turnover.

    Args:
        market_returns: (T, N) simple returns per bar of the symbols; at least 8 bars.
        turnover: Mean |change of position| per bar and symbol, as in `turnover_per_bar`.
        exposure: Share of bars with a position, in (0, 1); with `short` the size of the position,
            which is then always held, long or short with equal chance.
        cost_frac: Of the traded notional, ≥ 0.
        n_policies: K.
        short: Long or short instead of long or flat.
        seed: Root of the stream that tosses.

    Raises:
        ConfigError: If no coin trades that much at this exposure.
        DataError: If a return is not finite.
    """
    market = finite_matrix(market_returns, "market_returns", at_least=MIN_BARS)
    require_count(n_policies, "n_policies")
    again = _toss_rate(turnover, exposure, cost_frac, short=short)
    generator = stream(seed, "placebo", "policies")
    ups = 0.5 if short else exposure
    sharpes = []
    for size in _chunks(n_policies, market.size):
        coin = generator.random((size, *market.shape), dtype=np.float32)
        coin[:, 0] *= again  # the first toss always counts, and is thrown as the others are
        tossed = _held(coin < again * ups, coin < again)
        position = (2.0 * tossed - 1.0) * exposure if short else tossed.astype(np.float64)
        sharpes.append(_sharpes(position, market, cost_frac))
    return ChanceSharpes(np.concatenate(sharpes))


def shifted_positions_null(
    positions: ArrayLike,
    market_returns: ArrayLike,
    *,
    cost_frac: float = 0.0,
    n_policies: int = 1000,
    seed: int = 0,
) -> ChanceSharpes:
    """Hold a policy's own positions at the wrong time: all of them shifted by a random number.

    Turnover, exposure, holding times and cross-section are the policy's own, exactly but for the
    bar at which the shifted history wraps.

    Args:
        positions: (T, N) exposures held during each bar.
        market_returns: (T, N) simple returns of those bars.
        cost_frac: Of the traded notional, ≥ 0.
        n_policies: K shifts, with replacement, never by 0.
        seed: Root of the stream that draws shifts.

    Raises:
        DataError: If shapes differ, there are fewer than 8 bars, or a number is not finite.
    """
    market = finite_matrix(market_returns, "market_returns", at_least=MIN_BARS)
    held = finite_matrix(positions, "positions")
    if held.shape != market.shape:
        raise DataError("positions must have the shape of returns", was=f"{held.shape}")
    _require_cost(cost_frac)
    shifts = stream(seed, "placebo", "shifts").integers(
        1, len(market), require_count(n_policies, "n_policies")
    )
    place, sharpes = np.arange(len(market)), []
    for part in np.split(shifts, np.cumsum(_chunks(len(shifts), market.size))[:-1]):
        moved = held[(place - part[:, None]) % len(market)]
        sharpes.append(_sharpes(moved, market, cost_frac))
    return ChanceSharpes(np.concatenate(sharpes))


def _toss_rate(turnover: float, exposure: float, cost_frac: float, *, short: bool) -> float:
    """How often a coin is tossed anew, so that the mean change of position is the turnover."""
    _require_cost(cost_frac)
    if not 0.0 < exposure < 1.0 and not (short and exposure >= 1.0):
        raise ConfigError("exposure must lie between 0 and 1, both excluded", was=exposure)
    rate = turnover / exposure if short else turnover / (2.0 * exposure * (1.0 - exposure))
    if not 0.0 < rate <= 1.0:
        raise ConfigError(
            "turnover must be one that a coin can have at this exposure",
            was=f"turnover {turnover:.6g}, exposure {exposure:.6g}",
            remedy="Use shifted_positions_null, which takes the policy's own positions",
        )
    return rate


def _require_cost(cost_frac: float) -> None:
    if not 0.0 <= cost_frac < 1.0:
        raise ConfigError("cost_frac must lie within [0, 1)", was=cost_frac)


def _held(up: np.ndarray, tossed: np.ndarray) -> np.ndarray:
    """Keep the side of the last toss, along the second axis of (K, T, N)."""
    tossed[:, 0] = True
    place = np.arange(up.shape[1], dtype=np.int32)[None, :, None]
    latest = np.maximum.accumulate(np.where(tossed, place, np.int32(0)), axis=1)
    return np.take_along_axis(up, latest, axis=1)


def _sharpes(position: FloatArray, market: FloatArray, cost_frac: float) -> FloatArray:
    """Sharpe ratios (K,) of positions (K, T, N) from a flat start."""
    net = np.einsum("ktn,tn->kt", position, market)
    if cost_frac > 0.0:
        traded = np.abs(np.diff(position, axis=1, prepend=0.0)).sum(axis=2)
        net = net - cost_frac * traded
    return np.nan_to_num(sharpe_of(net / market.shape[1]))


def _chunks(count: int, numbers_each: int) -> list[int]:
    size = max(1, _CHUNK_NUMBERS // numbers_each)
    return list(_sizes(count, size))


def _sizes(count: int, size: int) -> Iterator[int]:
    for start in range(0, count, size):
        yield min(size, count - start)
