"""What every figure is read with: its part, period and costs; and why an analysis is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.performance.record import HOLD, PartPerformance, PolicyPerformance
from tradingbot.evaluation.report.blocks import Block, Section

Answer = tuple[str, Sequence[Block] | None]
"""The finding in a sentence, and the evidence: None where there is nothing to show."""
_BuildAnswer = Callable[[Dossier, Any], Answer]


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


def section_of(anchor: str, title: str) -> Callable[[_BuildAnswer], Callable[[Dossier], Section]]:
    """Make a section of what a function answers from the dossier and its analysis.

    Args:
        anchor: Of the section, and with a low line for each hyphen the dossier's name of the
            analysis; where that was not made, the section says why.
        title: Of the section.
    """

    def decorate(build: _BuildAnswer) -> Callable[[Dossier], Section]:
        @wraps(build)
        def build_section(dossier: Dossier) -> Section:
            found = getattr(dossier, anchor.replace("-", "_"))
            if found is None:
                return Section(anchor, title, _why_left_out(dossier, anchor), is_left_out=True)
            finding, blocks = build(dossier, found)
            return Section(anchor, title, finding, blocks or (), is_left_out=blocks is None)

        return build_section

    return decorate


def _why_left_out(dossier: Dossier, anchor: str) -> str:
    reasons = {plain_name(analysis): why for analysis, why in reversed(dossier.left_out)}
    reason = reasons.get(anchor, "the evaluation was not asked for it")
    return f"Left out: {reason}.".replace("..", ".")


def plain_name(analysis: str) -> str:
    """Return the name of an analysis without spelling: `walk_forward` equals `Walk-forward`."""
    return re.sub(r"[^a-z0-9]+", "-", analysis.lower()).strip("-")
