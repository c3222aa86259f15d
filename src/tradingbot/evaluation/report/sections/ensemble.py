"""Are these many agents, or one many times? Correlations and contributions."""

from __future__ import annotations

from tradingbot.evaluation.dossier.analysis import Ensemble
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.report.blocks import Block, Points
from tradingbot.evaluation.report.chart import HALF_PX, Chart, Charts
from tradingbot.evaluation.report.numbers import plain
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.bars import row_chart
from tradingbot.evaluation.report.svg.heat_map import correlation_map

_SHOWN = 10
_PAIRS = 12


@section_of("ensemble", "Ensemble")
def ensemble_section(dossier: Dossier, found: Ensemble) -> Answer:
    """Show how the agents' returns hang together."""
    if len(found.agents) < 2:
        return "Fewer than two agents trade: nothing to compare.", None
    finding = (
        f"{len(found.agents)} trading agents are worth {plain(found.effective_agents, 1)} "
        f"independent ones; their returns correlate by {plain(found.mean_correlation)} on average. "
        f"Together they fluctuate {plain(found.diversification_ratio, 1)} times less than one "
        f"does alone."
    )
    cells = correlation_map(found.agents, found.correlation, width=HALF_PX)
    caption = f"Blue: together; orange: opposite. {scope(dossier).capitalize()}."
    added, title = _marginal(found), "What each agent adds to the portfolio's Sharpe ratio"
    charts = [
        Chart("Correlation of net returns between agents", cells, caption),
        Chart(title, row_chart(added, width=HALF_PX), _marginal_words(found)),
    ]
    blocks: list[Block] = [Charts(charts)]
    if found.redundant:
        head = "Pairs that do nearly the same (correlation above 0.9)"
        blocks.append(Points(head, _pairs(found)))
    return finding, blocks


def _marginal(found: Ensemble) -> list[tuple[str, float, str]]:
    ranked = sorted(found.marginal_sharpe, key=lambda pair: (-pair[1], pair[0]))
    if len(ranked) > 2 * _SHOWN:
        ranked = [*ranked[:_SHOWN], *ranked[-_SHOWN:]]
    return [(name, gain, plain(gain, 3, signed=True)) for name, gain in ranked]


def _marginal_words(found: Ensemble) -> str:
    words = "Annual Sharpe ratio with the agent less that without it."
    if len(found.marginal_sharpe) > 2 * _SHOWN:
        words += f" The {_SHOWN} that add most and the {_SHOWN} that add least."
    return words


def _pairs(found: Ensemble) -> list[str]:
    ranked = sorted(found.redundant, key=lambda pair: -pair[2])
    words = [f"{first} and {second}: {plain(size)}" for first, second, size in ranked[:_PAIRS]]
    if len(ranked) > _PAIRS:
        words.append(f"and {len(ranked) - _PAIRS} more pairs")
    return words
