"""How the result stands up: through time, in regimes, under stress, with other costs and delays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class Window:
    """One walk-forward window, traded by agents that never saw it."""

    first_day: str
    last_day: str
    trained_until: str
    """Last day that its agents learned from."""
    sharpe_annual: float
    total_return_frac: float
    hold_return_frac: float
    max_drawdown_frac: float
    alpha_bps_per_bar: float = math.nan
    """Mean of alpha, with betas of the bars that its agents learned from; NaN before format 6."""

    @property
    def stayed_out(self) -> bool:
        """Its agents held nothing at any bar: neither a profit nor a loss."""
        return self.total_return_frac == 0.0 == self.max_drawdown_frac


@dataclass(frozen=True)
class WalkForward:
    """Windows in order of time."""

    window_days: int
    step_days: int
    retrain_every: int
    """Windows per training."""
    steps_per_agent: int
    """Budget of each training."""
    windows: tuple[Window, ...]
    share_positive: Interval
    """Share of the traded windows with alpha above 0 (before format 6: with a Sharpe ratio above
    0); 95 %, Wilson with as many windows as fit side by side, since those that overlap are won or
    lost together. Windows in which the agents stayed out are counted on neither side; 0 in [0, 1]
    where all are such."""
    sharpe_annual: Interval | None = None
    """Of the windows joined, each up to the day on which the next begins, those that the agents
    stayed out of included; None before format 6 and for too few bars."""
    alpha_bps: Interval | None = None
    """Mean alpha per bar of the windows joined in the same way, basis points; None before format 7
    and for too few bars."""

    @property
    def traded(self) -> tuple[Window, ...]:
        """Windows in which the agents held something."""
        return tuple(window for window in self.windows if not window.stayed_out)


@dataclass(frozen=True)
class RegimeRow:
    """What the agents earned in the bars of one regime, as it was known at each decision."""

    regime: str
    bars: int
    share_frac: float
    """Of all bars."""
    net_bps_per_bar: Interval
    hold_bps_per_bar: float
    sharpe_annual: float
    max_drawdown_frac: float
    """Within the regime's bars, joined."""
    is_profitable: bool
    """Mean alpha above 0; before format 7 mean net return."""
    market_bps_per_bar: float = math.nan
    """Parts of the net return; NaN before format 6."""
    timing_bps_per_bar: float = math.nan
    alpha_bps_per_bar: Interval | None = None
    """None before format 6 and for too few bars."""
    n_trades: int = 0
    """Closed trades that were decided on in the regime; 0 also before format 6."""
    win_rate_frac: float = math.nan
    """Of those trades; NaN without one."""
    mean_trade_bars: float = math.nan
    """How long they lasted, in whatever regime."""


@dataclass(frozen=True)
class Regimes:
    """The regimes, detected causally."""

    method: str
    """How a bar's regime is told, in words."""
    rows: tuple[RegimeRow, ...]

    @property
    def profitable(self) -> int:
        """Regimes with alpha above 0; before format 7 with a positive mean net return."""
        return sum(row.is_profitable for row in self.rows)


@dataclass(frozen=True)
class StressRow:
    """One bad time, real or made up."""

    scenario: str
    kind: Literal["historical", "synthetic"]
    words: str
    """What happens in it."""
    first_day: str
    last_day: str
    total_return_frac: float
    hold_return_frac: float
    max_drawdown_frac: float
    hold_drawdown_frac: float


@dataclass(frozen=True)
class Stress:
    """All scenarios that the data allow, and why others were left out."""

    rows: tuple[StressRow, ...]
    left_out: tuple[str, ...]
    """Scenario and reason."""

    @property
    def worst_drawdown_frac(self) -> float:
        """Max drawdown over all scenarios; NaN without one."""
        return max((row.max_drawdown_frac for row in self.rows), default=float("nan"))


@dataclass(frozen=True)
class SensitivityRow:
    """The same policy under one other condition."""

    axis: Literal["cost", "slippage", "position limit", "delay", "capital"]
    setting: float
    """In the unit of the axis: bp, bp, fraction, bars, account currency."""
    net_bps_per_bar: Interval
    sharpe_annual: float
    max_drawdown_frac: float
    alpha_bps_per_bar: Interval | None = None
    """None before format 7, and for capital, whose accounts are copies that push the price."""


@dataclass(frozen=True)
class Sensitivity:
    """One axis at a time, and the surface of costs by delay."""

    rows: tuple[SensitivityRow, ...]
    cost_bps: tuple[float, ...]
    """C one-way costs of the surface."""
    delay_bars: tuple[int, ...]
    """L delays of the surface."""
    surface_bps: tuple[tuple[float, ...], ...]
    """(L, C) mean of what is `judged`, basis points per bar."""
    break_even_cost_bps: tuple[float | None, ...]
    """(L,) one-way cost at which nothing is left; None: below 0 even without costs; `inf` where
    the last cost of the surface still leaves something."""
    assumed_cost_bps: float
    """One-way cost of the run's own profile."""
    capacity_ccy: float | None
    """Capital at which impact takes half of the net return; None where it earns nothing or the
    largest capital tried does not reach that."""
    judged: Literal["alpha", "net return"] = "net return"
    """What the surface shows and break-even costs are of; the net return before format 7."""
