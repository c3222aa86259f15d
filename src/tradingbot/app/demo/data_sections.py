"""Sections of the demo's page on what agents see: the market, its readiness, features."""

from __future__ import annotations

from functools import partial

import numpy as np

from tradingbot.app.demo.story import DemoResult
from tradingbot.data.quality.check import Severity
from tradingbot.data.sources.synthetic import regenerate
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.synthetic.registry import market
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.chart import Charts, full_chart
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map, pixel_map
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.svg.spells import Spell, spell_chart
from tradingbot.evaluation.report.table import table_of

_SHOWN = ("SPY", "QQQ", "AAPL", "NVDA", "JPM", "XOM")
_REGIMES = ("bull", "bear", "sideways", "turbulent")
_SCALED_UNITS = {
    "standard": "standard deviations from the training mean",
    "minmax": "0 and 1: smallest and largest training value",
    "robust": "interquartile ranges from the training median",
}
_MAP_BARS = 700  # a hundred sessions: more would be finer than a pixel
_FULL_TINT = 3.0


def market_section(result: DemoResult) -> Section:
    """Show closes, and regimes where the market has them."""
    inputs = result.built.inputs
    column = {symbol: index for index, symbol in enumerate(inputs.symbols)}
    shown = [symbol for symbol in _SHOWN if symbol in column] or list(inputs.symbols[:5])
    made = regenerate(result.dataset.manifest.provenance)
    days = tuple(str(at)[:10] for at in inputs.closed_at)
    lines = [
        _rebased(
            symbol, inputs.bars["close"][:, column[symbol]], "agents" if not place else "other"
        )
        for place, symbol in enumerate(shown)
    ]
    title = f"Synthetic closes ({made.name}, seed {made.seed})"
    draw = partial(time_chart, days, lines, Axis("close, first = 100"), height=340)
    blocks = [full_chart(title, draw, f"{len(shown)} of the symbols.")]
    if "regime" in made.latent:
        blocks.append(_regime_chart(made, days))
    kappa = made.params.get("kappa")
    strength = "" if kappa is None else f", κ = {kappa:g}{'' if kappa else ': it means nothing'}"
    finding = (
        f"{made.name}: {market(made.name).summary}{strength}. The names are those of real "
        "companies; the prices are not."
    )
    return Section("market", "1 · The market", finding, blocks, badge="synthetic")


def _rebased(symbol: str, close: np.ndarray, style: str) -> LineSeries:
    first = close[np.isfinite(close)][0]
    return LineSeries(symbol, tuple((100.0 * close / first).tolist()), style)


def _regime_chart(made: SyntheticMarket, days: tuple[str, ...]) -> Charts:
    regimes = made.latent["regime"]
    edges = np.flatnonzero(np.diff(regimes)) + 1
    spells = [
        (int(regimes[a]), Spell(int(a), int(b), "neg" if regimes[a] == 1 else "pos"))
        for a, b in zip(np.r_[0, edges], np.r_[edges, len(regimes)], strict=True)
    ]
    rows = [
        (name, [spell for regime, spell in spells if regime == index])
        for index, name in enumerate(_REGIMES)
        if any(regime == index for regime, _ in spells)
    ]
    return full_chart("Regimes", partial(spell_chart, days, rows), "What no learner may see.")


def quality_section(result: DemoResult) -> Section:
    """Show what the checks found, and which bars are missing."""
    report = result.quality
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    keys = ("severity", "code", "count", "action", "message", "example")
    rows = [[str(row[key]) for key in keys] for row in report.summary_rows()]
    by_month = report.coverage.by_month
    months = [column for column in by_month.columns if column != "symbol"]
    shares = by_month.select(months).fill_null(np.nan).to_numpy()
    # Missing bars are what the eye should find: full months are pale.
    gaps = [[-(1.0 - share) for share in row] for row in shares.tolist()]
    table = HeatMap(gaps, by_month["symbol"].to_list(), months, limit=0.1, digits=3)
    chart = full_chart(
        "Share of expected bars that are missing",
        partial(heat_map, table, cell_height=18.0),
        "Every symbol, every month; the full tint is a tenth or more.",
    )
    words = ("severity", "code", "action", "what", "example")
    columns = ["severity", "code", "count", "action", "what", "example"]
    return Section(
        "readiness",
        "2 · Readiness",
        f"{report.rows:,} bars judged: {errors} errors, {warnings} warnings, "
        f"{report.quarantined_rows} rows in quarantine.",
        [table_of(columns, rows, "Findings of the checks.", words=words), chart],
        badge="ready" if report.ready else "not ready",
        tone="good" if report.ready else "bad",
    )


def feature_section(result: DemoResult) -> Section:
    """Show the parts of the data and what a network sees."""
    panel, scaler = result.built.panel, result.scaler
    column = panel.symbols.index("SPY") if "SPY" in panel.symbols else 0
    names = panel.manifest.features
    scaled = scaler.transform(
        np.asarray(panel.numpy("features")), np.asarray(panel.numpy("valid")), feature_names=names
    )
    closed_at = panel.numpy("closed_at").astype("datetime64[us]")
    valid = np.asarray(panel.numpy("valid")[column, :_MAP_BARS])
    values = np.where(valid[:, None], scaled[column, :_MAP_BARS], np.nan) / _FULL_TINT
    days = tuple(str(at)[:10] for at in closed_at[:_MAP_BARS])
    cells = values.T.tolist()
    chart = full_chart(
        f"{panel.symbols[column]}: what a network sees, first {len(days)} bars (synthetic)",
        partial(pixel_map, cells, names, days),
        "Blank at the left: the warm-up, where nothing is valid yet. Blue above 0, orange below; "
        f"the full tint is {_FULL_TINT:g} {_SCALED_UNITS[scaler.kind]}.",
    )
    parts = (("train", result.split.train), ("validation", result.split.validation),
             ("test", result.split.test))  # fmt: skip
    rows: list[list[str | float]] = [
        [name, len(part), str(closed_at[part.start])[:10], str(closed_at[part.stop - 1])[:10]]
        for name, part in parts
    ]
    shape = " × ".join(map(str, panel.manifest.shapes["features"]))
    words = ("part", "first close", "last close")
    table = table_of(["part", "bars", "first close", "last close"], rows, "UTC.", words=words)
    return Section(
        "features",
        "3 · Features",
        f"{len(names)} scale-free features and {len(panel.manifest.regimes)} regime "
        f"indicators as tensors of (symbols × bars × features), {shape}. The {scaler.kind} "
        f"scaler was fitted on training rows only. Purge {result.split.gap.purge_bars} and embargo "
        f"{result.split.gap.embargo_bars} bars at each boundary.",
        [table, chart],
        badge=f"{len(names)} + {len(panel.manifest.regimes)}",
    )
