"""What does the policy do, and what does it look at?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tradingbot.evaluation.dossier.analysis import (
    OptionUse,
    PolicyAnalysis,
    SampledActions,
    StateActionMap,
    StatePlane,
)
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block
from tradingbot.evaluation.report.chart import HALF_PX, THIRD_PX, Chart, Charts
from tradingbot.evaluation.report.numbers import count, finite, percent, plain
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart, row_chart
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.scale import Axis

_MAPS = 6
_DEVIATIONS = 15
_FEATURES = 12
_UNITS = "features as agents see them (scaled)"


@section_of("policy", "What the policy does")
def behaviour_section(dossier: Dossier, found: PolicyAnalysis) -> Answer:
    """Show actions, what moves them, values, attention and rewards."""
    if no_agent_trades(dossier):
        return "No agent trades: every decision is to stay in cash, whatever the agents see.", ()
    charts = [_histogram(dossier, found), _rewards(found)]
    charts += [_sampled(dossier, found, found.sampled)] if found.sampled else []
    charts += [_options(dossier, found.options)] if found.options else []
    charts += [_plane(dossier, plane) for plane in found.planes]
    charts += [
        chart
        for chart in (
            _values(dossier, found),
            _attention(dossier, found),
            _attention_map(dossier, found),
            _deviations(found),
        )
        if chart
    ]
    blocks: list[Block] = [Charts(charts[:2])]
    if found.maps:
        blocks.append(Charts([_state_action(one) for one in found.maps[:_MAPS]], "third"))
    if charts[2:]:
        blocks.append(Charts(charts[2:]))
    return _finding(found), blocks


def _finding(found: PolicyAnalysis) -> str:
    words = []
    if found.histogram and found.bins:
        shares = zip(found.histogram, found.bins, strict=False)
        most, name = max(shares, key=lambda pair: pair[0] if pair[0] == pair[0] else -1)
        words.append(f"The most frequent action is {name} ({percent(most, 0)} of decisions).")
    if found.maps:
        words.append(f"Of all inputs, the action follows {found.maps[0].input} most.")
    reasons = {"value landscape": "there is no critic", "attention": "the encoder has none"}
    shown = {
        "value landscape": found.value_landscape,
        "attention": found.attention,
        "sampled actions": found.sampled,
    }
    for part, why in (reasons | dict(found.unavailable)).items():
        if shown[part] is None:
            words.append(f"Without {part}: {why}.")
    if not found.deviations:
        words.append("Agents share no pooled head, hence no deviations from it.")
    return " ".join(words)


def _histogram(dossier: Dossier, found: PolicyAnalysis) -> Chart:
    bars = [
        BarGroup(name, size, f"{name}: {percent(size)}", style="pos")
        for name, size in zip(found.bins, found.histogram, strict=False)
    ]
    meaning = dossier.header.actions
    caption = f"Deterministic actions of all agents{meaning and f' ({meaning})'}; {scope(dossier)}."
    drawing = _shares_chart(bars, "share of decisions", "action")
    return Chart("How often each action is chosen", drawing, caption)


def _sampled(dossier: Dossier, found: PolicyAnalysis, drawn: SampledActions) -> Chart:
    bars = [
        BarGroup(name, size, f"{name}: {percent(size)}", style="pos")
        for name, size in zip(found.bins, drawn.histogram, strict=False)
    ]
    caption = (
        f"Actions drawn at temperature {drawn.temperature:g} in {drawn.episodes} episodes, mean of "
        f"the agents that trade. {percent(drawn.coverage_frac, 0)} of the actions hold 1 % or more "
        f"(deterministic: {percent(drawn.deterministic_coverage_frac, 0)}); net return "
        f"{plain(drawn.net_bps)} bp/bar; {scope(dossier)}."
    )
    drawing = _shares_chart(bars, "share of decisions", "action")
    return Chart("What is within reach of the policy", drawing, caption)


def _shares_chart(bars: list[BarGroup], share: str, words: str) -> Drawing:
    axis = Axis(share, unit="percent")
    return column_chart(bars, axis, width=HALF_PX, height=220, words=words)


def _rewards(found: PolicyAnalysis) -> Chart:
    rows = [(name, size, percent(size, 0)) for name, size in found.reward_shares]
    caption = "Share of each term in the sum of their sizes."
    return Chart("What the reward is made of", row_chart(rows, width=HALF_PX), caption)


def _state_action(one: StateActionMap) -> Chart:
    labels = [f"{edge:.2g}".replace("-", "−") for edge in one.edges]
    bars = [
        BarGroup(
            labels[index] if labels[index] not in labels[:index] else "",  # 0.999 and 1 are both 1
            action,
            f"{one.input} {one.edges[index]:.3g} to {one.edges[index + 1]:.3g}: "
            f"mean action {plain(action)} ({one.count[index]} decisions)",
        )
        for index, action in enumerate(one.mean_action)
    ]
    axis, words = Axis("mean action"), "value, in equal counts"
    drawing = column_chart(bars, axis, width=THIRD_PX, height=170, words=words)
    return Chart(f"Action by {one.input}", drawing)


def _options(dossier: Dossier, use: OptionUse) -> Chart:
    rows = (*use.regimes, "all bars")
    table = HeatMap(
        [[100 * cell for cell in row] for row in (*use.by_regime, use.steps_frac)],
        rows,
        [name.replace("_", " ") for name in use.names],
        row_words="regime; share of bars, %",
        column_words="option",
        digits=0,
    )
    chosen = ", ".join(
        f"{name.replace('_', ' ')} {percent(share, 0)}"
        for name, share in zip(use.names, use.chosen_frac, strict=True)
    )
    caption = (
        f"Share of bars that all agents spend under each option. Of choices: {chosen}; one every "
        f"{use.mean_bars:.1f} bars; {scope(dossier)}."
    )
    drawing = heat_map(table, width=HALF_PX, cell_height=28)
    return Chart("Which option is followed in which regime", drawing, caption)


def _plane(dossier: Dossier, plane: StatePlane) -> Chart:
    first, second = plane.axes
    drawing = _plane_map(plane.axes, plane.edges, plane.cells)
    decisions = sum(map(sum, plane.count))
    caption = (
        f"Mean action of {count(decisions)} decisions: blue above zero, orange below, blank where "
        f"there was none. Rows and columns hold equal counts, {_UNITS}; {scope(dossier)}."
    )
    return Chart(f"Action by {first} and {second}", drawing, caption)


def _values(dossier: Dossier, found: PolicyAnalysis) -> Chart | None:
    if found.value_landscape is None or found.value_axes is None:
        return None
    drawing = _plane_map(found.value_axes, found.value_edges, found.value_landscape)
    caption = (
        "Mean value in the critic's units of the reward: blue above zero, orange below. Rows hold "
        f"equal counts, {_UNITS}; {scope(dossier)}."
    )
    return Chart("What the critic expects", drawing, caption)


def _plane_map(
    axes: tuple[str, str], edges: Sequence[Sequence[float]], cells: Sequence[Sequence[float]]
) -> Drawing:
    """Draw cells (R, C) with the bins of their axes; the highest row at the top, as on a chart."""
    n_columns = len(cells[0]) if cells else 0
    row_edges, column_edges = edges or ((), ())
    rows = _bin_words(row_edges, len(cells), "{} … {}")
    columns = _bin_words(column_edges, n_columns, "≥ {}")  # narrower than their two edges
    largest = max((abs(n) for row in cells for n in finite(list(row))), default=0.0)
    table = HeatMap(
        cells[::-1],
        rows[::-1],
        columns,
        row_words=axes[0],
        column_words=axes[1],
        digits=min(max(1 - math.floor(math.log10(largest)), 0), 6) if largest else 2,
    )
    return heat_map(table, width=HALF_PX, cell_height=28)


def _bin_words(edges: Sequence[float], size: int, words: str) -> list[str]:
    """Name bins by their edges, or by their numbers; of older files the ends and the middle."""
    write = [f"{edge:.2g}".replace("-", "−") for edge in edges]
    if len(edges) == size:
        return write
    if len(edges) == size + 1:
        return [words.format(low, high) for low, high in pairwise(write)]
    names = {0: "low", size // 2: "middle", size - 1: "high"}
    return [names.get(index, "") for index in range(size)]


def _attention(dossier: Dossier, found: PolicyAnalysis) -> Chart | None:
    if found.attention is None or found.attention_lags is None:
        return None
    bars = [
        BarGroup(str(lag), weight, f"{lag} bars back: {percent(weight)}", style="pos")
        for lag, weight in zip(found.attention_lags, found.attention, strict=False)
    ]
    drawing = _shares_chart(bars, "weight", "bars back")
    caption = f"Mean attention of the encoder's last block; {scope(dossier)}."
    return Chart("Where it looks", drawing, caption)


def _attention_map(dossier: Dossier, found: PolicyAnalysis) -> Chart | None:
    cells_of = zip(*found.attention_map, strict=True)
    by_feature = list(zip(found.attention_features, cells_of, strict=True))
    total = sum(sum(cells) for _, cells in by_feature)
    if not total:
        return None
    ranked = sorted(by_feature, key=lambda pair: -sum(pair[1]))[:_FEATURES]
    table = HeatMap(
        [[100 * cell / total for cell in cells] for _, cells in ranked],
        [name for name, _ in ranked],
        [str(lag) for lag in range(len(found.attention_map))],
        row_words="feature; share of the whole map, %",
        column_words="bars back",
        digits=1,
    )
    caption = (
        "Attention of the last block at a lag × how far the action moves with the feature of that "
        "bar, by one standard deviation of it. The "
        f"{len(ranked)} of {len(by_feature)} features with most; {scope(dossier)}."
    )
    return Chart(
        "What it looks at, and when", heat_map(table, width=HALF_PX, cell_height=26), caption
    )


def _deviations(found: PolicyAnalysis) -> Chart | None:
    if not found.deviations:
        return None
    ranked = sorted(found.deviations, key=lambda pair: (-pair[1], pair[0]))[:_DEVIATIONS]
    rows = [(name, size, percent(size)) for name, size in ranked]
    caption = (
        f"Norm of the agent's own part ÷ norm of the shared part; {len(rows)} of "
        f"{len(found.deviations)} agents."
    )
    return Chart("Agents furthest from the shared head", row_chart(rows, width=HALF_PX), caption)
