"""Does the pipeline find an edge where there is none, or see the future?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.evidence import LeakCheck, PlaceboRow, Placebos
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block, Figure, Figures, Points, Section
from tradingbot.evaluation.report.chart import Charts, full_chart
from tradingbot.evaluation.report.numbers import bps, count, percent, plain
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.forest import Estimate, ForestRow, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, Table, Tone, column, record_table, text_column

_DECLARED = "share of draws in which the pipeline's own test finds an edge"
_COLUMNS = (
    text_column("Placebo", lambda row: Cell(row.placebo, row.placebo.lower(), note=row.words)),
    column("Draws", "draws", "", count),
    column("Net bp/bar", "net_bps_per_bar", "over draws, with 95 % interval", signed=True),
    column("Beaten", "share_beaten_frac", "share of draws below the agents' alpha", percent),
    column("Edge declared", "edge_found_frac", _DECLARED, percent),
    column("Allowed", "allowed_frac", "largest such share that noise explains, 95 %", percent),
)

_IDLE_CELL = Cell("– no agent trades", 0.5, tone="soft")


@section_of("placebos", "Placebos")
def placebos_section(dossier: Dossier, found: Placebos) -> Answer:
    """Show what the pipeline says where nothing can be earned."""
    if not found.rows:
        return "No placebo could be drawn.", None
    is_idle = no_agent_trades(dossier)
    judged = [row for row in found.rows if _is_judged(row) and not (is_idle and _is_flat(row))]
    clean = sum(row.is_clean for row in judged)
    finding = (
        f"Clean placebos: {clean} of {len(judged)}. Where nothing can be earned, the pipeline must "
        f"declare no more edges than chance explains."
    )
    if is_idle:
        finding = finding if judged else "No placebo could be judged."
        finding += (
            " No agent trades, so placebos that the agents would trade on say nothing and do not "
            "count."
        )
    return finding, (_chart(dossier, found), _table(found, is_idle=is_idle))


def leak_section(dossier: Dossier) -> Section:
    """Show whether the future could have been seen."""
    found = dossier.leak_check
    finding = (
        "Nothing suggests that the policy has seen the future."
        if found.is_clean
        else "The future may have been seen: no figure of this page can be relied on."
    )
    if found.is_clean and found.gap:
        finding = "Nothing suspicious was found, but not everything was looked at."
    figures = _leak_figures(found)
    if no_agent_trades(dossier):
        if found.is_clean and not found.gap:
            finding += " No agent trades, so that says little: staying out needs no knowledge."
        figures = [replace(each, tone="") if each.tone == "good" else each for each in figures]
    blocks: list[Block] = [Figures(figures)]
    if found.words:
        blocks.append(Points("What is suspicious", found.words, tone="bad"))
    if found.gap:
        blocks.append(Points("What was not looked at", (found.gap,)))
    return Section("leak-check", "Leak check", finding, blocks)


def _chart(dossier: Dossier, found: Placebos) -> Charts:
    agents = dossier.test.policies[0].net_bps_per_bar
    estimates = [Estimate("the agents", agents)]
    estimates += [Estimate(row.placebo, row.net_bps_per_bar, "unsure") for row in found.rows]
    axis = Axis("net return, bp per bar", holds=(0.0,))
    lines = (ForestRow(agents.estimate, "real result"),)
    draw = partial(forest_chart, estimates, axis, lines=lines)
    caption = f"Dots with 95 % intervals; {scope(dossier)}."
    return full_chart("The real result beside the placebos", draw, caption)


def _table(found: Placebos, *, is_idle: bool) -> Table:
    def outcome(row: PlaceboRow) -> Cell:
        return _IDLE_CELL if is_idle and _is_flat(row) else _outcome(row)

    caption = "The same policy, or chance, where nothing can be earned."
    return record_table((*_COLUMNS, text_column("Clean?", outcome)), found.rows, caption)


def _is_flat(row: PlaceboRow) -> bool:
    """Tell whether nothing was earned or lost in any draw."""
    net = row.net_bps_per_bar
    return net.estimate == 0 and not net.low < 0 and not net.high > 0


def _is_judged(row: PlaceboRow) -> bool:
    """Tell whether so few draws can fail at all."""
    return row.allowed_frac < 1.0


def _outcome(row: PlaceboRow) -> Cell:
    if not _is_judged(row):
        return Cell("– not judged", 0.5, tone="soft")
    words = "✓ clean" if row.is_clean else "✗ edges in noise"
    return Cell(words, float(row.is_clean), tone="good" if row.is_clean else "bad")


def _leak_figures(found: LeakCheck) -> list[Figure]:
    delays = ", ".join(bps(net) for net in found.delayed_net_bps) or plain(None)
    certificate = (found.certificate_sha256 or "")[:12]
    proof = "of the features' proof" if certificate else "the market was made in memory"
    changed = f"{count(found.actions_changed)} of {count(found.actions_compared)}"
    must = "changed when the bars after the decision were changed; must be 0"
    is_same = found.actions_changed == 0 and found.actions_compared
    better: tuple[str, Tone] = ("yes", "bad") if found.better_than_oracle else ("no", "")
    honest = "nothing honest earns more than the market holds"
    return [
        Figure("Actions with another future", changed, must, "good" if is_same else "bad"),
        _feature_figure(found),
        Figure("Delay of 0, 1, 2, 3 bars", delays, "a leak dies with the first bar of delay"),
        Figure("Causality certificate", certificate or "none", proof),
        Figure("Better than the oracle?", better[0], honest, better[1]),
    ]


def _feature_figure(found: LeakCheck) -> Figure:
    """Show how many values of features were computed anew; soft where no bars could be read."""
    name = "Feature values with another future"
    if not found.features_compared:
        return Figure(name, plain(None), "the bars of these features cannot be read any more")
    changed = f"{count(found.features_changed)} of {count(found.features_compared)}"
    must = "changed when computed anew from bars that were changed later; must be 0"
    return Figure(name, changed, must, "good" if found.features_changed == 0 else "bad")
