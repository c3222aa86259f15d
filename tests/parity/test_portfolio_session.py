"""The same bars through a portfolio's backtest and its session: the same orders, to the cent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures.drawn_portfolios import SYMBOLS
from fixtures.portfolio_sessions import FIRST, NAME, STOP, backtest, open_portfolio_session
from fixtures.replayed_sessions import proof_of
from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.domain.trading_state import TradingState
from tradingbot.market.portfolio.account import PortfolioAccount
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.session.account_record import write_account
from tradingbot.runtime.session.control import kill
from tradingbot.runtime.session.folder import Request
from tradingbot.runtime.session.verification import verify_day

CENT = 0.005


@pytest.mark.parametrize(("kind", "parts"), [("calm", 1), ("calm", 3), ("eager", 1), ("exits", 1)])
def test_portfolio_on_paper_is_its_backtest_to_the_cent(
    tmp_path: Path, kind: str, parts: int
) -> None:
    played, options = backtest(kind), PaperOptions(parts=parts)
    opened = open_portfolio_session(tmp_path, kind=kind, options=options).run(STOP)
    session, journal = opened.session, opened.journal
    account = session.account
    assert isinstance(account, PortfolioAccount)

    orders = journal.orders(NAME)
    filled = {
        (order.intent.symbol, order.intent.decided_at): float(
            sum(fill.signed_units for fill in order.fills)
        )
        for order in orders
    }
    bars = list(session.source.bars())
    n_filled = 0
    for step in range(STOP - FIRST - 1):
        for lane, symbol in enumerate(SYMBOLS):
            was = filled.get((symbol, bars[FIRST + step].closed_at), 0.0)
            wanted = played.fills[step, lane]
            assert was == pytest.approx(wanted, abs=2e-8), (step, symbol)
            n_filled += was != 0.0
    assert n_filled > 40
    states = list(journal.events(NAME, SessionStateSaved))
    equity = [float(each.equity_ccy) for each in states if isinstance(each, SessionStateSaved)]
    np.testing.assert_allclose(equity, played.equity, atol=CENT)
    np.testing.assert_allclose(account.capital.numpy(), played.capital[-1], atol=1e-9)
    assert float(opened.broker.account().equity_ccy) == pytest.approx(equity[-1], abs=CENT)
    opened.close()


def test_every_decision_of_a_portfolio_is_proved_again(tmp_path: Path) -> None:
    opened = open_portfolio_session(tmp_path).run(STOP)
    made = [each.decided_at.date() for each in opened.journal.decisions(NAME)]
    opened.close()
    again = open_portfolio_session(tmp_path)
    verified = verify_day(proof_of(again.session), made[-1])
    assert verified.difference is None
    assert verified.n_decisions == made.count(made[-1])
    again.close()


def test_another_master_is_found_out_by_the_proof(tmp_path: Path) -> None:
    """Decisions that follow from other weights are named, with the field that differs."""
    opened = open_portfolio_session(tmp_path).run(FIRST + 6)
    day = opened.journal.decisions(NAME)[-1].decided_at.date()
    opened.close()
    again = open_portfolio_session(tmp_path)
    real = again.session.model

    class Other:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def allocate(self, inputs: np.ndarray) -> np.ndarray:
            return np.roll(real.allocate(inputs), 1)

    again.session.model = Other()
    verified = verify_day(proof_of(again.session), day)
    assert verified.difference is not None
    assert "raw_action" in verified.difference
    again.close()


def test_resumed_portfolio_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """Sleeves are had again from the bars; the account from the journal, bit for bit."""
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole = open_portfolio_session(tmp_path / "whole").run(STOP)
    for until in (FIRST + 3, FIRST + 12):
        part = open_portfolio_session(tmp_path / "parts")
        part.session.resume()
        part.run(until).close()
    last = open_portfolio_session(tmp_path / "parts")
    last.session.resume()
    last.run(STOP)

    ours, theirs = (
        [repr(each) for each in opened.journal.decisions(NAME)] for opened in (whole, last)
    )
    assert ours == theirs
    accounts = [each.session.account for each in (whole, last)]
    assert all(isinstance(each, PortfolioAccount) for each in accounts)
    assert write_account(accounts[0]) == write_account(accounts[1])
    whole.close()
    last.close()


def test_killed_portfolio_sells_all_and_books_it(tmp_path: Path) -> None:
    opened = open_portfolio_session(tmp_path).run(FIRST + 6)
    session = opened.session
    assert opened.broker.positions()
    asked = Request("kill", by="ada", reason="rehearsal", flatten=True)
    bars = [bar for bar in session.source.bars() if bar.number in (FIRST + 6, FIRST + 7)]
    assert session.bar is not None
    kill(session, asked, session.bar.closed_at)
    for bar in bars:
        session.take(bar, bar.closed_at)

    assert not opened.broker.positions()
    assert session.trading_state is TradingState.HALTED
    account = session.account
    assert isinstance(account, PortfolioAccount)
    assert (account.units == 0.0).all()
    assert session.equity_ccy == pytest.approx(float(opened.broker.account().equity_ccy), abs=CENT)
    opened.close()
