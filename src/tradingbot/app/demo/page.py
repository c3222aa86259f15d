"""The demo's HTML page: what was made, what was found, what it looks like."""

from __future__ import annotations

import numpy as np

from tradingbot import __version__
from tradingbot.app.demo.story import DemoResult
from tradingbot.app.demo.training import training_section
from tradingbot.data.quality import Severity
from tradingbot.data.sources.synthetic import regenerate
from tradingbot.data.synthetic.registry import market
from tradingbot.evaluation.figures.coverage import draw_coverage_table
from tradingbot.evaluation.figures.facts import draw_facts
from tradingbot.evaluation.figures.feature_map import draw_feature_map
from tradingbot.evaluation.figures.known_answers import AnswerBar, draw_known_answers
from tradingbot.evaluation.figures.prices import draw_prices
from tradingbot.evaluation.figures.style import REGIME_COLOURS
from tradingbot.evaluation.oracle.answers import label_of, oracle_rows
from tradingbot.evaluation.real_facts import load_real_facts
from tradingbot.evaluation.report.page import Cell, Picture, Section, Table, render_page

_SHOWN = ("SPY", "QQQ", "AAPL", "NVDA", "JPM", "XOM")
_SCALED_UNITS = {
    "standard": "standard deviations from the training mean",
    "minmax": "0 and 1: smallest and largest training value",
    "robust": "interquartile ranges from the training median",
}
_MAP_BARS = 700  # a hundred sessions: more would be finer than a pixel


def render_demo(result: DemoResult) -> str:
    """Render the page."""
    manifest = result.dataset.manifest
    made = result.config.market
    return render_page(
        title="TradingBotAI demo: synthetic market, checked and proved causal",
        subtitle="Everything on this page is synthetic unless it says real. "
        "Nothing here says anything about money earned on a real market.",
        facts={
            "dataset": f"{result.dataset.id} ({made.name}, seed {made.seed}, synthetic)",
            "universe": f"{made.universe}: {len(manifest.symbols)} symbols",
            "bars": f"{manifest.rows:,} of {made.timeframe}",
            "period": f"{manifest.first_closed_at:%Y-%m-%d} … {manifest.last_closed_at:%Y-%m-%d}",
            "feature spec": result.built.panel.manifest.spec_sha256[:16],
            "configuration": result.config.config_hash[:16],
            "version": __version__,
            **_verdict(result),
        },
        sections=[
            _market_section(result),
            _quality_section(result),
            _feature_section(result),
            _proof_section(result),
            _facts_section(result),
            _answers_section(result),
            _training_section(result),
        ],
    )


def _verdict(result: DemoResult) -> dict[str, str]:
    if result.evaluation is None:
        return {}
    memo = result.evaluation.memo
    return {"verdict": f"{memo.verdict}: {memo.headline}"}


def _training_section(result: DemoResult) -> Section:
    title = "7 · Agents that learn"
    if result.training is None:
        return Section(
            title=title,
            verdict="not trained",
            good=False,
            text="The panel is not proved free of look-ahead, so no agent may look at it.",
        )
    return training_section(result.training, title=title)


def _market_section(result: DemoResult) -> Section:
    inputs = result.built.inputs
    column = {symbol: index for index, symbol in enumerate(inputs.symbols)}
    shown = [symbol for symbol in _SHOWN if symbol in column] or list(inputs.symbols[:5])
    closes = {symbol: inputs.bars["close"][:, column[symbol]] for symbol in shown}
    made = regenerate(result.dataset.manifest.provenance)
    figure = draw_prices(
        inputs.closed_at,
        closes,
        title=f"Synthetic closes ({made.name}, seed {made.seed})",
        regimes=made.latent.get("regime"),
        regime_names=tuple(REGIME_COLOURS),
    )
    caption = f"{len(shown)} of the symbols."
    if "regime" in made.latent:
        caption += " The shading shows the regime, which no learner may see."
    return Section(
        title="1 · The market",
        verdict="synthetic",
        text=f"{made.name}: {market(made.name).summary}. "
        "The names are those of real companies; the prices are not.",
        pictures=[Picture(figure, caption)],
    )


def _quality_section(result: DemoResult) -> Section:
    report = result.quality
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    rows = [
        [str(row[key]) for key in ("severity", "code", "count", "action", "message", "example")]
        for row in report.summary_rows()
    ]
    figure = draw_coverage_table(report.coverage.by_month, title="Share of expected bars present")
    return Section(
        title="2 · Readiness",
        verdict="ready" if report.ready else "not ready",
        good=report.ready,
        text=f"{report.rows:,} bars judged: {errors} errors, {warnings} warnings, "
        f"{report.quarantined_rows} rows in quarantine.",
        tables=[Table(["severity", "code", "count", "action", "what", "example"], rows)],
        pictures=[Picture(figure, "Every symbol, every month.")],
    )


