"""Policies beside each other at the same size: none wins, or hides a lead, by holding more.

Alpha and its noise grow with what is held. A market-neutral policy that holds a sixth of each
account leads a rule that holds all of it by less than the rule's own noise, whatever it knows.
"""

from __future__ import annotations

from tradingbot.evaluation.performance.record import PolicyPerformance


def share_at_exposure_of(agents: PolicyPerformance, other: PolicyPerformance) -> float:
    """Return the share of another policy that holds as much as the agents do, at most 1.

    One that holds less than the agents stands as it is: scaled up, the luck of the few positions
    that it had would be made larger than it was.

    Args:
        agents: Whose mean |position| ÷ equity is the measure.
        other: Beside them, over the same bars.
    """
    if not 0.0 < agents.exposure_frac < other.exposure_frac:
        return 1.0
    return agents.exposure_frac / other.exposure_frac
