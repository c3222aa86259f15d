"""Is it the method or one lucky training? Seeds, ablations, health."""

from __future__ import annotations

from functools import partial

from tradingbot.evaluation.dossier.analysis import Ablation, AblationRow, Seeds
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block, Figure, Figures, Points, Section
from tradingbot.evaluation.report.chart import Charts, full_chart
from tradingbot.evaluation.report.numbers import (
    bps,
    count,
    format_count,
    format_interval,
    percent,
    plain,
    share,
)
from tradingbot.evaluation.report.sections.scope import Answer, section_of
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import (
    Cell,
    Table,
    Tone,
    column,
    record_table,
    text,
    text_column,
)


def _each_seed(row: AblationRow) -> Cell:
    mean = sum(row.net_bps) / len(row.net_bps) if row.net_bps else float("nan")
    return Cell(", ".join(plain(result) for result in row.net_bps), float(mean))


_SEED_COLUMNS = (
    column("Seed", "seed", "", str),
    column("Net bp/bar", "net_bps_per_bar", "after costs, test part", signed=True),
    column("Alpha bp/bar", "alpha_bps_per_bar", "net of the market, which judges", signed=True),
    column("Sharpe", "sharpe_annual", "annual"),
    column("Return", "total_return_frac", "after costs", percent, signed=True),
    column("Agents that trade", "trading_agents", "", count),
    text_column("Failed", lambda row: text(row.failed, tone="bad")),
)
_CONTRIBUTION = "base less variant, bp per bar, with 95 % interval"
_ABLATION_COLUMNS = (
    text_column("Setting", "axis"),
    text_column("Variant", "setting"),
    column("Contribution", "contribution_bps", _CONTRIBUTION, signed=True),
    column("Variant, each seed", _each_seed, "net bp per bar, validation part"),
)


@section_of("seeds", "Seeds")
def seeds_section(_: Dossier, found: Seeds) -> Answer:
    """Show independent trainings of the same configuration."""
    if not found.rows:
        return "No other seed was trained.", None
    failed = "A training that failed counts as staying out."
    table = record_table(_SEED_COLUMNS, found.rows, failed)
    if not any(row.trading_agents or row.failed for row in found.rows):
        finding = (
            f"No agent trades: in all of {format_count(len(found.rows), 'trainings')} with other "
            "seeds validation keeps every agent out."
        )
        return finding, (table,)
    alpha = found.alpha_bps_iqm
    own = (
        f" Alpha, which judges: {bps(alpha.estimate)} per bar, 95 % {format_interval(alpha)}."
        if alpha
        else ""
    )
    finding = (
        f"{len(found.rows)} trainings with different seeds earn {bps(found.net_bps_iqm.estimate)} "
        f"per bar, 95 % {format_interval(found.net_bps_iqm)} (interquartile mean), and a Sharpe "
        f"ratio of {plain(found.sharpe_iqm.estimate)} {format_interval(found.sharpe_iqm)}. A seed "
        f"beats equal weight with a probability of {share(found.beats_hold)}.{own}"
    )
    return finding, (_seed_chart(found), table)


@section_of("ablation", "Ablation")
def ablation_section(_: Dossier, found: Ablation) -> Answer:
    """Show what single settings contribute."""
    helpful = sum(row.contribution_bps.low > 0 for row in found.rows)
    seeds = f"({len(found.seeds)} seeds, {count(found.steps_per_agent)} steps per agent)"
    finding = (
        f"{helpful} of {len(found.rows)} settings contribute more than chance explains: without "
        f"them, the policy earns less on the validation part {seeds}."
        if helpful
        else f"Of {format_count(len(found.rows), 'settings')} that could be left out, none "
        f"contributes more than chance explains, on the validation part {seeds}."
    )
    return finding, (_ablation_chart(found), _ablation_table(found))


def health_section(dossier: Dossier) -> Section:
    """Show what the flight recorder says of the training, and whether actions collapsed."""
    health, finding = dossier.health, "The policy did not collapse: its actions vary."
    is_idle = no_agent_trades(dossier)
    if is_idle:
        finding = "No agent trades, so no actions can be judged: neither collapsed nor healthy."
    elif not health.is_healthy:
        finding = "The policy is not healthy: see below before believing any figure above."
    blocks: list[Block] = [] if is_idle else [_health_figures(dossier)]
    if health.verdicts:
        signs = [f"{sign}: in {count(updates)} updates" for sign, updates in health.verdicts]
        blocks.append(Points("Warning signs during training", signs))
    for head, points in (
        ("The last ones, in words", health.words),
        ("Interventions of the trainer", health.interventions),
        ("Agents that do nearly always the same", health.collapsed_agents),
    ):
        if points:
            blocks.append(Points(head, points))
    return Section("health", "Collapse and health", finding, blocks)


def _seed_chart(found: Seeds) -> Charts:
    lived = tuple(row.net_bps_per_bar for row in found.rows if not row.failed)
    estimates = (Estimate("all seeds", found.net_bps_iqm, dots=lived),)
    draw = partial(forest_chart, estimates, Axis("net return, bp per bar", holds=(0.0,)))
    caption = (
        "Small dots are seeds, the large one is their interquartile mean with its 95 % "
        f"interval; test part, {count(found.steps_per_agent)} steps per agent."
    )
    return full_chart("Net return of each seed", draw, caption)


def _ablation_chart(found: Ablation) -> Charts:
    gains = [(f"{row.axis} = {row.setting}", row.contribution_bps) for row in found.rows]
    estimates = [
        Estimate(name, gain, "agents" if gain.low > 0 else "unsure") for name, gain in gains
    ]
    draw = partial(forest_chart, estimates, Axis("contribution, bp per bar", holds=(0.0,)))
    caption = (
        "Base less variant with 95 % intervals, bootstrap over seeds; blue where the whole "
        "interval lies above zero. Validation part, after costs."
    )
    return full_chart("What each setting contributes", draw, caption)


def _ablation_table(found: Ablation) -> Table:
    base = ", ".join(plain(result) for result in found.base_net_bps)
    earns = f"The base earns, seed by seed: {base} bp per bar." if base else "No base was trained."
    return record_table(_ABLATION_COLUMNS, found.rows, earns)


def _health_figures(dossier: Dossier) -> Figures:
    health = dossier.health
    largest = percent(health.largest_bin_frac, 0)
    reach = f"{plain(health.lowest_action)} to {plain(health.highest_action)}"
    collapsed = count(len(health.collapsed_agents))
    tone: Tone = "bad" if health.collapsed_agents else ""
    return Figures(
        (
            Figure("Entropy of actions", plain(health.entropy), "0 one action, 1 all as often"),
            Figure("Largest bin", largest, "share of the most frequent action, all agents"),
            Figure("Range of actions", reach, dossier.header.actions or "lowest and highest"),
            Figure("Collapsed agents", collapsed, "more than 95 % of actions in one bin", tone),
            Figure(
                "Lost workers", count(dossier.workers_lost), "processes replaced while evaluating"
            ),
        )
    )
