"""Average-reward dynamic programming for a position that earns a linear return and pays to change.

The position p in [lowest, 1] earns p · r and pays cost · |Δp|. Both are sums over *layers*: for
each level u the layer is on while p > u. Layers do not interact, so each is the problem "be on or
off", all have the same answer, and the best position is always at one of the two ends. For one
layer only the advantage Δ(s) of being on over being off after the decision matters:

    Δ(s) = E[r | s] + E[clip(Δ(s'), -cost, cost) | s]

Switch on where Δ ≥ cost, off where Δ ≤ -cost, hold in between. The gain of a layer is the
stationary mean of max(0, Δ - cost): what a policy that begins each bar *off* would win by entering.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.oracle.action_rule import ActionRule

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SignalModel:
    """Next bar's expected simple return is `strength_frac` · x, x an AR(1) of unit variance."""

    strength_frac: float
    """Expected simple return of the next bar per unit of signal, ≥ 0."""
    phi: float
    """Persistence of the signal per bar, in [0, 1)."""
    noise_frac: float
    """Standard deviation of the return around its expectation."""

    @property
    def innovation(self) -> float:
        """Standard deviation of the signal's step around φ · x."""
        return math.sqrt(1.0 - self.phi**2)


class SwitchThresholds(NamedTuple):
    """Hold the largest position from x ≥ enter until x ≤ exit, then the smallest."""

    enter: float
    exit: float

    @classmethod
    def never(cls) -> SwitchThresholds:
        """The policy that stays flat."""
        return cls(math.inf, -math.inf)

    @property
    def is_flat(self) -> bool:
        """True where the policy never takes a position."""
        return math.isinf(self.enter)

    def positions(self, signal: FloatArray, *, lowest: float) -> FloatArray:
        """Follow the rule through time.

        Args:
            signal: (T, N) signal known at close t.
            lowest: Position after an exit: 0 or -1.

        Returns:
            (T, N) target position decided at close t; 0 before the first threshold is met.
        """
        return follow_thresholds(signal, self.enter, self.exit, lowest=lowest)


def follow_thresholds(
    signal: FloatArray, enter: FloatArray | float, leave: FloatArray | float, *, lowest: float
) -> FloatArray:
    """Follow thresholds through time; see `SwitchThresholds`, (T, N) each where they vary."""
    bar = np.arange(len(signal))[:, None]
    last_enter = np.maximum.accumulate(np.where(signal >= enter, bar, -1), axis=0)
    last_exit = np.maximum.accumulate(np.where(signal <= leave, bar, -1), axis=0)
    held = np.where(last_enter >= last_exit, 1.0, lowest)
    return np.where((last_enter < 0) & (last_exit < 0), 0.0, held)


_REACH = 7.0  # standard deviations of the signal that the grid spans on either side
_REMOTEST = 5.0  # an entry further out happens once in 3 million bars: the same as never
_TOLERANCE = 1e-15  # in units of return: a hundred-billionth of a basis point
_MAX_SWEEPS = 200_000
NODES = 601
"""Points of the signal grid; 1,201 move the value by less than 0.001 bp (tested)."""


class SwitchingProblem(NamedTuple):
    """States of a Markov chain, with the return that the next bar is expected to bring in each."""

    transition: FloatArray  # (S, S), rows sum to one
    stationary: FloatArray  # (S,), sums to one
    expected_return: FloatArray  # (S,) or (S, N), simple return of the next bar


def solve_advantage(problem: SwitchingProblem, *, cost_frac: float) -> FloatArray:
    """Find the advantage of being on over being off, by value iteration.

    Returns:
        (S,) or (S, N), shaped as `expected_return`, in units of simple return.

    Raises:
        DataError: If the iteration does not settle, which a chain that mixes does not do.
    """
    advantage = problem.expected_return
    for _ in range(_MAX_SWEEPS):
        carried = problem.transition @ np.clip(advantage, -cost_frac, cost_frac)
        update = problem.expected_return + carried
        change = float(np.max(np.abs(update - advantage), initial=0.0))
        advantage = update
        if change <= _TOLERANCE:
            return advantage
    raise DataError("value iteration must settle", was=f"change {change:.1e}")


def gain_per_bar(
    problem: SwitchingProblem, advantage: FloatArray, *, cost_frac: float, action_rule: ActionRule
) -> FloatArray:
    """Turn advantages into the best attainable net return per bar.

    Returns:
        () or (N,), simple return per bar on fixed capital, net of costs, never negative.
    """
    layer = problem.stationary @ np.maximum(0.0, advantage - cost_frac)
    mean_return = problem.stationary @ problem.expected_return
    # A position p above `lowest` is width · layer; what is not on stands at `lowest`.
    return np.asarray(action_rule.width * layer + action_rule.lowest * mean_return)


def discretise(model: SignalModel, *, nodes: int = NODES) -> tuple[FloatArray, SwitchingProblem]:
    """Lay an AR(1) signal on an even grid by the trapezium rule with renormalised rows.

    For a smooth density the rule converges faster than any power of the spacing; what remains is
    the kink of the clipped advantage, of second order.

    Returns:
        (S,) signal values and the problem on them.
    """
    grid = np.linspace(-_REACH, _REACH, nodes)
    step = (grid[None, :] - model.phi * grid[:, None]) / model.innovation
    transition = np.exp(-0.5 * step**2)
    transition /= transition.sum(axis=1, keepdims=True)
    stationary = np.exp(-0.5 * grid**2)
    stationary /= stationary.sum()
    return grid, SwitchingProblem(transition, stationary, model.strength_frac * grid)


def solve_signal(
    model: SignalModel,
    *,
    cost_frac: float,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
    nodes: int = NODES,
) -> tuple[SwitchThresholds, float]:
    """Solve a signal model: where to enter and exit, and the net return per bar of doing so.

    Returns:
        Thresholds (infinite where trading never pays) and the gain as simple return per bar.
    """
    if model.strength_frac == 0.0:
        return SwitchThresholds.never(), 0.0
    grid, problem = discretise(model, nodes=nodes)
    advantage = solve_advantage(problem, cost_frac=cost_frac)
    gain = float(gain_per_bar(problem, advantage, cost_frac=cost_frac, action_rule=action_rule))
    enter = float(np.interp(cost_frac, advantage, grid, right=np.inf))
    if enter > _REMOTEST:
        return SwitchThresholds.never(), 0.0
    exit_at = float(np.interp(-cost_frac, advantage, grid))
    return SwitchThresholds(enter, exit_at), gain
