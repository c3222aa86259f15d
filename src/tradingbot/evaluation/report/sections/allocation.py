"""How did the master divide capital? Weights, cash, and what each sleeve did by itself."""

from __future__ import annotations

from tradingbot.evaluation.dossier.allocation import Allocation, SleeveRow
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.numbers import percent
from tradingbot.evaluation.report.sections.scope import scope
from tradingbot.evaluation.report.table import column, record_table, text, text_column

_COLUMNS = (
    text_column("Sleeve", lambda row: text(row.symbol, tone="strong")),
    column("Mean weight", "mean_weight_frac", "capital asked for it", percent, is_barred=True),
    column("Most", "most_weight_frac", "largest weight of a bar", percent),
    column("Sharpe alone", "sharpe_annual", "of its own account, annual"),
    column("Return alone", "total_return_frac", "of its own account", percent, signed=True),
    column("Earned", "pnl_ccy", "by the portfolio in this symbol, account currency", signed=True),
)


def allocation_section(dossier: Dossier, found: Allocation) -> Section:
    """Show weights and cash of a master."""
    finding = (
        f"In nine of ten bars cash, what is in no position, was between "
        f"{percent(found.least_cash_frac)} and {percent(found.most_cash_frac)} of the portfolio, "
        f"{percent(found.mean_cash_frac)} on average; "
        f"{percent(found.moved_per_bar_frac)} of capital was asked to move per bar. A fixed "
        f"allocation of the same sleeves ({found.fixed}) earned "
        f"{percent(abs(found.over_fixed_annual_frac))} a year "
        f"{'less' if found.over_fixed_annual_frac >= 0.0 else 'more'}{_adds(found)}. Sleeves are "
        f"traded by {found.traded_by}."
    )
    ranked = sorted(found.rows, key=_rank)
    caption = f"One line per sleeve, largest mean weight first; {scope(dossier)}."
    table = record_table(_COLUMNS, ranked, caption)
    return Section("allocation", "Allocation", finding, (table,))


def _adds(found: Allocation) -> str:
    """Say what the master adds to alpha, bar by bar; nothing in older dossiers."""
    adds = found.over_fixed_bps
    if adds is None:
        return ""
    ends = f"[{adds.low:.2f}, {adds.high:.2f}]"
    return f"; over it the master adds {adds.estimate:.2f} {ends} bp per bar of alpha"


def _rank(row: SleeveRow) -> tuple[float, str]:
    return (-row.mean_weight_frac, row.symbol)
