"""A session beside the backtest of the same bars: fills one by one, equity of every account."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.backtest.backtests import PolicyUnderTest, simulate_policies
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.account_record import read_account
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.folder import SessionFolder

Traded = dict[tuple[str, datetime], float]
"""Symbol and time of the decision → signed units that were filled."""


@dataclass(frozen=True)
class SessionComparison:
    """What a session and a backtest of the same bars came to."""

    n_bars: int
    """On which something was decided."""
    first_day: str
    last_day: str
    n_orders: int
    """That the session sent."""
    n_fills: tuple[int, int]
    """Orders of which units were filled, by the session and by the backtest."""
    equity_ccy: tuple[float, float]
    """Of all accounts together at the end, by the session and by the backtest."""
    difference: str | None
    """The first one; None where every fill and every account is the same, bit for bit."""

    @property
    def is_equal_to_the_cent(self) -> bool:
        """Whether the same units were filled and the same money is there."""
        session, backtest = self.equity_ccy
        return self.n_fills[0] == self.n_fills[1] and round(session, 2) == round(backtest, 2)


def compare_with_backtest(folder: SessionFolder, workspace: Path) -> SessionComparison:
    """Backtest the run that a session's model was exported from on the session's bars.

    The backtest is PyTorch's, on a table of features computed all at once; the session streamed
    bars through an exported graph. They share the rules, not the way to them.

    Raises:
        ConfigError: If the session has not ended, or its run is not in the workspace.
    """
    settings = folder.settings()
    if settings.stop_bar is None:
        rule = "only a session on replayed bars can be compared"
        raise ConfigError(rule, was=f"bars {settings.bars}", where=folder.name)
    subject = open_evaluated_run(settings.run, workspace)
    bars, clock = IndexRange(settings.first_bar, settings.stop_bar), subject.data.world.closed_at
    env = EnvConfig(rules=settings.rules, costs=settings.costs)
    policy = PolicyUnderTest(settings.run, subject.policy)
    record = simulate_policies(subject.data.world, env, [policy], bars)
    closed_at = [as_datetime(np.datetime64(int(at), "us")) for at in clock[bars.start : bars.stop]]
    made: Traded = {
        (symbol, closed_at[step]): units
        for step, row in enumerate(record.column("fill_units").tolist())
        for symbol, units in zip(subject.data.world.symbols, row, strict=True)
        if units
    }
    with JournalReader.at(folder.journal_address) as journal:
        state, orders = journal.state(folder.name), journal.orders(folder.name)
    if state is None or state.at != closed_at[-1]:
        rule = "a session must have ended to be compared"
        remedy = f"tradingbot paper resume {folder.name}"
        raise ConfigError(rule, was="not ended", where=folder.name, remedy=remedy)
    exact: dict[tuple[str, datetime], Decimal] = defaultdict(Decimal)
    for order in orders:
        for fill in order.fills:
            exact[order.intent.symbol, order.intent.decided_at] += fill.signed_units
    filled = {key: float(units) for key, units in exact.items()}
    ours = read_account(state.account).equity.tolist()
    theirs = record.column("equity")[-1].tolist()
    return SessionComparison(
        len(bars) - 1,
        f"{closed_at[0]:%Y-%m-%d}",
        f"{closed_at[-1]:%Y-%m-%d}",
        sum(not order.reason for order in orders),
        (len(filled), len(made)),
        (sum(ours), sum(theirs)),
        _first_difference(filled, made) or _other_money(subject.data.world.symbols, ours, theirs),
    )


def _first_difference(ours: Traded, theirs: Traded) -> str | None:
    for symbol, at in sorted({*ours, *theirs}, key=lambda each: each[::-1]):
        was, wanted = (each.get((symbol, at), 0.0) for each in (ours, theirs))
        if was != wanted:
            return f"{symbol} {at}: the session filled {was!r} units, the backtest {wanted!r}"
    return None


def _other_money(symbols: tuple[str, ...], ours: list[float], theirs: list[float]) -> str | None:
    for symbol, was, wanted in zip(symbols, ours, theirs, strict=True):
        if was != wanted:
            return f"{symbol}: the session's account holds {was!r}, the backtest's {wanted!r}"
    return None
