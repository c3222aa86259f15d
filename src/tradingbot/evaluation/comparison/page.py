"""A comparison of runs as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot import __version__
from tradingbot.evaluation.comparison.charts import equity_chart
from tradingbot.evaluation.comparison.record import RunComparison, RunDifference
from tradingbot.evaluation.comparison.sections import (
    agents_section,
    behaviour_section,
    configuration_section,
    data_section,
    results_section,
)
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.first_screen import data_words
from tradingbot.evaluation.report.numbers import bps, format_interval, percent, plain
from tradingbot.evaluation.report.page import Notice, Page, PointList, render_page
from tradingbot.evaluation.report.table import Tone
from tradingbot.evaluation.statistics.interval import Interval

_UNKNOWN = "No run shares enough bars with the first to be paired with it."


def render_comparison(found: RunComparison) -> str:
    """Render a page that needs no other file and no network.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    names = [each.run for each in found.runs]
    return render_page(
        Page(
            title=f"Comparison of {', '.join(names)}",
            top="Overview",
            kicker=("Comparison of", ", ".join(names[1:]), f" with {names[0]}"),
            headline=headline_of(found),
            is_synthetic=found.is_synthetic,
            notices=_notices(found),
            facts=_facts(found),
            lead_figures=_lead_figures(found),
            picture=equity_chart(found),
            change=None
            if len(found.differences) == 1
            else PointList("In words", words_of(found), _UNKNOWN),
            scope="Every run trades its own test part at its own costs. Differences are of bars "
            "that both traded, bar by bar, with 95 % intervals by the stationary bootstrap of the "
            "pair; runs that see one market share its luck, which a difference leaves out.",
            sections=[
                results_section(found),
                configuration_section(found),
                data_section(found),
                behaviour_section(found),
                agents_section(found),
            ],
            footer=f"tradingbot {__version__}",
        )
    )


def headline_of(found: RunComparison) -> str:
    """Say in a sentence whether a run earns more than the first."""
    if not found.differences:
        return "These runs share too few bars: nothing can be said of their difference."
    if len(found.differences) == 1:
        return words_of(found)[0]
    better = [each.run for each in found.differences if each.net_bps_per_bar.low > 0]
    worse = [each.run for each in found.differences if each.net_bps_per_bar.high < 0]
    first = found.runs[0].run
    if not better and not worse:
        return f"No run earns more or less than {first} beyond 95 % of chance."
    told = [f"{_listed(better)} earned more than {first}"] if better else []
    told += [f"{_listed(worse)} earned less{'' if better else ' than ' + first}"] if worse else []
    rest = len(found.differences) - len(better) - len(worse)
    return f"{', '.join(told)}{', the others within chance' if rest else ''}."


def words_of(found: RunComparison) -> list[str]:
    """Say of every run what it earned beside the first: the sign is that of its interval."""
    return [_verdict(each, found.runs[0].run) for each in found.differences]


def _verdict(each: RunDifference, first: str) -> str:
    earned = each.net_bps_per_bar
    if earned == Interval(0.0, 0.0, 0.0):
        return f"{each.run} did bar by bar the same as {first}."
    word = "more" if earned.estimate > 0 else "less"
    sure = "within chance" if earned.covers(0) else "beyond 95 % of chance"
    return (
        f"{each.run} earned {word} than {first}: {bps(earned.estimate)} per bar "
        f"{format_interval(earned)} over {each.bars:,} shared bars, {_days(each)}; {sure}."
    )


def _days(each: RunDifference) -> str:
    return f"{each.first_day} … {each.last_day}"


def _notices(found: RunComparison) -> list[Notice]:
    """Say once of all runs that it holds for what else differs."""
    apart: dict[str, list[str]] = {}
    for run, why in found.unpaired:
        apart.setdefault(why, []).append(run)
    for each in found.differences:
        if each.caveats:
            apart.setdefault("; ".join(each.caveats), []).append(each.run)
    return [
        Notice("Read with care", f"{_listed(runs)}: {why}.", "idle") for why, runs in apart.items()
    ]


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _facts(found: RunComparison) -> list[tuple[str, str]]:
    first = found.runs[0]
    days = f"{first.first_day} … {first.last_day}, {first.bars:,} bars of {first.run}"
    keys = f"{len(found.config)} settings, {len(found.facts)} facts of the runs"
    data = " and ".join(sorted({data_words(each.label, each.synthetic) for each in found.runs}))
    return [
        ("Compared with", first.run),
        ("Data", data),
        ("Test period", days),
        *_shared_bars(found),
        ("What differs", keys),
    ]


def _shared_bars(found: RunComparison) -> list[tuple[str, str]]:
    """Say which bars the figures beside are of: fewer than a run's own where periods differ."""
    told = dict.fromkeys(f"{each.bars:,} bars, {_days(each)}" for each in found.differences)
    if len(told) == 1:
        return [("Shared bars", next(iter(told)))]
    parts = [f"{each.run}: {each.bars:,} bars, {_days(each)}" for each in found.differences[:4]]
    return [("Shared bars", "; ".join(parts))] if parts else []


def _lead_figures(found: RunComparison) -> list[Figure]:
    """Return the difference of two runs in three numbers; of more the net one of each."""
    yearly = found.bars_per_year / 1e4
    if len(found.differences) != 1:
        return [
            _share(f"{each.run}: difference a year", each.net_bps_per_bar.scaled(yearly))
            for each in found.differences[:4]
        ]
    (only,) = found.differences
    sharpe = only.sharpe_annual
    number = plain(sharpe.estimate, signed=True)
    return [
        _share("Net return a year, difference", only.net_bps_per_bar.scaled(yearly)),
        _share("Alpha a year, difference", only.alpha_bps_per_bar.scaled(yearly)),
        Figure(
            "Sharpe ratio, difference",
            number,
            f"annual; 95 % {format_interval(sharpe)}",
            _tone(sharpe),
        ),
    ]


def _share(name: str, interval: Interval) -> Figure:
    words = f"95 % {format_interval(interval.scaled(100), 1)}"
    return Figure(name, percent(interval.estimate, signed=True), words, _tone(interval))


def _tone(interval: Interval) -> Tone:
    return "good" if interval.low > 0 else "bad" if interval.high < 0 else ""
