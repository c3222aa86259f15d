"""A session as a page shows it: plain records, whatever database they came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.events.session import AlertRaised, DecisionMade, SessionStateSaved
from tradingbot.domain.order import Order
from tradingbot.domain.position import Fill
from tradingbot.domain.trading_state import TradingState
from tradingbot.monitoring.dashboard.sources.breaker_distance import BreakerDistance
from tradingbot.monitoring.dashboard.sources.freshness import Freshness
from tradingbot.monitoring.dashboard.sources.session_place import WatchedTerms
from tradingbot.runtime.session.unclosed import UnclosedPosition


@dataclass(frozen=True)
class EquitySeries:
    """Equity at the close of T bars."""

    at: NDArray[np.datetime64]
    """(T,) UTC."""
    equity_ccy: NDArray[np.float64]
    """(T,)"""

    def __len__(self) -> int:
        return len(self.at)

    def extended(self, at: NDArray[np.datetime64], equity_ccy: NDArray[np.float64]) -> EquitySeries:
        """Return it with the bars that followed."""
        joined = np.concatenate([self.equity_ccy, equity_ccy])
        return EquitySeries(np.concatenate([self.at, at]), joined)


NO_EQUITY = EquitySeries(np.array([], "datetime64[us]"), np.array([], np.float64))


@dataclass(frozen=True)
class PositionLine:
    """One holding at the close of the last bar."""

    symbol: str
    units: Decimal
    entry: float
    """Average price; NaN where the journal does not say."""
    mark: float
    """Last close."""
    value_ccy: float
    unrealised_ccy: float
    share_frac: float
    """Of equity, signed."""


@dataclass(frozen=True)
class TradeLine:
    """One fill, and why it was asked for."""

    fill: Fill
    decision: DecisionMade | None
    """None where the decision is not among those that were read."""
    realised_ccy: Decimal | None
    """Profit that it realised, net of fees; None where nothing was closed, or not read."""


@dataclass(frozen=True)
class Acting:
    """Which model decides."""

    sha256: str
    run: str | None = None
    verdict: str | None = None
    """Of its gates."""
    version: str | None = None
    """Of the registry; None where the bundle is not there."""


@dataclass(frozen=True)
class SessionView:
    """Everything of one session; times are those of its journal."""

    name: str
    where: str
    """Its journal, without a password."""
    terms: WatchedTerms | None
    freshness: Freshness
    started_at: datetime | None = None
    broker: str = ""
    symbols: tuple[str, ...] = ()
    acting: Acting | None = None
    state: SessionStateSaved | None = None
    equity: EquitySeries = NO_EQUITY
    positions: tuple[PositionLine, ...] = ()
    open_orders: tuple[Order, ...] = ()
    denied: tuple[Order, ...] = ()
    """The last orders that the gate denied, the newest first."""
    unclosed: tuple[UnclosedPosition, ...] = ()
    """What a kill was to close and could not yet."""
    trades: tuple[TradeLine, ...] = ()
    """The last fills, the newest first."""
    permitted: TradingState | None = None
    """What it may do, also before its first bar; None where that is not known."""
    breakers: tuple[BreakerDistance, ...] = ()
    latency_s: float | None = None
    """From the close that was decided on to the sending of the last order; None before one."""
    latency_at: datetime | None = None
    alerts: tuple[AlertRaised, ...] = ()
    """The last ones, the newest first."""
    n_orders: int = 0
    n_fills: int = 0
    data_label: str = ""
    """Data in words; what was generated is called so."""
    problem: str = ""
    """Why its journal cannot be read now; empty where it can."""

    @property
    def begun_s(self) -> float:
        """When it began, s since 1970 UTC; 0 where that is not known."""
        return 0.0 if self.started_at is None else self.started_at.timestamp()

    @property
    def tripped(self) -> tuple[str, ...]:
        """Names of breakers that tripped and were not armed again."""
        return tuple(each.name for each in self.breakers if each.is_tripped)

    @property
    def trading_state(self) -> str:
        """What it may do, in a word."""
        return "unknown" if self.permitted is None else self.permitted.value
