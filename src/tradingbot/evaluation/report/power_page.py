"""The power of a pipeline as a page: the answer, the curve, every rung, what it holds for."""

from __future__ import annotations

import math
from functools import partial

from tradingbot import __version__
from tradingbot.evaluation.dossier.power import PowerCurve
from tradingbot.evaluation.report.blocks import Code, Section
from tradingbot.evaluation.report.chart import full_chart
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.lines import band_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import table_of

COLUMNS = ("κ", "worth, bp/bar", "trials", "found", "95 %", "admitted", "alpha on test, bp/bar")
_NOTE = (
    "Found: validation let agents trade, and what they earned on test beside the market is above 0 "
    "beyond its 95 % interval. Worth: what the oracle of the planted signal expects on the test "
    "bars, net of costs. The rung κ = 0 says how often nothing is taken for a signal."
)


def power_rows(curve: PowerCurve) -> list[list[str | float]]:
    """Lay the rungs out under `COLUMNS`."""
    return [
        [
            f"{rung.kappa:g}",
            f"{rung.edge_bps:.2f}",
            rung.n_trials,
            f"{rung.found.estimate:.0%}",
            f"{rung.found.low:.0%} … {rung.found.high:.0%}",
            f"{rung.admitted_frac:.0%}",
            f"{rung.alpha_bps:.2f}",
        ]
        for rung in curve.rungs
    ]


def render_power(curve: PowerCurve) -> str:
    """Render the page of a curve."""
    terms = (
        f"{curve.symbols} symbols; trained on {curve.train}, decided on {curve.validation}, judged "
        f"on {curve.test}; {curve.costs}; {curve.learner}, {curve.steps_per_agent:,} steps per "
        f"agent; signal with persistence {curve.phi:g} per bar, seed {curve.seed}."
    )
    bars = "observed bars" if curve.is_observed else "generated bars"
    table = table_of(COLUMNS, power_rows(curve), _NOTE, words=("95 %",))
    chart = full_chart(
        f"Share of pipelines that find the signal (synthetic signal in {bars})",
        partial(_curve, curve),
        "Over the strength κ, in units of each symbol's volatility; 95 % of each share by Wilson.",
    )
    sections = [
        Section("curve", "What would have been found", _NOTE, [chart, table]),
        Section("again", "How to measure it again", terms, [Code("Command", curve.command)]),
    ]
    return render_page(
        Page(
            title=f"Power of the pipeline on {curve.subject}",
            top="Answer",
            kicker=("Power on", curve.subject, f" · {bars}, planted signals"),
            headline=curve.words,
            is_synthetic=True,
            scope=f"{curve.label}. Nothing here was earned on a real market. {terms}",
            sections=sections,
            footer=f"tradingbot {__version__}",
        )
    )


def _curve(curve: PowerCurve, *, width: float) -> Drawing:
    axes = (
        Axis("strength κ", holds=(0.0,)),
        Axis("share found", unit="percent", holds=(0.0, curve.smallest.probability, 1.0)),
    )
    kappa = curve.smallest.kappa.estimate
    return band_chart(
        [rung.kappa for rung in curve.rungs],
        [rung.found for rung in curve.rungs],
        axes,
        width=width,
        height=320,
        marked=kappa if math.isfinite(kappa) else None,
    )
