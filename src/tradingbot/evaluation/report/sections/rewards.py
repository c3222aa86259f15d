"""What is the run paid for, and how much of that is noise?"""

from __future__ import annotations

from itertools import pairwise

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.rewards import RewardAnalysis, RewardRow
from tradingbot.evaluation.report.blocks import Block
from tradingbot.evaluation.report.chart import HALF_PX, THIRD_PX, Chart, Charts
from tradingbot.evaluation.report.numbers import count, format_count, percent, plain
from tradingbot.evaluation.report.sections.scope import Answer, section_of
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.heat_map import correlation_map
from tradingbot.evaluation.report.svg.lines import LineSeries, band_chart, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import column, record_table, text_column
from tradingbot.evaluation.statistics.interval import Interval

_STYLES = ("agents", "held", "index", "oracle")
"""Of the terms that are paid most; the others share one."""


_UNIT = "10⁻³"
"""Of rewards and returns of one bar, which are small."""


def _small(number: float) -> str:
    """Write it in units of 10⁻³: whole from 100 on, where three digits would be a power of ten."""
    scaled = 1e3 * number
    if not abs(scaled) < 100.0:
        return plain(scaled, 0)
    return f"{scaled:.3g}".replace("-", "−")


_COLUMNS = (
    text_column("Quantity", "quantity", "weighted term, their sum, or the return after costs"),
    column(f"Mean, {_UNIT}", "mean", "per bar and agent; the net return is of wealth", _small),
    column(f"Deviation, {_UNIT}", "deviation", "standard deviation over bars", _small),
    column("Signal to noise", "signal_to_noise", "mean ÷ deviation, per bar", plain, digits=3),
    column("Not 0", "nonzero_frac", "share of bars in which it is paid", percent, digits=0),
)


@section_of("rewards", "What the reward pays")
def rewards_section(dossier: Dossier, found: RewardAnalysis) -> Answer:
    """Show moments, histograms, correlations, reward-to-go, and the course of training."""
    words = _scope(dossier, found)
    *terms, reward, _ = found.rows
    charts = [_histogram(reward, HALF_PX, words), _to_go(found, words)]
    charts.append(_correlation(found, words))
    if len(found.updates) > 1:
        charts.append(_course(dossier, found))
    blocks: list[Block] = [record_table(_COLUMNS, found.rows, f"Per bar; {words}."), Charts(charts)]
    if len(terms) > 1:
        blocks.append(Charts([_histogram(term, THIRD_PX, "") for term in terms], "third"))
    return _finding(found), blocks


def _finding(found: RewardAnalysis) -> str:
    reward = found.rows[-2]
    words = [
        f"The reward of a bar is {_small(reward.mean)} · {_UNIT} on average and fluctuates by "
        f"{_small(reward.deviation)} · {_UNIT}: a signal-to-noise ratio of "
        f"{plain(reward.signal_to_noise, 3)} per bar. It correlates with the net return by "
        f"{plain(found.correlation[-2][-1])}."
    ]
    if not found.is_learned:
        words.append("The learner followed another objective: nothing was learned from this.")
    return " ".join(words)


def _scope(dossier: Dossier, found: RewardAnalysis) -> str:
    data = "synthetic data, " if dossier.header.synthetic else ""
    return (
        f"{data}training part, {found.period}, {format_count(found.episodes, 'episodes')} of the "
        f"selected policy without exploration, {format_count(found.steps, 'bars')} of all agents, "
        f"after costs, seed {dossier.header.seed}"
    )


def _histogram(row: RewardRow, width: float, words: str) -> Chart:
    bars = [
        BarGroup(low, size, f"{low} to {high} · {_UNIT}: {percent(size)}", style="pos")
        for (low, high), size in zip(pairwise(map(_small, row.edges)), row.shares, strict=True)
    ]
    axis, height = Axis("share of bars", unit="percent"), 220 if words else 170
    below = f"{row.quantity} per bar, {_UNIT}"
    drawing = column_chart(bars, axis, width=width, height=height, words=below)
    beyond = "The last thousandth at each end counts in its last bin; "
    title = f"Histogram of {'the reward' if words else row.quantity}"
    return Chart(title, drawing, f"{beyond}{words}." if words else "")


def _to_go(found: RewardAnalysis, words: str) -> Chart:
    spread = [
        Interval(mean, mean - deviation, mean + deviation)
        for mean, deviation in zip(found.to_go_mean, found.to_go_deviation, strict=True)
    ]
    axes = (Axis("bars to the end of the episode"), Axis("reward-to-go", holds=(0.0,)))
    drawing = band_chart(found.steps_to_end, spread, axes, width=HALF_PX, height=240)
    caption = (
        f"Σ γᵏ · reward to the end of the episode, γ = {found.discount:g}: mean, and one standard "
        f"deviation around it; {words}."
    )
    return Chart("Reward-to-go", drawing, caption)


def _correlation(found: RewardAnalysis, words: str) -> Chart:
    names = [row.quantity for row in found.rows]
    drawing = correlation_map(names, found.correlation, width=HALF_PX)
    caption = f"Over bars; blue: together; orange: opposite; blank: does not vary; {words}."
    return Chart("Correlation of terms, reward and net return", drawing, caption)


def _course(dossier: Dossier, found: RewardAnalysis) -> Chart:
    ranked = sorted(found.course, key=lambda pair: -sum(map(abs, pair[1])))
    styles = (*_STYLES, *["other"] * len(ranked))
    lines = [
        LineSeries(name, paid, style, is_named=style != "other")
        for (name, paid), style in zip(ranked, styles, strict=False)
    ]
    names = tuple(f"update {update}" for update in found.updates)
    drawing = time_chart(names, lines, Axis("per bar", holds=(0.0,)), width=HALF_PX, height=240)
    caption = (
        "Mean per bar and agent of each weighted term in the updates of the training, with "
        f"exploration; updates {count(found.updates[0])} to {count(found.updates[-1])}, training "
        f"part, {found.period}, seed {dossier.header.seed}."
    )
    return Chart("What training was paid", drawing, caption)
