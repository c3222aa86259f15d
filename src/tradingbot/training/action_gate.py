"""Gate A, "actions are diverse": deterministic actions are spread out, traded on, not in one bin.

It asks agents that trade. Where all were told to stay out there is nothing to ask; nor of a
portfolio, whose one number here is the share that is invested: full, and the same in every bar, is
how an allocation is held. Its weights are judged by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.metrics.trading import action_entropy

if TYPE_CHECKING:
    from tradingbot.learning.task import ActionSpec  # brings torch: seconds

FloatArray = NDArray[np.float64]
_MIN_ENTROPY, _MIN_TRADES, _MAX_BIN = 0.6, 20.0, 0.6
GATE_NAME = "gate A (actions are diverse)"
_STAYS_OUT = "agents stay out"
DIVIDES = "a portfolio's weights are judged instead: see ONE_SLEEVE and the gates of the master"
_END_SHARE = 0.01
"""How near, of the range, an action must come to an end of it."""


@dataclass(frozen=True)
class ActionGate:
    """Figures of all agents' deterministic actions together, and whether each limit is kept."""

    entropy: float
    """Of the histogram over bins, in [0, 1]; must be above 0.6."""
    trades_per_1000: float
    """Steps with a trade; must be above 20."""
    largest_bin_share: float
    """Must be at most 0.6."""
    lowest: float
    highest: float
    """The whole range must be used."""
    histogram: tuple[float, ...]
    """Share of each bin: codes, or seven equal bins over the range."""
    failures: tuple[str, ...]
    """Limits that are not kept, in words."""

    not_applicable: str | None = None
    """Why nothing was asked; there are no failures then. None where the gate was applied."""

    @property
    def is_passed(self) -> bool:
        """Whether the gate was applied and every limit is kept."""
        return self.not_applicable is None and not self.failures

    @property
    def outcome(self) -> str:
        """`passed`, `not passed: …` or `not applicable, …`."""
        if self.not_applicable is not None:
            return f"not applicable, {self.not_applicable}"
        return f"not passed: {'; '.join(self.failures)}" if self.failures else "passed"

    @property
    def words(self) -> str:
        """The gate's name and outcome."""
        name = "gate A" if self.not_applicable is not None else GATE_NAME
        return f"{name}: {self.outcome}"


def not_applied(gate: ActionGate, why: str = _STAYS_OUT) -> ActionGate:
    """Return the figures of agents that are not asked: no failures, and why."""
    return replace(gate, failures=(), not_applicable=why)


def judge_actions(
    actions: FloatArray, histograms: FloatArray, trades_per_1000: float, action: ActionSpec
) -> ActionGate:
    """Judge deterministic actions.

    Args:
        actions: (S, N) as the policy asked for them.
        histograms: (N, bins) share of each bin of each agent.
        trades_per_1000: Steps with a fill per thousand, of the mean agent.
        action: What actions are.
    """
    histogram = histograms.mean(axis=0)
    entropy, largest = action_entropy(histogram), float(histogram.max())
    lowest, highest = float(actions.min()), float(actions.max())
    room = _END_SHARE * (action.high - action.low)
    reaches = lowest <= action.low + room and highest >= action.high - room
    uses_range = action.kind == "discrete" or reaches
    trades = f"{trades_per_1000:.0f} of 1,000 steps with a fill must be above 20"
    limits = (
        (entropy > _MIN_ENTROPY, f"entropy {entropy:.2f} must be above {_MIN_ENTROPY}"),
        (trades_per_1000 > _MIN_TRADES, trades),
        (largest <= _MAX_BIN, f"largest bin {largest:.0%} must be at most {_MAX_BIN:.0%}"),
        (uses_range, f"range {lowest:.2f} … {highest:.2f} must be the whole one"),
    )
    failures = tuple(words for holds, words in limits if not holds)
    bins = tuple(histogram.tolist())
    return ActionGate(entropy, trades_per_1000, largest, lowest, highest, bins, failures)
