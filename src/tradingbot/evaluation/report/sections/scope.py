"""What every figure is read with: its part, period and costs; and why an analysis is missing."""

from __future__ import annotations

import re

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.performance.record import HOLD, PartPerformance, PolicyPerformance
from tradingbot.evaluation.report.blocks import Section


def period(part: PartPerformance) -> str:
    """Say which bars a figure is of."""
    return f"{part.part} part, {part.first_day} to {part.last_day}"


def scope(dossier: Dossier) -> str:
    """Say what the figures of the test part are of."""
    header = dossier.header
    data = "synthetic data, " if header.synthetic else ""
    return f"{data}{period(dossier.test)}, after costs ({header.costs}), seed {header.seed}"


def reference_of(part: PartPerformance) -> PolicyPerformance | None:
    """Return what the agents are compared with: equal weight, else the reference index."""
    return part.policy(HOLD) or part.policy(part.reference)


def left_out(dossier: Dossier, anchor: str, title: str) -> Section:
    """Return a section that says why its analysis was not made."""
    reason = next(
        (why for analysis, why in dossier.left_out if plain_name(analysis) == plain_name(anchor)),
        "the evaluation was not asked for it",
    )
    return Section(anchor, title, f"Left out: {reason}.".replace("..", "."), is_left_out=True)


def plain_name(analysis: str) -> str:
    """Return the name of an analysis without spelling: `walk_forward` equals `Walk-forward`."""
    return re.sub(r"[^a-z0-9]+", "-", analysis.lower()).strip("-")
