"""What an account may do, how actions are read, and how long an episode lasts: plain numbers.

Rules are constants of a compiled simulator: another value is another program. Costs are not here;
they are tensors (`market/costs.py`), so that a sweep over costs compiles once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.risk.limits import RiskLimits

ActionSpace = Literal["continuous", "target", "discrete"]
FillAt = Literal["next_open", "this_close"]

NEVER_BARS = 2**30
"""More bars than any history has: a limit in bars that is switched off."""
DEFAULT_RECENCY = 0.5
"""How much more often training episodes begin late than early; see `market.episodes`."""
READY_SHARE = 0.9
"""A rollout begins at the first bar at which so many of the symbols are usable."""
NEVER_FRAC = 1.0e30
"""What formulas use for an infinite fraction: 0 · ∞ of a flat account would not be a number."""


@dataclass(frozen=True)
class AccountRules(CheckedFields):
    """Capital of one account and what closes its positions.

    Infinity and `NEVER_BARS` switch a limit off.
    """

    initial_cash_ccy: float = bounded(100_000.0, "(0, inf)")
    """Cash of an account at the beginning of an episode."""
    maintenance_frac: float = bounded(1.3, "(1, inf)")
    """Cash below which a short is closed, of the short's value."""
    max_participation_frac: float = bounded(0.1, "(0, 1]")
    """Largest fill, of the bar's volume."""
    stop_loss_frac: float = bounded(math.inf, "> 0")
    """Loss of a position, of its entry price, at which it is closed within the bar."""
    take_profit_frac: float = bounded(math.inf, "> 0")
    """Profit of a position, of its entry price, at which it is closed within the bar."""
    max_holding_bars: int = bounded(NEVER_BARS, ">= 1")
    """Bars after which a position is closed at the next open."""
    position_loss_frac: float = bounded(0.05, "> 0")
    """Loss of a position, of its entry price, at which it is closed at the next open."""
    portfolio_loss_frac: float = bounded(0.20, "(0, 1]")
    """Loss of the account, of its initial cash, at which everything is closed and trading ends."""

    delisted_after_bars: int = bounded(NEVER_BARS, ">= 1")
    """Bars in a row without the symbol after which it counts as delisted: a position is closed at
    its last price less the haircut."""
    delisting_haircut_frac: float = bounded(0.3, "[0, 1]")
    """What is lost of the last price where a symbol is delisted."""
    quantity_decimals: int | None = None
    """Decimals of units that a venue takes, 0 to 9; orders, fills and positions have no more, and
    prices and fees of fills have nine. None: any number."""

    def __post_init__(self) -> None:
        super().__post_init__()
        decimals = self.quantity_decimals
        is_one = isinstance(decimals, int) and not isinstance(decimals, bool)
        rule = "quantity_decimals must be a whole number of 0 to 9, or none"
        require(decimals is None or (is_one and 0 <= decimals <= MAX_DECIMALS), rule, self)

    @property
    def watches_bars(self) -> bool:
        """Whether a stop or a take-profit is set, so that the inside of bars matters."""
        return self.stop_loss_frac < math.inf or self.take_profit_frac < math.inf

    @property
    def closes_delisted(self) -> bool:
        """Whether positions in symbols that have no bars any more are closed."""
        return self.delisted_after_bars < NEVER_BARS


@dataclass(frozen=True)
class ActionRules(CheckedFields):
    """How a number or a code becomes an order."""

    space: ActionSpace = "continuous"
    """Continuous: signed share of the buying power; target: exposure; discrete: a code."""
    hold_zone: float = bounded(0.1, "[0, 1)")
    """Continuous actions up to this size do nothing."""
    smoothing_bars: int = bounded(3, ">= 1")
    """Span of the exponential smoothing of continuous and target actions; 1 is none."""
    entry_fracs: tuple[float, float, float] = (1 / 3, 2 / 3, 1.0)
    """BUY_SMALL, BUY_MEDIUM, BUY_LARGE, of the largest position."""
    sell_partial_frac: float = bounded(0.5, "(0, 1)")
    """SELL_PARTIAL, of the position."""
    add_frac: float = bounded(1 / 3, "(0, 1]")
    """ADD_POSITION, of the largest position."""
    max_adds: int = bounded(2, ">= 0")
    """Additions to one position, at most."""
    add_min_profit_frac: float = bounded(0.0, ">= 0")
    """Unrealised profit, of the entry price, below which ADD_POSITION is masked."""
    max_repeats: int = bounded(3, ">= 1")
    """Identical codes in a row, other than HOLD, that are executed."""
    neutral_gross_frac: float = bounded(0.0, "[0, 1]")
    """Above 0: agents of all symbols are market-neutral together. Of what they want at a bar the
    mean is taken away, and their mean size is at most this share of the largest position."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rising = len(self.entry_fracs) == 3 and all(
            low < high for low, high in pairwise((0.0, *self.entry_fracs))
        )
        rule = "entry_fracs must be three rising fractions of at most 1"
        require(rising and self.entry_fracs[-1] <= 1.0, rule, self)

    @property
    def smoothing(self) -> float:
        """Weight α of the newest action."""
        return 2.0 / (self.smoothing_bars + 1.0)


@dataclass(frozen=True)
class EpisodeRules(CheckedFields):
    """How long an episode lasts and what must lie before its first decision."""

    episode_bars: int = bounded(512, ">= 1")
    """Steps after which an episode is truncated."""
    window_bars: int = bounded(24, ">= 1")
    """Bars in the window of an observation; so many must lie at or before the first decision."""
    fill_at: FillAt = "next_open"
    """Price of fills: the next open, or the close that was decided on (not attainable)."""


@dataclass(frozen=True)
class SimulatorParams:
    """Everything that is constant in a compiled simulator."""

    account: AccountRules = field(default_factory=AccountRules)
    limits: RiskLimits = field(default_factory=RiskLimits)
    action: ActionRules = field(default_factory=ActionRules)
    episode: EpisodeRules = field(default_factory=EpisodeRules)

    def __post_init__(self) -> None:
        account, limits = self.account, self.limits
        smallest, cash = limits.min_trade_ccy, account.initial_cash_ccy
        never_shorts_by_code = self.action.space != "discrete" or not limits.allow_short
        rule = "allow_short must be false for discrete actions, which cannot open a short"
        require(never_shorts_by_code, rule, limits)
        is_signed = self.action.space == "target" and limits.allow_short
        rule = "neutral_gross_frac must be 0 unless space is target and allow_short is true"
        require(is_signed or self.action.neutral_gross_frac == 0.0, rule, self.action)
        rule = "min_trade_ccy must not exceed the largest position"
        require(smallest <= limits.max_position_frac * cash, rule, limits)
        rule = "maintenance_frac must not exceed margin_frac"
        require(account.maintenance_frac <= limits.margin_frac, rule, account)
        rule = "max_order_frac must allow the smallest trade"
        require(smallest <= limits.max_order_frac * cash, rule, limits)


def endless(rules: SimulatorParams) -> SimulatorParams:
    """Return the rules of single accounts for a period of any length: what programs depend on."""
    return replace(
        rules,
        episode=replace(rules.episode, episode_bars=NEVER_BARS),
        action=replace(rules.action, neutral_gross_frac=0.0),
    )
