"""Is it the method or one lucky training? Seeds, ablations, health."""

from __future__ import annotations

from tradingbot.evaluation.dossier.analysis import Ablation, Health, Seeds
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import (
    Block,
    Chart,
    Charts,
    Column,
    Figure,
    Figures,
    Points,
    Section,
    Table,
    number,
    text,
)
from tradingbot.evaluation.report.numbers import (
    bps,
    count,
    format_count,
    format_interval,
    percent,
    plain,
    share,
)
from tradingbot.evaluation.report.sections.scope import FULL_PX, NARROW_PX, left_out
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis

_SEED_COLUMNS = (
    Column("Seed"),
    Column("Net bp/bar", "after costs, test part"),
    Column("Sharpe", "annual"),
    Column("Return", "after costs"),
    Column("Agents that trade"),
    Column("Failed", is_number=False),
)
_ABLATION_COLUMNS = (
    Column("Setting", is_number=False),
    Column("Variant", is_number=False),
    Column("Contribution", "base less variant, bp per bar, with 95 % interval"),
    Column("Variant, each seed", "net bp per bar, validation part"),
)


def seeds_section(dossier: Dossier) -> Section:
    """Show independent trainings of the same configuration."""
    title, found = "Seeds", dossier.seeds
    if found is None:
        return left_out(dossier, "seeds", title)
    if not found.rows:
        return Section("seeds", title, "No other seed was trained.", is_left_out=True)
    if not any(row.trading_agents or row.failed for row in found.rows):
        finding = (
            f"No agent trades: in all of {format_count(len(found.rows), 'trainings')} with other "
            "seeds validation keeps every agent out."
        )
        return Section("seeds", title, finding, (_seed_table(found),))
    finding = (
        f"{len(found.rows)} trainings with different seeds earn {bps(found.net_bps_iqm.estimate)} "
        f"per bar, 95 % {format_interval(found.net_bps_iqm)} (interquartile mean), and a Sharpe "
        f"ratio of {plain(found.sharpe_iqm.estimate)} {format_interval(found.sharpe_iqm)}. A seed "
        f"beats equal weight with a probability of {share(found.beats_hold)}."
    )
    return Section("seeds", title, finding, (_seed_chart(found), _seed_table(found)))


def ablation_section(dossier: Dossier) -> Section:
    """Show what single settings contribute."""
    title, found = "Ablation", dossier.ablation
    if found is None:
        return left_out(dossier, "ablation", title)
    helpful = sum(row.contribution_bps.low > 0 for row in found.rows)
    seeds = f"({len(found.seeds)} seeds, {count(found.steps_per_agent)} steps per agent)"
    finding = (
        f"{helpful} of {len(found.rows)} settings contribute more than chance explains: without "
        f"them, the policy earns less on the validation part {seeds}."
        if helpful
        else f"Of {format_count(len(found.rows), 'settings')} that could be left out, none "
        f"contributes more than chance explains, on the validation part {seeds}."
    )
    return Section("ablation", title, finding, (_ablation_chart(found), _ablation_table(found)))


def health_section(dossier: Dossier) -> Section:
    """Show what the flight recorder says of the training, and whether actions collapsed."""
    health, finding = dossier.health, "The policy did not collapse: its actions vary."
    is_idle = no_agent_trades(dossier)
    if is_idle:
        finding = "No agent trades, so no actions can be judged: neither collapsed nor healthy."
    elif not health.is_healthy:
        finding = "The policy is not healthy: see below before believing any figure above."
    blocks: list[Block] = [] if is_idle else [_health_figures(health)]
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
    lived = [row for row in found.rows if not row.failed]
    estimates = (
        Estimate("all seeds", found.net_bps_iqm, dots=tuple(row.net_bps_per_bar for row in lived)),
    )
    axis = Axis("net return, bp per bar", holds=(0.0,))
    return Charts(
        (
            Chart(
                "Net return of each seed",
                forest_chart(estimates, axis, width=FULL_PX),
                f"Small dots are seeds, the large one is their interquartile mean with its 95 % "
                f"interval; test part, {count(found.steps_per_agent)} steps per agent.",
                narrow=forest_chart(estimates, axis, width=NARROW_PX),
            ),
        ),
        "full",
    )


def _seed_table(found: Seeds) -> Table:
    rows = [
        [
            number(str(row.seed), row.seed),
            number(plain(row.net_bps_per_bar, signed=True), row.net_bps_per_bar),
            number(plain(row.sharpe_annual), row.sharpe_annual),
            number(percent(row.total_return_frac, signed=True), row.total_return_frac),
            number(count(row.trading_agents), row.trading_agents),
            text(row.failed, tone="bad"),
        ]
        for row in found.rows
    ]
    return Table(_SEED_COLUMNS, rows, "A training that failed counts as staying out.")


def _ablation_chart(found: Ablation) -> Charts:
    estimates = [
        Estimate(
            f"{row.axis} = {row.setting}",
            row.contribution_bps,
            "agents" if row.contribution_bps.low > 0 else "unsure",
        )
        for row in found.rows
    ]
    axis = Axis("contribution, bp per bar", holds=(0.0,))
    return Charts(
        (
            Chart(
                "What each setting contributes",
                forest_chart(estimates, axis, width=FULL_PX),
                "Base less variant with 95 % intervals, bootstrap over seeds; blue where the whole "
                "interval lies above zero. Validation part, after costs.",
                narrow=forest_chart(estimates, axis, width=NARROW_PX),
            ),
        ),
        "full",
    )


def _ablation_table(found: Ablation) -> Table:
    rows = [
        [
            text(row.axis),
            text(row.setting),
            number(
                plain(row.contribution_bps.estimate, signed=True),
                row.contribution_bps.estimate,
                note=format_interval(row.contribution_bps),
            ),
            number(
                ", ".join(plain(result) for result in row.net_bps),
                sum(row.net_bps) / len(row.net_bps) if row.net_bps else float("nan"),
            ),
        ]
        for row in found.rows
    ]
    base = ", ".join(plain(result) for result in found.base_net_bps)
    caption = (
        f"The base earns, seed by seed: {base} bp per bar." if base else "No base was trained."
    )
    return Table(_ABLATION_COLUMNS, rows, caption)


def _health_figures(health: Health) -> Figures:
    return Figures(
        (
            Figure("Entropy of actions", plain(health.entropy), "0 one action, 1 all as often"),
            Figure(
                "Largest bin",
                percent(health.largest_bin_frac, 0),
                "share of the most frequent action, all agents",
            ),
            Figure(
                "Range of actions",
                f"{plain(health.lowest_action)} to {plain(health.highest_action)}",
                "1 is all long, 0 out, −1 all short",
            ),
            Figure(
                "Collapsed agents",
                count(len(health.collapsed_agents)),
                "more than 95 % of actions in one bin",
                "bad" if health.collapsed_agents else "",
            ),
        )
    )
