"""The curriculum: five stages from easy to realistic as data, and the rule that passes a stage.

Everything here is a pure function of plain values. The environment that walks the stages is in
`envs.curriculum`; difficulty that moves both ways within a stage is in `difficulty`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import ConfigError
from tradingbot.market.curriculum.difficulty import Knobs
from tradingbot.market.curriculum.stored_state import StoredState

if TYPE_CHECKING:
    from tradingbot.market.costs import CostProfile  # imports torch

BARS_PER_YEAR = 252 * 7
"""Hourly bars of the exchange's sessions, by which Sharpe ratios are made annual."""
COMMISSION_FRAC = 0.2e-4
"""Part of every stage's cost; the rest is slippage."""
_ROUNDING = 1.0e-9  # a share of successes that is met but for rounding is met


@dataclass(frozen=True)
class CurriculumStage:
    """One stage: a synthetic market with a hidden trend, what trading costs, and what passes."""

    name: str
    trend_strength: float
    """Standard deviation of the drift of a bar, in units of `vol_frac`; the drift is hidden and
    persists by `trend_persistence` from bar to bar."""
    vol_frac: float
    """Standard deviation of the noise in one bar's return."""
    cost_bps: float
    """What a fill costs one way, commission and slippage, in basis points of its value."""
    min_sharpe: float
    """Annual Sharpe ratio of an episode, net of costs, that counts as success."""
    min_trades: int
    """Closed trades that an episode needs."""
    min_win_rate_frac: float = 0.45
    """Share of closed trades that must have gained."""
    trend_persistence: float = 0.98
    """What is left of the drift at the next bar."""
    slippage_bps: float | None = None
    """Part of the cost that is slippage; None: all but the commission of 0.2."""
    noise_frac: float = 0.0
    """Passing error in each price, of the bar's volatility; see `difficulty.Knobs`."""
    regime_stability: float = 1.0
    """Probability that a regime lasts to the next bar; see `difficulty.Knobs`."""

    def __post_init__(self) -> None:
        require(0.0 <= self.trend_strength <= 1.0, "trend_strength must lie in [0, 1]", self)
        require(0.0 < self.vol_frac <= 0.05, "vol_frac must lie in (0, 0.05]", self)
        rule = "cost_bps must lie in [0.2, 10000): the commission alone is 0.2"
        require(COMMISSION_FRAC * 1e4 <= self.cost_bps < 1e4, rule, self)
        require(math.isfinite(self.min_sharpe), "min_sharpe must be finite", self)
        require(self.min_trades >= 0, "min_trades must be 0 or more", self)
        slips = self.slippage_bps is None or 0.0 <= self.slippage_bps <= self.cost_bps
        require(slips, "slippage_bps must lie in [0, cost_bps]", self)
        require(0.0 <= self.noise_frac <= 10.0, "noise_frac must lie in [0, 10]", self)
        stable = 0.5 <= self.regime_stability <= 1.0
        require(stable, "regime_stability must lie in [0.5, 1]", self)
        require(0.0 <= self.min_win_rate_frac <= 1.0, "min_win_rate_frac must lie in [0, 1]", self)

    @property
    def costs(self) -> CostProfile:
        """Rates that make a fill cost `cost_bps`."""
        from tradingbot.market.costs import CostProfile

        slippage_frac = self.cost_bps * 1e-4 - COMMISSION_FRAC
        if self.slippage_bps is not None:
            slippage_frac = self.slippage_bps * 1e-4
        return CostProfile(self.cost_bps * 1e-4 - slippage_frac, slippage_frac)

    @property
    def knobs(self) -> Knobs:
        """What is done to the stage's bars, besides what difficulty does."""
        return Knobs(noise_frac=self.noise_frac, regime_stability=self.regime_stability)

    @property
    def market_params(self) -> dict[str, Any]:
        """Parameters of the synthetic market `hidden_trend`."""
        persistence = self.trend_persistence
        return {"kappa": self.trend_strength, "phi": persistence, "vol_frac": self.vol_frac}


