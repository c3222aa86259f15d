"""How much can change before nothing is left? Costs, delays, limits, capital."""

from __future__ import annotations

import math
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Sensitivity, SensitivityRow
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.chart import THIRD_PX, Chart, Charts, full_chart
from tradingbot.evaluation.report.numbers import money, percent, plain
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.lines import band_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, Table, column, record_table, text_column

_AXES = {
    "cost": Axis("one-way cost, bp"),
    "slippage": Axis("slippage, bp"),
    "position limit": Axis("position limit, fraction of equity"),
    "delay": Axis("delay, bars"),
    "capital": Axis("capital, account currency", unit="money", is_logarithmic=True),
}


def _setting(row: SensitivityRow) -> Cell:
    written = money(row.setting) if row.axis == "capital" else f"{row.setting:g}"
    return Cell(written, float(row.setting))


_COLUMNS = (
    text_column("Condition", "axis"),
    column("Setting", _setting, "bp, fraction, bars or account currency"),
    column("Net bp/bar", "net_bps_per_bar", "after costs, with 95 % interval", signed=True),
    column("Alpha bp/bar", "alpha_bps_per_bar", "of it, without the market", signed=True),
    column("Sharpe", "sharpe_annual", "annual"),
    column("Drawdown", "max_drawdown_frac", "largest fall from a peak", percent),
)


@section_of("sensitivity", "Costs and sensitivity")
def costs_section(dossier: Dossier, found: Sensitivity) -> Answer:
    """Show the surface of costs by delay, and one axis at a time."""
    if no_agent_trades(dossier):
        finding = (
            "No agent trades, so no cost, delay, limit or capital can change the result, and no "
            "cost is the one at which nothing is left."
        )
        return finding, (_table(found),)
    axes = Charts(_axis_charts(found), "third")
    return _finding(found), (_surface_chart(dossier, found), axes, _table(found))


def _finding(found: Sensitivity) -> str:
    first = found.break_even_cost_bps[0] if found.break_even_cost_bps else math.nan
    if first is None:
        words = f"No {found.judged} is left even without costs."
    elif math.isinf(first):
        words = (
            f"Even the highest cost tried, {plain(max(found.cost_bps), 0)} bp one way, leaves "
            f"some {found.judged}."
        )
    else:
        words = (
            f"No {found.judged} is left at a one-way cost of {plain(first, 2)} bp; the run assumes "
            f"{plain(found.assumed_cost_bps, 1)} bp."
        )
    if found.capacity_ccy is None:
        return (
            f"{words} No capital that was tried halves the net return, or there is none to halve."
        )
    return (
        f"{words} At a capital of {money(found.capacity_ccy)}, impact takes half of the net return."
    )


def _surface_chart(dossier: Dossier, found: Sensitivity) -> Charts:
    surface = HeatMap(
        found.surface_bps,
        [f"{bars} late" if bars else "at once" for bars in found.delay_bars],
        [f"{cost:g}" for cost in found.cost_bps],
        row_words="execution, bars",
        column_words="one-way cost, bp",
    )
    contour = [_crossing(cost, found.cost_bps) for cost in found.break_even_cost_bps]
    own = found.assumed_cost_bps
    pointer = (_crossing(own, found.cost_bps), f"▾ {plain(own, 1)} bp assumed")
    draw = partial(heat_map, surface, contour=contour, pointer=pointer)
    caption = (
        "Blue earns, orange loses; the line is where nothing is left. "
        f"{scope(dossier).capitalize()}."
    )
    title = f"{found.judged.capitalize()} by cost and delay, bp per bar"
    return full_chart(title, draw, caption)


def _crossing(cost: float | None, costs: tuple[float, ...]) -> float:
    """Return where a cost lies between the middles of the columns; beyond them at the edge."""
    if cost is None:
        return -0.5
    if math.isnan(cost):
        return math.nan
    for index in range(len(costs) - 1):
        if costs[index] <= cost <= costs[index + 1]:
            return index + (cost - costs[index]) / (costs[index + 1] - costs[index])
    return len(costs) - 0.5


def _axis_charts(found: Sensitivity) -> list[Chart]:
    charts = []
    for name, axis in _AXES.items():
        rows = [row for row in found.rows if row.axis == name]
        if rows:
            drawing = band_chart(
                [row.setting for row in rows],
                [row.net_bps_per_bar for row in rows],
                (axis, Axis("bp per bar", holds=(0.0,))),
                width=THIRD_PX,
                height=190,
                marked=found.assumed_cost_bps if name == "cost" else None,
            )
            charts.append(Chart(f"Net return by {name}", drawing))
    return charts


def _table(found: Sensitivity) -> Table:
    caption = "One condition changed at a time; bands in the charts are 95 % intervals."
    return record_table(_COLUMNS, found.rows, caption, folded="conditions")