def _feature_section(result: DemoResult) -> Section:
    panel, scaler = result.built.panel, result.scaler
    column = panel.symbols.index("SPY") if "SPY" in panel.symbols else 0
    names = panel.manifest.features
    scaled = scaler.transform(
        np.asarray(panel.numpy("features")), np.asarray(panel.numpy("valid")), feature_names=names
    )
    closed_at = panel.numpy("closed_at").astype("datetime64[us]")
    figure = draw_feature_map(
        closed_at[:_MAP_BARS],
        scaled[column, :_MAP_BARS],
        np.asarray(panel.numpy("valid")[column, :_MAP_BARS]),
        names,
        title=f"{panel.symbols[column]}: what a network sees, first {_MAP_BARS} bars (synthetic)",
        unit=_SCALED_UNITS[scaler.kind],
    )
    parts = (("train", result.split.train), ("validation", result.split.validation),
             ("test", result.split.test))  # fmt: skip
    rows: list[list[Cell]] = [
        [name, len(part), str(closed_at[part.start])[:10], str(closed_at[part.stop - 1])[:10]]
        for name, part in parts
    ]
    shape = " × ".join(map(str, panel.manifest.shapes["features"]))
    return Section(
        title="3 · Features",
        verdict=f"{len(names)} + {len(panel.manifest.regimes)}",
        text=f"{len(names)} scale-free features and {len(panel.manifest.regimes)} regime "
        f"indicators as tensors of (symbols × bars × features), {shape}. The {scaler.kind} "
        f"scaler was fitted on training rows only. Purge {result.split.gap.purge_bars} and embargo "
        f"{result.split.gap.embargo_bars} bars at each boundary.",
        tables=[Table(["part", "bars", "first close", "last close"], rows)],
        pictures=[Picture(figure, "Blank at the left: the warm-up, where nothing is valid yet.")],
    )


def _proof_section(result: DemoResult) -> Section:
    report, certificate = result.proof, result.certificate
    pairs = sum(map(len, report.staggered_cuts))
    rows = [[v.subject, v.output, v.scope, v.status, f"{v.comparisons:,}"] for v in report.verdicts]
    columns = ["subject", "output", "scope", "verdict", "past values compared"]
    issued = certificate.sha256[:16] if certificate else "none"
    return Section(
        title="4 · Free of look-ahead",
        verdict="proved" if certificate else "leaks",
        good=certificate is not None,
        text=f"The future was changed, cut off and poisoned at {len(report.common_cuts)} common "
        f"cuts and {pairs:,} (symbol, cut) pairs; {report.comparisons:,} past values were "
        f"compared bit for bit. Certificate: {issued}. Without it the panel cannot be opened.",
        tables=[Table(columns, rows, folded_under=f"All {len(rows)} outputs, one by one")],
    )


def _facts_section(result: DemoResult) -> Section:
    real, label = load_real_facts()
    figure = draw_facts(
        result.facts, real, title="Stylised facts, synthetic beside real", real_label="real"
    )
    measured = real.as_dict()
    rows = [
        [name.replace("_", " "), f"{fact.median:.3g}", f"{fact.low:.3g} … {fact.high:.3g}",
         f"{measured[name].median:.3g}", f"{measured[name].low:.3g} … {measured[name].high:.3g}"]
        for name, fact in result.facts.as_dict().items()
    ]  # fmt: skip
    columns = ["fact", "synthetic: median", "quartiles", "real: median", "quartiles"]
    return Section(
        title="5 · How real it looks",
        text=f"Real: {label}. Medians and quartiles over symbols.",
        tables=[Table(columns, rows)],
        pictures=[Picture(figure, "1 is a perfect match of medians.")],
    )


def _answers_section(result: DemoResult) -> Section:
    columns, rows = oracle_rows(result.oracles)
    bars = [
        AnswerBar(
            label=f"{label_of(oracle)}, {oracle.terms.information.value}",
            expected_bps=oracle.expected_net_bps or 0.0,
            simulated_bps=oracle.simulated.net_bps_per_bar.estimate,
            low_bps=oracle.simulated.net_bps_per_bar.low,
            high_bps=oracle.simulated.net_bps_per_bar.high,
        )
        for oracle in result.oracles
    ]
    first = result.oracles[0]
    return Section(
        title="6 · Known answers",
        text="The best result attainable on each synthetic market, by dynamic programming and by "
        f"simulation on {first.symbols} symbols × {first.bars:,} bars, seed {first.seed}, cost "
        f"{1e4 * first.terms.cost_frac:.1f} bp, long only. Learners will be judged against these.",
        tables=[Table(columns, [[str(cell) for cell in row] for row in rows])],
        pictures=[Picture(draw_known_answers(bars, title="Oracles (synthetic markets)"),
                          "Basis points per bar and symbol after costs.")],
    )  # fmt: skip
