"""Adaptive difficulty: how hard a market is, and a controller that moves both ways.

Everything here is a pure function of what episodes returned. What passes a stage is in `stages`;
what the knobs do to bars is in `envs.curriculum.harder_market`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.market.curriculum.stored_state import StoredState


@dataclass(frozen=True)
class Knobs(CheckedFields):
    """What makes a market harder. The defaults change nothing."""

    spread_frac: float = bounded(0.0, "[0, 1)")
    """Added to the quoted spread; a fill pays half of it."""
    volatility_factor: float = bounded(1.0, "(0, 10]")
    """Multiplies every move, and the range of every bar."""
    trend_clarity: float = bounded(1.0, "[0, 1]")
    """c in [0, 1]: moves are mixed with noise of their own size, c · move + √(1 − c²) · noise. The
    variance stays, autocorrelations and the edge of any forecast fall (by c² and c)."""
    noise_frac: float = bounded(0.0, "[0, 10]")
    """Size of a passing error in each price, of the bar's volatility: gone at the next bar."""
    regime_stability: float = bounded(1.0, "[0.5, 1]")
    """s: probability that a regime lasts from one bar to the next. Where it ends, rising and
    falling change places until the next end; the variance stays, autocorrelations at lag k fall by
    (2 s − 1)ᵏ."""


@dataclass(frozen=True)
class DifficultyRules(CheckedFields):
    """Between which ends, and how fast, difficulty moves."""

    easiest: Knobs = field(default_factory=lambda: Knobs(0.0, 0.5, 1.0, 0.0, 1.0))
    """Knobs at level 0."""
    hardest: Knobs = field(default_factory=lambda: Knobs(30e-4, 2.0, 0.3, 0.5, 0.98))
    """Knobs at level 1; in between, each knob is interpolated linearly."""
    raise_return_frac: float = bounded(0.02, "(-1, inf)")
    """Mean return of an episode from which the level rises …"""
    raise_win_rate_frac: float = bounded(0.6, "[0, 1]")
    """… if the mean win rate is at least this, too."""
    lower_return_frac: float = bounded(-0.01, "(-1, inf)")
    """Mean return up to which the level falls …"""
    lower_win_rate_frac: float = bounded(0.35, "[-1, 1]")
    """… or mean win rate, never if below 0; between the two it rests, which keeps it from
    swinging."""
    episodes_per_decision: int = bounded(20, ">= 1")
    """Episodes that one decision is made on; each is used once."""
    largest_step: float = bounded(0.1, "(0, 1]")
    """Most that one decision moves the level."""
    smallest_step: float = bounded(0.0125, "(0, 1]")
    """Least; a step is halved when the level turns round and doubled when it goes on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for what in ("return_frac", "win_rate_frac"):
            in_order = getattr(self, f"lower_{what}") < getattr(self, f"raise_{what}")
            require(in_order, f"raise_{what} must be above lower_{what}", self)
        rule = "smallest_step must be above 0 and at most largest_step, which is at most 1"
        require(0.0 < self.smallest_step <= self.largest_step <= 1.0, rule, self)


@dataclass(frozen=True)
class DifficultyState(StoredState, CheckedFields):
    """Where the controller is."""

    level: float = bounded(0.0, "[0, 1]")
    """0 easiest, 1 hardest."""
    step: float = bounded(0.1, "(0, 1]")
    """Size of the next move if it goes the way of the last."""
    last_move: int = 0
    """1 the level rose last, −1 it fell, 0 it has not moved."""
    episodes: int = bounded(0, ">= 0")
    """Since the last decision."""
    return_sum: float = 0.0
    """Of their returns, as fractions."""
    win_rate_sum: float = 0.0
    """Of their win rates, as fractions."""
    title = "difficulty"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.last_move in (-1, 0, 1), "last_move must be -1, 0 or 1", self)


def adapt(
    state: DifficultyState,
    *,
    return_frac: float,
    win_rate_frac: float,
    rules: DifficultyRules | None = None,
) -> DifficultyState:
    """Take one more episode into account; every `episodes_per_decision` of them the level may move.

    The level stays in [0, 1] and one decision moves it by `largest_step` at most. A level that
    turns back and forth does so by ever smaller steps, down to `smallest_step`.
    """
    rules = rules or DifficultyRules()
    episodes = state.episodes + 1
    earned, won = state.return_sum + return_frac, state.win_rate_sum + win_rate_frac
    if episodes < rules.episodes_per_decision:
        return replace(state, episodes=episodes, return_sum=earned, win_rate_sum=won)
    mean, rate = earned / episodes, won / episodes
    rises = mean >= rules.raise_return_frac and rate >= rules.raise_win_rate_frac
    falls = mean <= rules.lower_return_frac or rate <= rules.lower_win_rate_frac
    move = int(rises) - int(falls)
    if move == 0:
        return DifficultyState(state.level, state.step, state.last_move)
    step = state.step
    if state.last_move:
        step *= 2.0 if move == state.last_move else 0.5
    step = min(max(step, rules.smallest_step), rules.largest_step)
    level = min(max(state.level + move * step, 0.0), 1.0)
    return DifficultyState(level, step, move)


def knobs_at(level: float, rules: DifficultyRules | None = None) -> Knobs:
    """Return the knobs of a level in [0, 1]."""
    rules = rules or DifficultyRules()
    easy, hard = asdict(rules.easiest), asdict(rules.hardest)
    return Knobs(**{name: (1.0 - level) * easy[name] + level * hard[name] for name in easy})
