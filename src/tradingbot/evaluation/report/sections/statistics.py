"""Is it luck? Every statistic with what it means for this run."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.evidence import Statistics
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Figure, Figures, Section
from tradingbot.evaluation.report.chart import Charts, full_chart
from tradingbot.evaluation.report.numbers import bps, count, finite, format_interval, percent, plain
from tradingbot.evaluation.report.sections.scope import scope
from tradingbot.evaluation.report.svg.forest import Estimate, ForestRow, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Tone
from tradingbot.evaluation.statistics.interval import Interval

_TITLE = "Could it be luck?"
_CONFIDENT = 0.95
_SMALL = 0.05


def statistics_section(dossier: Dossier) -> Section:
    """Explain every statistic of the test part in words."""
    found, yearly = dossier.statistics, _per_year(dossier)
    alpha, lead = dossier.test.policies[0].alpha_bps, dossier.test.alpha_over_hold_bps
    figures = (
        *((_edge("Alpha", alpha, "zero"),) if alpha else ()),
        *((_edge("Alpha over that of holding", lead, "no lead"),) if lead else ()),
        _edge("Net return", dossier.test.policies[0].net_bps_per_bar, "zero"),
        _edge("Net return over equal weight", dossier.test.excess_over_hold_bps, "no lead"),
        _probabilistic(found),
        _expected_best(found, yearly),
        _deflated(found),
        _track_record(found),
        _backtest_length(dossier),
        _overfitting(found),
        _superior(found),
        _paths(found),
    )
    if no_agent_trades(dossier):
        muted = Figures([replace(each, tone="soft") for each in figures], is_explained=True)
        return Section("statistics", _TITLE, _idle_finding(found), (muted,))
    blocks = (_luck_chart(dossier, yearly), Figures(figures, is_explained=True))
    return Section("statistics", _TITLE, _finding(found), blocks)


def _idle_finding(found: Statistics) -> str:
    return (
        "No agent trades, so there is neither skill nor luck to tell apart: cash has no returns. "
        "What is computed from them below is there for the record; trials are counted all the "
        f"same, {count(found.n_trials)} so far on these data."
    )


def _finding(found: Statistics) -> str:
    trials = "one trial" if found.n_trials == 1 else f"{count(found.n_trials)} trials"
    if math.isnan(found.deflated_sharpe):
        return f"After {trials} on these data, the deflated Sharpe ratio could not be computed."
    verdict = (
        "luck is an unlikely explanation"
        if found.deflated_sharpe >= _CONFIDENT
        else "luck cannot be ruled out"
        if found.deflated_sharpe >= 0.5
        else "luck explains the result better than skill"
    )
    return (
        f"After {trials} on these data, the probability that the true Sharpe ratio is above what "
        f"luck alone would show is {percent(found.deflated_sharpe)}: {verdict}."
        + (f" {_judged(found)}" if found.judged else "")
    )


def _judged(found: Statistics) -> str:
    """Say what the track is, and what the market's luck would make of it."""
    return (
        f"Judged is {found.judged}. With the market in it, the net return has a probabilistic "
        f"Sharpe ratio of {percent(found.net_probabilistic_sharpe)}, which says little of skill."
    )


def _per_year(dossier: Dossier) -> float:
    """Return annual ÷ per-bar Sharpe ratio; NaN where neither is a number to divide by."""
    annual = dossier.test.policies[0].sharpe_annual.estimate
    of_net, per_bar = dossier.statistics.net_sharpe_per_bar, dossier.statistics.sharpe_per_bar
    per_bar = of_net if math.isfinite(of_net) else per_bar
    are_numbers = math.isfinite(annual) and math.isfinite(per_bar) and per_bar != 0
    return annual / per_bar if are_numbers and annual / per_bar > 0 else math.nan


def _luck_chart(dossier: Dossier, yearly: float) -> Charts:
    found, agents = dossier.statistics, dossier.test.policies[0]
    estimates = [Estimate("this run", found.sharpe_annual or agents.sharpe_annual)]
    paths = finite(found.path_sharpe_annual)
    if paths:
        mean = Interval(sum(paths) / len(paths), math.nan, math.nan)
        estimates.append(Estimate("its paths", mean, "unsure", tuple(paths)))
    best = found.expected_best_sharpe * yearly
    by_luck = ForestRow(best, f"best of {count(found.n_trials)} by luck")
    lines = (by_luck,) if found.n_trials > 1 else ()
    caption = ["The dot with its 95 % interval is this run."]
    if paths:
        caption.append("Small dots are combinatorial purged paths of the same returns.")
    if lines and math.isfinite(best):
        caption.append("The dashed line is what the best of so many trials without skill shows.")
    axis = Axis(f"Sharpe ratio{' of alpha' * bool(found.judged)}, annual", holds=(0.0,))
    draw = partial(forest_chart, estimates, axis, lines=lines)
    words = " ".join([*caption, f"{scope(dossier).capitalize()}."])
    return full_chart("The Sharpe ratio against luck", draw, words)


def _edge(name: str, interval: Interval, null: str) -> Figure:
    if not math.isfinite(interval.estimate):
        return Figure(name, plain(math.nan), "It could not be computed from these returns.", "soft")
    meaning = f"It cannot be told from {null}."
    if interval.low > 0:
        meaning = f"If the truth were {null}, so much would rarely be seen."
    elif interval.high < 0:
        meaning = f"It is worse than {null}, beyond chance."
    words = (
        f"Per bar, 95 % {format_interval(interval)} by the stationary bootstrap, which keeps the "
        f"autocorrelation of returns. {meaning}"
    )
    return Figure(name, bps(interval.estimate), words, "good" if interval.low > 0 else "bad")


