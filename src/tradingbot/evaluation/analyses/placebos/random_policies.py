"""What chance earns: Sharpe ratios of many policies that know nothing but trade as much.

Both nulls hold the market as it was, drift included. They ask whether a policy's *timing* is better
than chance, not whether being invested paid. Positions are exposures held during a bar; a change
costs `cost_frac` of what is traded; the portfolio is the mean of the symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.bootstrap import sharpe_of
from tradingbot.evaluation.statistics.inputs import FloatArray, finite_matrix, require_count

MIN_BARS = 8
_MOST_OFTEN = 2.0
"""Tosses per bar of a policy that changes sides at every bar."""


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


def random_policies_null(market_returns: ArrayLike, **coins: Any) -> ChanceSharpes:
    """Return the Sharpe ratios of policies that toss coins; see `random_policy_returns`."""
    return ChanceSharpes(np.nan_to_num(sharpe_of(random_policy_returns(market_returns, **coins))))


def random_policy_returns(
    market_returns: ArrayLike,
    *,
    turnover: float,
    exposure: float = 0.5,
    cost_frac: float = 0.0,
    n_policies: int = 1000,
    short: bool = False,
    seed: int = 0,
) -> FloatArray:
    """Return the net returns per bar (K, T) of policies that toss coins and trade as much as one.

    Each symbol is in or out (or long or short) by a coin that is tossed anew now and then; how
    often follows from the turnover, at most at every bar: a policy that trades still more is held
    against coins that pay less, which errs against the policy. The same seed and shape give the
    same coins, whatever the returns are.

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
    size, rise, base = (2.0 * exposure, 0.5, -exposure) if short else (1.0, exposure, 0.0)
    by_symbol = np.ascontiguousarray(market.T)
    net = np.empty((n_policies, len(market)))
    for policy in range(n_policies):
        sides = _coins(by_symbol.shape, again, rise, generator)
        position = sides.astype(np.float64) * size + base
        changes = size * np.count_nonzero(sides[:, 1:] != sides[:, :-1], axis=0)
        net[policy] = _net(position, by_symbol, cost_frac, changes)
    return net


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
    by_symbol = np.ascontiguousarray(market.T)
    twice = np.concatenate([held, held]).T  # every shifted history is a stretch of it
    changes = np.abs(np.diff(twice, axis=1)).sum(axis=0)
    net = np.empty((len(shifts), len(market)))
    for policy, shift in enumerate(shifts):
        start = len(market) - shift
        position = twice[:, start : start + len(market)]
        within = changes[start : start + len(market) - 1]
        net[policy] = _net(position, by_symbol, cost_frac, within)
    return ChanceSharpes(np.nan_to_num(sharpe_of(net)))


def _toss_rate(turnover: float, exposure: float, cost_frac: float, *, short: bool) -> float:
    """How often a coin is tossed anew, so that the mean change of position is the turnover."""
    _require_cost(cost_frac)
    if not 0.0 < exposure < 1.0 and not (short and exposure >= 1.0):
        raise ConfigError("exposure must lie between 0 and 1, both excluded", was=exposure)
    rate = turnover / exposure if short else turnover / (2.0 * exposure * (1.0 - exposure))
    if not 0.0 < rate <= _MOST_OFTEN:
        raise ConfigError(
            "turnover must be above 0 and one that can be had at this exposure",
            was=f"turnover {turnover:.6g}, exposure {exposure:.6g}",
            remedy="Use shifted_positions_null, which takes the policy's own positions",
        )
    return min(rate, 1.0)


def _require_cost(cost_frac: float) -> None:
    if not 0.0 <= cost_frac < 1.0:
        raise ConfigError("cost_frac must lie within [0, 1)", was=cost_frac)


def _coins(
    shape: tuple[int, ...], again: float, rise: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Sides (N, T) of coins that are tossed at every symbol's first bar and now and then again."""
    tossed = generator.random(shape, dtype=np.float32) < again
    tossed[:, 0] = True
    events = np.flatnonzero(tossed)
    sides = generator.random(len(events), dtype=np.float32) < rise
    lasting = np.diff(events, append=tossed.size)
    return np.repeat(sides, lasting).reshape(shape)


def _net(
    position: FloatArray, by_symbol: FloatArray, cost_frac: float, changes: NDArray[Any]
) -> FloatArray:
    """Return the net return per bar (T,) of the mean of N symbols at positions (N, T).

    Traded are all first positions, and Σ|change| (T − 1,) of the bars after.
    """
    earned = np.einsum("nt,nt->t", position, by_symbol) / len(position)
    paid = cost_frac * np.concatenate([[np.abs(position[:, 0]).sum()], changes])
    return np.asarray(earned - paid / len(position))