STAGES: tuple[CurriculumStage, ...] = (
    CurriculumStage("strong trends", 0.60, 0.003, 1.0, 0.3, 4, min_win_rate_frac=0.5),
    CurriculumStage("clear trends", 0.45, 0.0045, 5.0, 0.5, 4, regime_stability=0.999),
    CurriculumStage(
        "fair trends", 0.35, 0.006, 10.0, 0.6, 3, noise_frac=0.02, regime_stability=0.999
    ),
    CurriculumStage(
        "faint trends", 0.25, 0.008, 20.0, 0.7, 3, noise_frac=0.05, regime_stability=0.998
    ),
    CurriculumStage(
        "realistic", 0.20, 0.010, 30.0, 0.8, 2, noise_frac=0.10, regime_stability=0.998
    ),
)


@dataclass(frozen=True)
class PassRule(CheckedFields):
    """How many episodes, and how many of the last ones well, pass a stage."""

    min_episodes: int = bounded(100, ">= 1")
    """Episodes of an agent before it may pass a stage."""
    recent_episodes: int = bounded(10, ">= 1")
    """Last episodes that decide."""
    min_success_frac: float = bounded(0.8, "(0, 1]")
    """Of the recent episodes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        enough = self.min_episodes >= self.recent_episodes
        require(enough, "min_episodes must be recent_episodes or more", self)


@dataclass(frozen=True)
class EpisodeResult:
    """What an episode is judged by."""

    sharpe_annual: float
    """Of the returns per bar, net of costs; 0 where nothing moved."""
    win_rate_frac: float
    """Of closed trades; 0 without one."""
    n_trades: int
    """Closed trades."""
    return_frac: float = 0.0
    """Of the whole episode, net of costs."""


@dataclass(frozen=True)
class CurriculumState(StoredState, CheckedFields):
    """Where a learner stands."""

    stage: int = bounded(0, ">= 0")
    """Index of the stage that is being learned."""
    episodes: int = bounded(0, ">= 0")
    """Finished in this stage."""
    recent: tuple[bool, ...] = ()
    """Success of the last episodes in this stage, the newest last."""
    completed: bool = False
    """The last stage has been passed (and goes on)."""
    title = "curriculum state"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.recent, tuple), "recent must be a tuple", self)
        rule = "recent must not hold more than the finished episodes"
        require(len(self.recent) <= self.episodes, rule, self)


def is_success(stage: CurriculumStage, result: EpisodeResult) -> bool:
    """Say whether an episode meets a stage's limits; reaching a limit is enough, NaN is not."""
    return (
        result.sharpe_annual >= stage.min_sharpe
        and result.win_rate_frac >= stage.min_win_rate_frac
        and result.n_trades >= stage.min_trades
    )


def advance_stage(
    state: CurriculumState,
    result: EpisodeResult,
    stages: tuple[CurriculumStage, ...] = STAGES,
    rule: PassRule | None = None,
) -> CurriculumState:
    """Take one finished episode into account: at most one stage up, never down.

    A new stage begins with nothing to its credit. After the last one is passed it goes on, with
    `completed` set for good.

    Raises:
        ConfigError: If the state is of a curriculum with more stages.
    """
    rule = rule or PassRule()
    if not 0 <= state.stage < len(stages):
        raise ConfigError("stage must be one of the curriculum's", was=state.stage)
    recent = (*state.recent, is_success(stages[state.stage], result))[-rule.recent_episodes :]
    after = replace(state, episodes=state.episodes + 1, recent=recent)
    enough = sum(recent) >= rule.min_success_frac * rule.recent_episodes - _ROUNDING
    if not enough or after.episodes < rule.min_episodes:
        return after
    if state.stage == len(stages) - 1:
        return replace(after, completed=True)
    return CurriculumState(stage=state.stage + 1)
