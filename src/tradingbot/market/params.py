"""What an account may do, how actions are read, and how long an episode lasts: plain numbers.

Rules are constants of a compiled simulator: another value is another program. Costs are not here;
they are tensors (`market/costs.py`), so that a sweep over costs compiles once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from tradingbot.domain.checks import require, require_kinds
from tradingbot.risk.limits import RiskLimits

ActionSpace = Literal["continuous", "target", "discrete"]
FillAt = Literal["next_open", "this_close"]

NEVER_BARS = 2**30
"""More bars than any history has: a limit in bars that is switched off."""
NEVER_FRAC = 1.0e30
"""What formulas use for an infinite fraction: 0 · ∞ of a flat account would not be a number."""


@dataclass(frozen=True)
class AccountRules:
    """Capital of one account and what closes its positions.

    Infinity and `NEVER_BARS` switch a limit off.
    """

    initial_cash_ccy: float = 100_000.0
    """Cash of an account at the beginning of an episode."""
    maintenance_frac: float = 1.3
    """Cash below which a short is closed, of the short's value."""
    max_participation_frac: float = 0.1
    """Largest fill, of the bar's volume."""
    stop_loss_frac: float = math.inf
    """Loss of a position, of its entry price, at which it is closed within the bar."""
    take_profit_frac: float = math.inf
    """Profit of a position, of its entry price, at which it is closed within the bar."""
    max_holding_bars: int = NEVER_BARS
    """Bars after which a position is closed at the next open."""
    position_loss_frac: float = 0.05
    """Loss of a position, of its entry price, at which it is closed at the next open."""
    portfolio_loss_frac: float = 0.20
    """Loss of the account, of its initial cash, at which everything is closed and trading ends."""

    def __post_init__(self) -> None:
        require_kinds(self)
        require(0.0 < self.initial_cash_ccy < math.inf, "initial_cash_ccy must be above 0", self)
        require(1.0 < self.maintenance_frac < math.inf, "maintenance_frac must be above 1", self)
        require(
            0.0 < self.max_participation_frac <= 1.0,
            "max_participation_frac must lie in (0, 1]",
            self,
        )
        require(self.stop_loss_frac > 0.0, "stop_loss_frac must be above 0", self)
        require(self.take_profit_frac > 0.0, "take_profit_frac must be above 0", self)
        require(self.max_holding_bars >= 1, "max_holding_bars must be 1 or more", self)
        require(self.position_loss_frac > 0.0, "position_loss_frac must be above 0", self)
        require(
            0.0 < self.portfolio_loss_frac <= 1.0, "portfolio_loss_frac must lie in (0, 1]", self
        )

    @property
    def watches_bars(self) -> bool:
        """Whether a stop or a take-profit is set, so that the inside of bars matters."""
        return self.stop_loss_frac < math.inf or self.take_profit_frac < math.inf


@dataclass(frozen=True)
class ActionRules:
    """How a number or a code becomes an order."""

    space: ActionSpace = "continuous"
    """Continuous: signed share of the buying power; target: exposure; discrete: a code."""
    hold_zone: float = 0.1
    """Continuous actions up to this size do nothing."""
    smoothing_bars: int = 3
    """Span of the exponential smoothing of continuous and target actions; 1 is none."""
    entry_fracs: tuple[float, float, float] = (1 / 3, 2 / 3, 1.0)
    """BUY_SMALL, BUY_MEDIUM, BUY_LARGE, of the largest position."""
    sell_partial_frac: float = 0.5
    """SELL_PARTIAL, of the position."""
    add_frac: float = 1 / 3
    """ADD_POSITION, of the largest position."""
    max_adds: int = 2
    """Additions to one position, at most."""
    add_min_profit_frac: float = 0.0
    """Unrealised profit, of the entry price, below which ADD_POSITION is masked."""
    max_repeats: int = 3
    """Identical codes in a row, other than HOLD, that are executed."""

    def __post_init__(self) -> None:
        require_kinds(self)
        require(
            self.space in ("continuous", "target", "discrete"),
            "space must be continuous, target or discrete",
            self,
        )
        require(0.0 <= self.hold_zone < 1.0, "hold_zone must lie in [0, 1)", self)
        require(self.smoothing_bars >= 1, "smoothing_bars must be 1 or more", self)
        require(
            len(self.entry_fracs) == 3
            and 0.0 < self.entry_fracs[0] < self.entry_fracs[1] < self.entry_fracs[2] <= 1.0,
            "entry_fracs must be three rising fractions of at most 1",
            self,
        )
        require(0.0 < self.sell_partial_frac < 1.0, "sell_partial_frac must lie in (0, 1)", self)
        require(0.0 < self.add_frac <= 1.0, "add_frac must lie in (0, 1]", self)
        require(self.max_adds >= 0, "max_adds must be 0 or more", self)
        require(self.add_min_profit_frac >= 0.0, "add_min_profit_frac must be 0 or more", self)
        require(self.max_repeats >= 1, "max_repeats must be 1 or more", self)

    @property
    def smoothing(self) -> float:
        """Weight α of the newest action."""
        return 2.0 / (self.smoothing_bars + 1.0)


@dataclass(frozen=True)
class EpisodeRules:
    """How long an episode lasts and what must lie before its first decision."""

    episode_bars: int = 512
    """Steps after which an episode is truncated."""
    window_bars: int = 24
    """Bars in the window of an observation; so many must lie at or before the first decision."""
    fill_at: FillAt = "next_open"
    """Price of fills: the next open, or the close that was decided on (not attainable)."""

    def __post_init__(self) -> None:
        require_kinds(self)
        require(self.episode_bars >= 1, "episode_bars must be 1 or more", self)
        require(self.window_bars >= 1, "window_bars must be 1 or more", self)
        require(
            self.fill_at in ("next_open", "this_close"),
            "fill_at must be next_open or this_close",
            self,
        )


@dataclass(frozen=True)
class SimulatorParams:
    """Everything that is constant in a compiled simulator."""

    account: AccountRules = field(default_factory=AccountRules)
    limits: RiskLimits = field(default_factory=RiskLimits)
    action: ActionRules = field(default_factory=ActionRules)
    episode: EpisodeRules = field(default_factory=EpisodeRules)

    def __post_init__(self) -> None:
        require(
            not (self.action.space == "discrete" and self.limits.allow_short),
            "allow_short must be false for discrete actions, which cannot open a short",
            self.limits,
        )
        require(
            self.limits.min_trade_ccy
            <= self.limits.max_position_frac * self.account.initial_cash_ccy,
            "min_trade_ccy must not exceed the largest position",
            self.limits,
        )
        require(
            self.account.maintenance_frac <= self.limits.margin_frac,
            "maintenance_frac must not exceed margin_frac",
            self.account,
        )
        require(
            self.limits.min_trade_ccy <= self.limits.max_order_frac * self.account.initial_cash_ccy,
            "max_order_frac must allow the smallest trade",
            self.limits,
        )


def endless(rules: SimulatorParams) -> SimulatorParams:
    """Return the same rules for a period of any length: programs need not be told apart by it."""
    return replace(rules, episode=replace(rules.episode, episode_bars=NEVER_BARS))
