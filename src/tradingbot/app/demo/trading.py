"""The demo's last step: the agents that were judged trade a week on the built-in paper broker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tradingbot.app.model_export import export_model
from tradingbot.app.paper.comparison import SessionComparison, compare_with_backtest
from tradingbot.app.paper.planning import SessionRequest, plan_session
from tradingbot.app.paper.running import run_to_end
from tradingbot.data.sources.source import Progress
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.table import table_of
from tradingbot.runs import RunDirectory
from tradingbot.runtime.session.folder import SessionFolder


@dataclass(frozen=True)
class TradingDemo:
    """A week on paper beside its backtest."""

    model: str
    """Version that was exported, e.g. `v1`."""
    session: str
    comparison: SessionComparison

    @property
    def words(self) -> str:
        """The result, in one line."""
        found = self.comparison
        session, backtest = found.equity_ccy
        equal = "equal to the cent" if found.is_equal_to_the_cent else f"NOT {found.difference}"
        return (
            f"{found.first_day} … {found.last_day}, {found.n_bars} bars on the paper broker: "
            f"{found.n_orders} orders, {found.n_fills[0]} fills, equity {session:,.2f}; backtest: "
            f"{found.n_fills[1]} fills, {backtest:,.2f}; {equal}"
        )


def run_trading_demo(run: RunDirectory, workspace: Path, progress: Progress) -> TradingDemo:
    """Export a run, let it trade the last week of its data on paper, and backtest the same bars.

    Limits of the session are as wide as they go, as those of a backtest: what is shown is that
    the way through stream, exported graph, gate, venue and journal changes nothing.
    """
    made = export_model(run, workspace, at=datetime.now(UTC))
    request = SessionRequest(_name_of(run), made.bundle, is_unlimited=True)
    folder = SessionFolder.create(workspace, plan_session(request, workspace))
    run_to_end(workspace, folder, progress)
    return TradingDemo(made.version.name, folder.name, compare_with_backtest(folder, workspace))


def trading_section(demo: TradingDemo, *, title: str) -> Section:
    """Return the part of a page that shows the week."""
    found = demo.comparison
    (ours, theirs), (own_fills, their_fills) = found.equity_ccy, found.n_fills
    rows = [
        ["orders filled", f"{own_fills}", f"{their_fills}"],
        ["equity at the end", f"{ours:,.2f}", f"{theirs:,.2f}"],
    ]
    is_equal = found.difference is None
    exact = "Every fill and every account is the same, bit for bit." if is_equal else ""
    return Section(
        "trading",
        title,
        f"The run was exported and traded {found.n_bars} replayed synthetic bars, "
        f"{found.first_day} … {found.last_day}, on the built-in paper broker: "
        f"bars streamed one by one, the exported graph decides, every order "
        f"passes the gate and is journaled before it is sent; {found.n_orders} were sent. Beside "
        f"it the backtest of the same bars by the trained network. {found.difference or exact}",
        [
            table_of(
                ["what", "session", "backtest"],
                rows,
                "Synthetic bars, after costs.",
                words=("what",),
            )
        ],
        badge="equal to the cent" if found.is_equal_to_the_cent else "differs",
        tone="good" if found.is_equal_to_the_cent else "bad",
    )


def _name_of(run: RunDirectory) -> str:
    return f"demo-{run.id}"[:48]
