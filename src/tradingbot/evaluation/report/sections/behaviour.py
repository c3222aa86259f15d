"""What does the policy do, and what does it look at?"""

from __future__ import annotations

from tradingbot.evaluation.dossier.analysis import PolicyAnalysis, StateActionMap
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block
from tradingbot.evaluation.report.chart import HALF_PX, THIRD_PX, Chart, Charts
from tradingbot.evaluation.report.numbers import percent, plain
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart, row_chart
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.scale import Axis

_MAPS = 6
_DEVIATIONS = 15


@section_of("policy", "What the policy does")
def behaviour_section(dossier: Dossier, found: PolicyAnalysis) -> Answer:
    """Show actions, what moves them, values, attention and rewards."""
    if no_agent_trades(dossier):
        return "No agent trades: every decision is to stay in cash, whatever the agents see.", ()
    charts = [_histogram(dossier, found), _rewards(found)]
    charts += [chart for chart in (_values(found), _attention(found), _deviations(found)) if chart]
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
    if found.value_landscape is None:
        words.append("There is no critic, hence no value landscape.")
    if found.attention is None:
        words.append("The encoder has no attention to show.")
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


def _values(found: PolicyAnalysis) -> Chart | None:
    if found.value_landscape is None or found.value_axes is None:
        return None
    cells = found.value_landscape[::-1]  # high at the top, as on a chart
    first, second = found.value_axes
    table = HeatMap(
        cells,
        _thirds(len(cells))[::-1],
        _thirds(len(cells[0]) if cells else 0),
        row_words=f"{first}, quantiles",
        column_words=f"{second}, quantiles",
    )
    drawing = heat_map(table, width=HALF_PX, cell_height=28)
    caption = "Mean value in units of the reward: blue above zero, orange below."
    return Chart("What the critic expects", drawing, caption)


def _thirds(count: int) -> list[str]:
    """Name the first, middle and last of a row of quantiles."""
    names = {0: "low", count // 2: "middle", count - 1: "high"}
    return [names.get(index, "") for index in range(count)]


def _attention(found: PolicyAnalysis) -> Chart | None:
    if found.attention is None or found.attention_lags is None:
        return None
    bars = [
        BarGroup(str(lag), weight, f"{lag} bars back: {percent(weight)}", style="pos")
        for lag, weight in zip(found.attention_lags, found.attention, strict=False)
    ]
    drawing = _shares_chart(bars, "weight", "bars back")
    return Chart("Where it looks", drawing, "Mean attention, last layer.")


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
