"""The contract of generated markets: the grid they are laid on, what they consist of, their spec.

How a particular market comes about belongs in its own file; looking one up belongs in `registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TimeArray = NDArray[np.datetime64]

_YEAR = np.timedelta64(365 * 24 + 6, "h")  # 365.25 days


class MarketParams(BaseModel):
    """Base of every market's parameters: frozen, finite, and no unknown key passes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class GridSpec:
    """Symbols and closing times a market is generated on.

    Example:
        >>> close = np.array(["2024-01-02T15:30", "2024-01-02T16:30"], dtype="datetime64[us]")
        >>> hour = np.timedelta64(1, "h")
        >>> grid = GridSpec(("AAPL",), ("tech",), close - hour, close, np.zeros(2, np.int64))
        >>> grid.shape, grid.hours.tolist(), grid.bar_of_session.tolist()
        ((2, 1), [1.0, 1.0], [0, 1])
    """

    symbols: tuple[str, ...]  # N, in universe order
    sectors: tuple[str, ...]  # N, "unknown" where the universe does not say
    opened_at: TimeArray  # (T,) datetime64[us], UTC, start of each bar
    closed_at: TimeArray  # (T,) datetime64[us], UTC, strictly increasing
    session: IntArray  # (T,) number of the trading session, counted from 0, non-decreasing

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        return len(self.closed_at), len(self.symbols)

    @property
    def hours(self) -> FloatArray:
        """(T,) length of each bar in hours."""
        return np.asarray((self.closed_at - self.opened_at) / np.timedelta64(1, "h"))

    @property
    def bar_of_session(self) -> IntArray:
        """(T,) position of each bar in its session, 0 for the first."""
        first = np.searchsorted(self.session, self.session, side="left")
        return np.arange(len(self.session), dtype=np.int64) - first

    @property
    def opens_session(self) -> NDArray[np.bool_]:
        """(T,) True where a bar is the first of its session; the very first bar is one."""
        return np.asarray(self.bar_of_session == 0)

    @property
    def bars_per_year(self) -> float:
        """Mean number of bars in 365.25 days of this grid."""
        span = (self.closed_at[-1] - self.opened_at[0]) / _YEAR
        return float(len(self.closed_at) / max(span, 1e-9))


@dataclass(frozen=True)
class SyntheticMarket:
    """A generated market: bars, covariates, and the latent state that only oracles may read.

    Prices are per unit in quote currency; every array is finite except covariates, where NaN
    means that no new value became available at that bar's close.
    """

    name: str
    symbols: tuple[str, ...]
    closed_at: TimeArray  # (T,) datetime64[us], UTC
    opens: FloatArray  # (T, N)
    highs: FloatArray  # (T, N)
    lows: FloatArray  # (T, N)
    closes: FloatArray  # (T, N)
    volumes: FloatArray  # (T, N) units traded
    vwaps: FloatArray  # (T, N)
    covariates: Mapping[str, FloatArray]  # name → (T, N), available at closed_at[t]
    latent: Mapping[str, NDArray[Any]]  # not observable at the time
    params: Mapping[str, str | int | float | bool]
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        return len(self.closed_at), len(self.symbols)


Generator = Callable[[Any, GridSpec, int], SyntheticMarket]
"""(params, grid, seed) → market; `params` is an instance of the spec's model."""


@dataclass(frozen=True)
class MarketSpec:
    """A named market: what it is, its parameters with their defaults, and how it is made."""

    name: str
    summary: str
    defaults: type[MarketParams]
    generate: Generator = field(repr=False)
