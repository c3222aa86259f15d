"""`tb.session_report`: what a session really traded, by its journal, as the same report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tradingbot.data.calendar import TradingCalendar, time_zone_of
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.session import SessionStarted, SessionStateSaved
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.result import AccountTotals
from tradingbot.evaluation.backtest.trades import Fills, FloatArray, trades_of
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.report.backtest_page import HistoryWords, render_backtests
from tradingbot.facade.bars import open_workspace
from tradingbot.facade.report import Report, report_of_played
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.settings import SessionSettings

if TYPE_CHECKING:
    from tradingbot.domain.order import Order

_PAID = ("commission_paid", "slippage_paid", "borrow_paid")
_FEWEST_STATES = 9


def session_report(name: str, *, workspace: str | Path | None = None) -> Report:
    """Return the report of what a session traded: page, figures and frames from its journal.

    Equity, positions and costs are those that the session saved at every bar; trades are rebuilt
    from the fills of the venue. Reads the journal alone, also while the session runs.

    Args:
        name: Of the session.
        workspace: Where it is.

    Raises:
        ConfigError: If there is no such session, or it has settled fewer than nine bars.
        MissingExtraError: If what reads journals is not installed.
    """
    folder = SessionFolder.open(open_workspace(workspace), name)
    played = read_session(folder, open_workspace(workspace))
    return report_of_played(played, partial(_render, played, folder.settings()))


def read_session(folder: SessionFolder, workspace: Path) -> Backtest:
    """Return what a session did as the record that every evaluation reads.

    Slippage is that of the accounts, not of single fills; actions and rewards are not told.

    Raises:
        ConfigError: If the session has settled too few bars.
    """
    from tradingbot.runtime.journal.reading import JournalReader

    settings = folder.settings()
    with JournalReader.at(folder.journal_address) as journal:
        states = [
            each
            for each in journal.events(folder.name, SessionStateSaved)
            if isinstance(each, SessionStateSaved)
        ]
        begun = journal.newest(folder.name, limit=1, kind=SessionStarted)
        orders = journal.orders(folder.name)
    states = list({each.at: each for each in states}.values())  # a restart saves a bar again
    if len(states) < _FEWEST_STATES:
        rule = f"a session must have settled {_FEWEST_STATES} bars to be reported"
        raise ConfigError(rule, was=len(states), where=folder.name, remedy="Let it trade on")
    started = begun[0].event
    assert isinstance(started, SessionStarted)
    return _as_backtest(folder.name, settings, states, started.symbols, orders, workspace)


def _as_backtest(
    name: str,
    settings: SessionSettings,
    states: Sequence[SessionStateSaved],
    symbols: tuple[str, ...],
    orders: Sequence[Order],
    workspace: Path,
) -> Backtest:
    closed_at = np.array([_micros(each.at) for each in states])
    fields = [each.account["fields"] for each in states]

    def column(field: str) -> FloatArray:
        return np.array([each[field] for each in fields], dtype=np.float64)

    units, mark = column("units"), column("mark")
    equity, is_one = column("cash") + units * mark, "portfolio" in states[0].account

    def pool(values: FloatArray) -> FloatArray:
        """Add up what belongs to one account."""
        return np.asarray(values.sum(axis=-1, keepdims=True)) if is_one else values

    if is_one:  # lanes are worth their sleeves' capital; other cash is in none
        cash = np.array([each.account["portfolio"]["cash"] for each in states])
        equity = cash + pool(units * mark)
    before, held = equity[:-1], units[:-1]
    paid = sum(np.diff(column(field), axis=0) for field in _PAID)
    fills = _fills(orders, symbols, closed_at)
    filled = np.zeros_like(held)
    np.add.at(filled, (fills.step - 1, fills.lane), fills.units)
    trades = trades_of(fills, mark[-1], closed_at, n_symbols=len(symbols))
    return Backtest(
        policy=name,
        label=f"{settings.dataset or 'a generated market'}, {settings.bars} at {settings.broker}",
        synthetic=_is_synthetic(settings, workspace),
        symbols=(PORTFOLIO,) if is_one else symbols,
        closed_at=closed_at,
        bars_per_year=_bars_per_year(settings, closed_at),
        equity=equity / equity[0],
        position_frac=_share(pool((units * mark)[1:]), equity[1:]),
        exposure=Exposure(
            _share(held * mark[:-1], before), _share((held + filled) * mark[:-1], before)
        ),
        turnover_frac=_share(pool(np.diff(column("turnover"), axis=0)), before),
        cost_frac=_share(pool(np.asarray(paid)), before),
        action=np.zeros_like(before),
        reward_names=(),
        reward_terms=np.zeros((0, equity.shape[1])),
        denials=pool(column("denials")[-1]).astype(np.int64),
        trades=replace(trades, symbol=np.zeros_like(trades.symbol)) if is_one else trades,
        costs=settings.costs,
        delay_bars=0,
        initial_cash_ccy=float(equity[0, 0]),
        account=AccountTotals(
            realised_ccy=pool(column("realised")[-1]),
            commission_ccy=pool(column("commission_paid")[-1]),
            slippage_ccy=pool(column("slippage_paid")[-1]),
            turnover_ccy=pool(column("turnover")[-1]),
        ),
        held=symbols if is_one else (),
        close=None if is_one else np.where(mark > 0.0, mark, np.nan),
        time_zone=time_zone_of(settings.calendar),
        fills=None if is_one else fills,
    )


def _fills(
    orders: Sequence[Order], symbols: tuple[str, ...], closed_at: np.ndarray[Any, Any]
) -> Fills:
    """Return the venue's executions by symbol and time; each lies in the bar after its decision."""
    places = {symbol: place for place, symbol in enumerate(symbols)}
    found = sorted(
        (
            (places[fill.symbol], _step_of(order, fill.filled_at, closed_at), fill)
            for order in orders
            for fill in order.fills
        ),
        key=lambda each: (each[0], each[1], each[2].filled_at),
    )
    left, held = [], {place: 0 * fill.signed_units for place, _, fill in found}
    for place, _, fill in found:
        held[place] += fill.signed_units  # exact: a position that is closed is 0
        left.append(float(held[place]))
    return Fills(
        step=np.array([step for _, step, _ in found], dtype=np.int64),
        lane=np.array([place for place, _, _ in found], dtype=np.int64),
        units=np.array([float(fill.signed_units) for _, _, fill in found]),
        price=np.array([float(fill.price) for _, _, fill in found]),
        fee=np.array([float(fill.fee_ccy) for _, _, fill in found]),
        slippage=np.zeros(len(found)),
        left=np.array(left),
        reason=np.zeros(len(found), dtype=np.int64),
    )


