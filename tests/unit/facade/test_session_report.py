"""`tb.session_report`: what the journal of a session says it traded, beside the backtest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tradingbot as tb
from fixtures import portfolio_sessions as whole
from fixtures import replayed_sessions as replayed
from fixtures.watched_sessions import begin, make_session, writing
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.trades import trades_of
from tradingbot.facade.session import read_session
from tradingbot.runtime.session.folder import SessionFolder


def trade(folder: SessionFolder, until: int = replayed.STOP) -> SessionFolder:
    with writing(folder) as journal:
        journal.record(*begin(replayed.SYMBOLS), session=replayed.NAME)
    session = replayed.open_session(folder.path)
    session.run(until=until)
    session.close()
    return folder


@pytest.fixture(scope="module")
def traded(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A session of 26 bars on the built-in venue, of a generated market."""
    workspace = tmp_path_factory.mktemp("reported")
    folder = make_session(workspace, replayed.NAME, costs=replayed.COSTS, rules=replayed.RULES)
    return trade(folder)


@pytest.fixture(scope="module")
def played(traded: SessionFolder) -> Backtest:
    return read_session(traded, traded.path.parents[1])


def test_accounts_of_the_journal_are_those_of_the_backtest(played: Backtest) -> None:
    record = replayed.backtest()
    cash = replayed.RULES.account.initial_cash_ccy

    assert played.symbols == replayed.SYMBOLS
    assert played.n_bars == replayed.STOP - replayed.FIRST - 1
    np.testing.assert_allclose(played.equity[1:] * cash, record.column("equity"), rtol=1e-15)
    worth = record.column("units") * record.column("mark") / record.column("equity")
    np.testing.assert_allclose(played.position_frac, worth, rtol=1e-12)
    paid = sum(record.column(name)[-1] for name in ("commission", "slippage", "borrow"))
    before = np.concatenate([np.full((1, 3), cash), record.column("equity")[:-1]])
    np.testing.assert_allclose((played.cost_frac * before).sum(axis=0), paid, rtol=1e-9)
    assert played.synthetic
    assert played.time_zone == "America/New_York"


def test_trades_are_rebuilt_from_the_fills_of_the_venue(played: Backtest) -> None:
    record = replayed.backtest()
    expected = trades_of(
        record.fills(), record.column("mark")[-1], played.closed_at, n_symbols=len(played.symbols)
    )

    assert len(played.trades) == len(expected) > 3
    for name in ("symbol", "side", "entered_at", "exited_at", "is_open"):
        assert getattr(played.trades, name).tolist() == getattr(expected, name).tolist()
    for name in ("units", "entry_price", "exit_price", "commission_ccy", "pnl_ccy"):
        wanted = getattr(expected, name)
        np.testing.assert_allclose(getattr(played.trades, name), wanted, rtol=1e-6, atol=1e-6)


def test_report_of_a_session_is_a_page_that_says_so(traded: SessionFolder, tmp_path: Path) -> None:
    report = tb.session_report(traded.name, workspace=traded.path.parents[1])

    page = report.to_html(tmp_path / "session.html").read_text(encoding="utf-8")

    assert "Paper session on" in page
    assert "synthetic data" in page
    assert "As the journal has it" in page
    assert "Backtest of" not in page
    assert len(report.frame("trades")) == report.sheet.trades.n_trades
    assert "Trades: " in report.summary()


def test_session_of_few_bars_is_refused(tmp_path: Path) -> None:
    folder = make_session(tmp_path, replayed.NAME, costs=replayed.COSTS, rules=replayed.RULES)
    trade(folder, until=replayed.FIRST + 3)

    with pytest.raises(ConfigError, match="must have settled 9 bars to be reported, was 3"):
        tb.session_report(folder.name, workspace=tmp_path)


def test_portfolio_is_reported_as_one_account(tmp_path: Path) -> None:
    """Equity is the account's, costs and trades are those of its net orders."""
    folder = make_session(tmp_path, whole.NAME, costs=whole.COSTS, rules=whole.RULES)
    with writing(folder) as journal:
        journal.record(*begin(replayed.SYMBOLS), session=whole.NAME)
    session = whole.open_portfolio_session(folder.path)
    session.run(until=whole.STOP)
    session.close()
    played, expected = read_session(folder, tmp_path), whole.backtest()

    assert played.symbols == (PORTFOLIO,)
    assert played.held == replayed.SYMBOLS
    cash = whole.RULES.account.initial_cash_ccy
    np.testing.assert_allclose(played.equity[:, 0] * cash, expected.equity, atol=0.005)
    assert played.exposure.day.shape == (played.n_bars, 3)
    assert played.cost_frac.sum() > 0.0
    page = tmp_path / "whole.html"
    tb.session_report(whole.NAME, workspace=tmp_path).to_html(page)
    assert "Paper session" in page.read_text()