def _probabilistic(found: Statistics) -> Figure:
    share = found.probabilistic_sharpe
    words = (
        f"The probability that the true Sharpe ratio is above zero, given {count(found.bars)} bars "
        f"with a skewness of {plain(found.skewness)} and a kurtosis of {plain(found.kurtosis, 1)} "
        f"(3 is normal). It does not know how many trials were made."
    )
    return Figure("Probabilistic Sharpe ratio", percent(share), words, _tone(share))


def _expected_best(found: Statistics, yearly: float) -> Figure:
    name = "Best of the trials by luck"
    if found.n_trials <= 1:
        words = "The ledger knows of one trial on these data, so there was nothing to choose from."
        return Figure(name, plain(math.nan), words, "soft")
    best = found.expected_best_sharpe
    if math.isfinite(yearly):
        written, own, unit = plain(best * yearly), plain(found.sharpe_per_bar * yearly), "an annual"
    else:
        written, own, unit = plain(best, 4), plain(found.sharpe_per_bar, 4), "a per-bar"
    words = (
        f"If there were no skill, the best of {count(found.n_trials)} trials would still show "
        f"{unit} Sharpe ratio of about {written}. This run shows {own}."
    )
    return Figure(name, written, words, "good" if found.sharpe_per_bar > best else "bad")


def _deflated(found: Statistics) -> Figure:
    bar = (
        f"what the luckiest of {count(found.n_trials)} trials would show"
        if found.n_trials > 1
        else "zero: with one trial there is nothing to deflate"
    )
    words = (
        f"The probability that the true Sharpe ratio is above {bar}. The usual demand is 95 %. The "
        f"ledger counts trials by itself: deleting a run does not lower the count."
    )
    share = found.deflated_sharpe
    return Figure("Deflated Sharpe ratio", percent(share), words, _tone(share))


def _track_record(found: Statistics) -> Figure:
    name, needed = "Minimum track record", found.min_track_record_bars
    if math.isnan(needed) or math.isinf(needed):
        words = "No length would do: the Sharpe ratio is not above zero."
        return Figure(name, plain(needed, 0), words, "bad")
    enough = found.bars >= needed
    words = (
        f"So many bars are needed to be 95 % sure that a Sharpe ratio like this one is above zero. "
        f"There are {count(found.bars)}: {'enough' if enough else 'too few'}."
    )
    return Figure(name, f"{count(needed)} bars", words, "good" if enough else "bad")


def _backtest_length(dossier: Dossier) -> Figure:
    found, years, name = dossier.statistics, dossier.test.years, "Minimum backtest length"
    if found.n_trials <= 1:
        words = "It asks for at least two trials: one cannot be the luckiest of many."
        return Figure(name, plain(math.nan), words, "soft")
    needed = found.min_backtest_years
    words = (
        f"With {count(found.n_trials)} trials, the best one reaches an annual Sharpe ratio of 1 "
        f"by luck alone on anything shorter. The test part is {plain(years, 1)} years long."
    )
    tone: Tone = "" if math.isnan(needed) else "good" if years >= needed else "bad"
    return Figure(name, f"{plain(needed, 1)} years", words, tone)


def _overfitting(found: Statistics) -> Figure:
    name, share = "Probability of overfitting", found.overfitting_probability
    if share is None:
        words = "Fewer than two variants were compared, so nothing could be overfitted by choice."
        return Figure(name, plain(None), words, "soft")
    words = (
        f"Of {count(found.overfitting_variants)} variants, the best on one half of the bars fell "
        f"below the middle on the other half so often. At 50 % choosing is worth nothing."
    )
    return Figure(name, percent(share, 0), words, "good" if share < 0.2 else "bad")


def _superior(found: Statistics) -> Figure:
    name, share = "Better than the best baseline", found.spa_p_consistent
    if not found.spa_against or math.isnan(share):
        return Figure(name, plain(None), "There was no baseline to test against.", "soft")
    words = (
        f"If the agents were no better than the best of {'; '.join(found.spa_against)}, a lead "
        f"like this would still appear with this probability (Hansen's test; "
        f"{plain(found.spa_p_lower, 3)} to {plain(found.spa_p_upper, 3)} by how poor baselines "
        f"count)."
    )
    # That no draw did as well is no certainty, for there are only so many.
    written = f"p = {plain(share, 3)}" if share >= 0.001 else "p < 0.001"
    return Figure(name, written, words, "good" if share < _SMALL else "bad")


def _paths(found: Statistics) -> Figure:
    name, paths = "Purged paths", finite(found.path_sharpe_annual)
    if not paths:
        return Figure(name, plain(None), "The part is too short to be cut into paths.", "soft")
    positive = sum(path > 0 for path in paths)
    words = (
        f"So many ways through the test bars, cut and joined anew, have a Sharpe ratio above zero; "
        f"the worst has {plain(min(paths))}, the best {plain(max(paths))}."
    )
    tone: Tone = "good" if positive == len(paths) else ""
    return Figure(name, f"{positive} of {len(paths)}", words, tone)


def _tone(probability: float) -> Tone:
    if math.isnan(probability):
        return "soft"
    return "good" if probability >= _CONFIDENT else "bad"