def _step_of(order: Order, filled_at: Any, closed_at: np.ndarray[Any, Any]) -> int:
    decided = int(np.searchsorted(closed_at, _micros(order.intent.decided_at), side="right"))
    executed = int(np.searchsorted(closed_at, _micros(filled_at), side="left"))
    return min(max(decided, executed, 1), len(closed_at) - 1)


def _bars_per_year(settings: SessionSettings, closed_at: np.ndarray[Any, Any]) -> float:
    first, last = closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    calendar = TradingCalendar.load(settings.calendar, first.item(), last.item())
    return calendar.bars_per_year(Timeframe.parse(settings.timeframe), BarGrid(settings.grid))


def _is_synthetic(settings: SessionSettings, workspace: Path) -> bool:
    """Tell whether bars were generated: by the run itself, or in the dataset that is replayed."""
    if settings.dataset is None:
        return True
    store = BarStore(workspace)
    stored = store.open_content(settings.data_sha256) or store.open(settings.dataset)
    return stored.manifest.provenance.synthetic


def _micros(moment: Any) -> int:
    return int(moment.timestamp() * 1_000_000)


def _share(values: FloatArray, of: FloatArray) -> FloatArray:
    whole = np.broadcast_to(of, values.shape)
    return np.divide(values, whole, out=np.zeros_like(values), where=whole > 0.0)


def _render(played: Backtest, settings: SessionSettings) -> str:
    words = HistoryWords(
        kind="Paper session",
        synthetic="Synthetic bars: nothing here was earned on a real market.",
        observed=f"Paper trading at {settings.broker}: no money was at stake.",
        finding="As the journal has it: accounts at every close, fills of the venue, after costs.",
    )
    terms = f"{played.label}; run {settings.run}; model {settings.model_sha256[:12]}."
    return render_backtests([played], [policy_performance(played, "agents")], terms, words)
