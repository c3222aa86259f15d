"""Adaptive difficulty: how hard a market is, and a controller that moves both ways.

Everything here is a pure function of outcomes. Which episodes count as a success is in `stages`;
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


@dataclass(frozen=True)
class DifficultyRules(CheckedFields):
    """Between which ends, and how fast, difficulty moves."""

    easiest: Knobs = field(default_factory=lambda: Knobs(0.0, 0.5, 1.0, 0.0))
    """Knobs at level 0."""
    hardest: Knobs = field(default_factory=lambda: Knobs(30e-4, 2.0, 0.3, 0.5))
    """Knobs at level 1; in between, each knob is interpolated linearly."""
    raise_at_frac: float = bounded(0.7, "[0, 1]")
    """Share of successes from which the level rises …"""
    lower_at_frac: float = bounded(0.4, "[0, 1]")
    """… and up to which it falls; between the two it rests, which keeps it from swinging."""
    episodes_per_decision: int = bounded(10, ">= 1")
    """Outcomes that one decision is made on; each is used once."""
    largest_step: float = bounded(0.1, "(0, 1]")
    """Most that one decision moves the level."""
    smallest_step: float = bounded(0.0125, "(0, 1]")
    """Least; a step is halved when the level turns round and doubled when it goes on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "raise_at_frac must be above lower_at_frac, both in [0, 1]"
        require(0.0 <= self.lower_at_frac < self.raise_at_frac <= 1.0, rule, self)
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
    outcomes: tuple[bool, ...] = ()
    """Since the last decision."""
    title = "difficulty"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.last_move in (-1, 0, 1), "last_move must be -1, 0 or 1", self)


def adapt(
    state: DifficultyState, *, success: bool, rules: DifficultyRules | None = None
) -> DifficultyState:
    """Take one more outcome into account; every `episodes_per_decision` of them the level may move.

    The level stays in [0, 1] and one decision moves it by `largest_step` at most. A level that
    turns back and forth does so by ever smaller steps, down to `smallest_step`.
    """
    rules = rules or DifficultyRules()
    outcomes = (*state.outcomes, bool(success))
    if len(outcomes) < rules.episodes_per_decision:
        return replace(state, outcomes=outcomes)
    share = sum(outcomes) / len(outcomes)
    move = int(share >= rules.raise_at_frac) - int(share <= rules.lower_at_frac)
    if move == 0:
        return replace(state, outcomes=())
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
