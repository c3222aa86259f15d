"""Agents as a wall of cells: one glance over 143 of them, by profit, entropy or health."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.performance.record import AgentPerformance
from tradingbot.evaluation.report.numbers import bps, percent, plain
from tradingbot.monitoring.dashboard import markup
from tradingbot.monitoring.dashboard.palette import Palette
from tradingbot.monitoring.dashboard.sources.run_view import RecorderWords

Measure = Literal["P&L", "entropy", "collapse"]
MEASURES: tuple[Measure, ...] = ("P&L", "entropy", "collapse")
COLLAPSED_FRAC = 0.95
"""Share of actions in one bin beyond which an agent has collapsed, as in the dossier."""
LOW_ENTROPY = 0.1
"""Normalised entropy below which an agent counts as collapsing."""


@dataclass(frozen=True)
class AgentCell:
    """One agent."""

    agent: str
    text: str
    """Its number or verdict."""
    shade: float
    """In [−1, 1]: how strong the colour is, and which of two."""
    title: str = ""
    """What the number is of."""


def profit_cells(
    agents: Sequence[str], gains: Sequence[float], period: str, *, in_bps: bool = False
) -> list[AgentCell]:
    """Return cells by profit, a fraction of what each account began with.

    Args:
        agents: Names.
        gains: Of each.
        period: What the numbers are of.
        in_bps: They are fractions of what all have together, and small: written in basis points.
    """
    largest = max((abs(each) for each in gains if math.isfinite(each)), default=0.0) or 1.0
    return [
        AgentCell(
            agent,
            bps(gain * 1e4, 1) if in_bps else percent(gain, 1, signed=True),
            gain / largest if math.isfinite(gain) else 0.0,
            period,
        )
        for agent, gain in zip(agents, gains, strict=True)
    ]


def entropy_cells(agents: Sequence[str], entropies: Sequence[float], of: str) -> list[AgentCell]:
    """Return cells by normalised entropy, 0 … 1; what is low is marked."""
    return [
        AgentCell(agent, plain(each), _entropy_shade(each), of)
        for agent, each in zip(agents, entropies, strict=True)
    ]


def collapse_cells(
    agents: Sequence[str],
    played: dict[str, AgentPerformance],
    said: Sequence[RecorderWords],
) -> list[AgentCell]:
    """Return cells by verdict: collapsed, warned, stays out, healthy.

    Args:
        agents: Names.
        played: Of the run's test part; an agent that is not there was not judged.
        said: By the flight recorder; what is critical there counts.
    """
    critical = {each.agent: each.code for each in said if each.severity == "critical"}
    warned = {each.agent: each.code for each in said if each.severity == "warning"}
    cells = []
    for agent in agents:
        row = played.get(agent)
        if row is not None and row.trades and row.largest_bin_frac > COLLAPSED_FRAC:
            cell = ("collapsed", -1.0, f"{percent(row.largest_bin_frac, 0)} of actions in one bin")
        elif agent in critical:
            cell = (critical[agent].lower(), -0.8, "critical, by the flight recorder")
        elif agent in warned:
            cell = (warned[agent].lower(), -0.35, "warning, by the flight recorder")
        elif row is not None and not row.trades:
            cell = ("stays out", 0.0, "validation found nothing that pays")
        else:
            cell = ("healthy" if row is not None else "not judged", 0.5 * (row is not None), "")
        cells.append(AgentCell(agent, *cell))
    return cells


def write_cells(cells: Sequence[AgentCell], palette: Palette, label: str) -> str:
    """Return the wall as HTML: a list, as wide as the screen lets it be."""
    items = "".join(
        f'<li style="background:{_colour(each.shade, palette)}" '
        f'title="{markup.attribute(each.title)}">'
        f"<b>{markup.text(each.agent, longest=12)}</b><span>{markup.text(each.text)}</span></li>"
        for each in cells
    )
    return f'<ul class="tb-cells" aria-label="{markup.attribute(label)}">{items}</ul>'


def _colour(shade: float, palette: Palette) -> str:
    strength = min(abs(shade), 1.0) * 0.75
    return palette.tint(palette.pos if shade >= 0 else palette.neg, round(strength, 3))


def _entropy_shade(entropy: float) -> float:
    if not math.isfinite(entropy):
        return 0.0
    return -1.0 if entropy < LOW_ENTROPY else min(entropy, 1.0)
