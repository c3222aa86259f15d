"""The first screen of a page: what a reader who has ten seconds needs to see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.chart import NARROW_PX, Chart
from tradingbot.evaluation.report.numbers import count, format_interval, percent, plain
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Tone
from tradingbot.evaluation.statistics.interval import Interval

_PICTURE_PX, _HEIGHT_PX = 690.0, 252.0


def lead_figures(
    policy: PolicyPerformance,
    n_bars: int,
    bars_per_year: float,
    over_holding_bps: Interval | None = None,
) -> list[Figure]:
    """Return three numbers with their intervals: what is its own, beside holding, and for the risk.

    Means per bar are shown for a year, × bars and not compounded; for the period itself where that
    is shorter than a quarter of one: a good week is no 100 % a year.

    Args:
        policy: The one that is judged.
        n_bars: Of the period.
        bars_per_year: Of the market's calendar.
        over_holding_bps: Its net return less that of holding, per bar; net return by itself, where
            there is none.
    """
    is_long = n_bars >= bars_per_year / 4
    over = "a year" if is_long else f"these {count(n_bars)} bars"
    scale = (bars_per_year if is_long else n_bars) / 1e4
    figures = []
    if policy.alpha_bps is not None:
        alpha = policy.alpha_bps.scaled(scale)
        figures.append(_share(f"Alpha, {over}", alpha, "beyond the market"))
    if over_holding_bps is not None:
        more = over_holding_bps.scaled(scale)
        figures.append(_share(f"More than holding, {over}", more, "after costs"))
    if len(figures) < 2:
        net = policy.net_bps_per_bar.scaled(scale)
        figures.insert(0, _share(f"Net return, {over}", net, "after costs"))
    sharpe = policy.sharpe_annual
    ends = format_interval(sharpe)
    words = f"return for its risk; 95 % {ends}" if ends else "return for its risk"
    return [*figures, Figure("Sharpe ratio, annual", plain(sharpe.estimate), words, _tone(sharpe))]


def data_words(label: str, synthetic: bool) -> str:
    """Say of which kind data are, and their name without saying it again.

    Example:
        >>> data_words("synthetic market 'planted', seed 7", True)
        "synthetic: market 'planted', seed 7"
        >>> data_words("panel a4492bb4, observed", False)
        'observed bars: panel a4492bb4'
    """
    name = label.removeprefix("synthetic ").replace(", synthetic", "").replace(", observed", "")
    return f"{'synthetic' if synthetic else 'observed bars'}: {name}"


def equity_picture(
    days: tuple[str, ...], lines: Sequence[LineSeries], title: str, caption: str
) -> Chart:
    """Draw worths over days beside the three numbers."""
    axis = Axis("equity, 1 at the start", holds=(1.0,))
    draw = partial(time_chart, days, lines, axis, height=_HEIGHT_PX)
    return Chart(title, draw(width=_PICTURE_PX), caption, draw(width=NARROW_PX))


def _share(name: str, interval: Interval, words: str) -> Figure:
    ends = format_interval(interval.scaled(100), 1)
    told = f"{words}; 95 % {ends}" if ends else words
    return Figure(name, percent(interval.estimate, signed=True), told, _tone(interval))


def _tone(interval: Interval) -> Tone:
    """Colour what is known to lie on one side of zero."""
    return "good" if interval.low > 0 else "bad" if interval.high < 0 else ""
