"""The demo's HTML page: what was made, what was found, what it looks like."""

from __future__ import annotations

import math
from functools import partial

from tradingbot import __version__
from tradingbot.app.demo.data_sections import feature_section, market_section, quality_section
from tradingbot.app.demo.story import DemoResult
from tradingbot.app.demo.training import training_section
from tradingbot.evaluation.dataset_facts import load_real_facts
from tradingbot.evaluation.oracle.known_answers import label_of, oracle_rows
from tradingbot.evaluation.report.blocks import Figure, Section
from tradingbot.evaluation.report.chart import full_chart
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.svg.forest import Estimate, ForestRow, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import table_of
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.stylised_facts import Fact

_FACTS_SHOWN = (-1.0, 4.0)
"""Ends of the axis of facts, times the real median."""


def render_demo(result: DemoResult) -> str:
    """Render the page."""
    manifest, made = result.dataset.manifest, result.config.market
    memo = result.evaluation.memo if result.evaluation else None
    period = f"{manifest.first_closed_at:%Y-%m-%d} … {manifest.last_closed_at:%Y-%m-%d}"
    spec = result.built.panel.manifest.spec_sha256[:16]
    return render_page(
        Page(
            title="TradingBotAI demo: synthetic market, checked and proved causal",
            kicker=("Demo on", result.dataset.id, f" · {made.name}, seed {made.seed} · {period}"),
            word=memo.verdict if memo else "",
            headline=memo.headline if memo else "A synthetic market, checked and proved causal",
            top="Verdict" if memo else "Overview",
            is_synthetic=True,
            key_figures=_key_figures(result),
            scope="Everything on this page is synthetic unless it says real. Nothing here says "
            "anything about money earned on a real market.",
            sections=[
                market_section(result),
                quality_section(result),
                feature_section(result),
                _proof_section(result),
                _facts_section(result),
                _answers_section(result),
                _training_section(result),
                *_trading_sections(result),
            ],
            footer=f"tradingbot {__version__} · feature spec {spec} · configuration "
            f"{result.config.config_hash[:16]}",
        )
    )


def _key_figures(result: DemoResult) -> list[Figure]:
    manifest, proved = result.dataset.manifest, result.certificate is not None
    return [
        Figure("Symbols", f"{len(manifest.symbols)}", result.config.market.universe),
        Figure("Bars", f"{manifest.rows:,}", f"of {result.config.market.timeframe}"),
        Figure("Readiness", "ready" if result.quality.ready else "not ready", ""),
        Figure("Look-ahead", "proved free" if proved else "leaks", "features, bit for bit"),
    ]


def _training_section(result: DemoResult) -> Section:
    title = "7 · Agents that learn"
    if result.training is None:
        return Section(
            "training",
            title,
            "The panel is not proved free of look-ahead, so no agent may look at it.",
            badge="not trained",
            tone="bad",
        )
    return training_section(result.training, title=title)


def _trading_sections(result: DemoResult) -> list[Section]:
    if result.trading is None:
        return []
    from tradingbot.app.demo.trading import trading_section  # there, its extras are installed

    return [trading_section(result.trading, title="8 · A week on paper")]


def _proof_section(result: DemoResult) -> Section:
    report, certificate = result.proof, result.certificate
    pairs = sum(map(len, report.staggered_cuts))
    rows = [[v.subject, v.output, v.scope, v.status, f"{v.comparisons:,}"] for v in report.verdicts]
    columns = ["subject", "output", "scope", "verdict", "past values compared"]
    issued = certificate.sha256[:16] if certificate else "none"
    table = table_of(
        columns,
        rows,
        "Bit for bit.",
        words=columns[:4],
        folded_under=f"All {len(rows)} outputs, one by one",
    )
    return Section(
        "proof",
        "4 · Free of look-ahead",
        f"The future was changed, cut off and poisoned at {len(report.common_cuts)} common "
        f"cuts and {pairs:,} (symbol, cut) pairs; {report.comparisons:,} past values were "
        f"compared bit for bit. Certificate: {issued}. Without it the panel cannot be opened.",
        [table],
        badge="proved" if certificate else "leaks",
        tone="good" if certificate else "bad",
    )


def _facts_section(result: DemoResult) -> Section:
    real, label = load_real_facts()
    measured = real.as_dict()
    rows = [
        [name.replace("_", " "), f"{fact.median:.3g}", f"{fact.low:.3g} … {fact.high:.3g}",
         f"{measured[name].median:.3g}", f"{measured[name].low:.3g} … {measured[name].high:.3g}"]
        for name, fact in result.facts.as_dict().items()
    ]  # fmt: skip
    columns = ["fact", "synthetic: median", "quartiles", "real: median", "real quartiles"]
    estimates = [
        _fact_row(name.replace("_", " "), fact, measured[name])
        for name, fact in result.facts.as_dict().items()
        if _comparable(fact, measured[name])
    ]
    axis, one = Axis("value ÷ real median"), (ForestRow(1.0, "real median"),)
    chart = full_chart(
        "Stylised facts, synthetic beside real",
        partial(forest_chart, estimates, axis, lines=one),
        "Large points and lines: median and quartiles over symbols; small points: the real ones. "
        "1 is a perfect match of medians.",
    )
    table = table_of(columns, rows, "Medians and quartiles over symbols.", words=("fact",))
    return Section(
        "facts",
        "5 · How real it looks",
        f"Real: {label}. Medians and quartiles over symbols.",
        [chart, table],
    )


def _comparable(made: Fact, seen: Fact) -> bool:
    """Tell whether a fact can be shown in units of the real median, whose sign must be known."""
    return math.isfinite(made.median) and math.isfinite(seen.median) and seen.low * seen.high > 0.0


def _fact_row(name: str, made: Fact, seen: Fact) -> Estimate:
    """Lay a fact beside the real one, in units of the real median; far beyond stays at the edge."""
    low, high, *real = (
        min(max(value / seen.median, _FACTS_SHOWN[0]), _FACTS_SHOWN[1])
        for value in (made.low, made.high, seen.low, seen.median, seen.high)
    )
    middle = min(max(made.median / seen.median, _FACTS_SHOWN[0]), _FACTS_SHOWN[1])
    return Estimate(name, Interval(middle, min(low, high), max(low, high)), dots=tuple(real))


def _answers_section(result: DemoResult) -> Section:
    columns, rows = oracle_rows(result.oracles)
    estimates = [
        Estimate(
            f"{label_of(oracle)}, {oracle.terms.information.value}",
            oracle.simulated.net_bps_per_bar,
            dots=() if oracle.expected_net_bps is None else (oracle.expected_net_bps,),
        )
        for oracle in result.oracles
    ]
    axis = Axis("net basis points per bar and symbol", holds=(0.0,))
    first = result.oracles[0]
    chart = full_chart(
        "Oracles (synthetic markets)",
        partial(forest_chart, estimates, axis),
        "Large points: simulated, with 95 % intervals; small ones: expected, by dynamic "
        "programming.",
    )
    table = table_of(
        columns, [[str(cell) for cell in row] for row in rows], "After costs.", words=columns[:1]
    )
    return Section(
        "answers",
        "6 · Known answers",
        "The best result attainable on each synthetic market, by dynamic programming and by "
        f"simulation on {first.symbols} symbols × {first.bars:,} bars, seed {first.seed}, cost "
        f"{1e4 * first.terms.cost_frac:.1f} bp, long only. Learners will be judged against these.",
        [chart, table],
    )
