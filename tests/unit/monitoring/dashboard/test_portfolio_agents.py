"""Agents of a portfolio's session: what each made, whatever capital the master moved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures import portfolio_sessions as whole
from fixtures import replayed_sessions as replayed
from fixtures.dashboard_pages import run_page, words_of
from fixtures.watched_sessions import begin, make_session, watch, writing
from tradingbot.evaluation.report.numbers import bps
from tradingbot.runtime.brokers.paper.broker import PaperOptions
from tradingbot.runtime.journal.reading import JournalReader

START = whole.RULES.account.initial_cash_ccy


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of a portfolio that moved capital among its sleeves at every bar."""
    folder = tmp_path_factory.mktemp("portfolio")
    venue = {"costs": whole.COSTS, "rules": whole.RULES}
    session = make_session(folder, whole.NAME, **venue, venue=PaperOptions(START))
    with writing(session) as journal:
        journal.record(*begin(replayed.SYMBOLS), session=whole.NAME)
    opened = whole.open_portfolio_session(session.path)
    opened.run(until=whole.STOP)
    opened.close()
    return folder


def traded(workspace: Path) -> dict[str, float]:
    """Return what each symbol made by the fills of the venue and the last closes."""
    watched = watch(workspace)
    agents = watched.agents(whole.NAME)
    assert agents is not None
    marks = dict(zip(replayed.SYMBOLS, agents.accounts()[-1].mark, strict=True))
    made = dict.fromkeys(replayed.SYMBOLS, 0.0)
    place = watched.place(whole.NAME)
    assert place is not None
    with JournalReader(place.address) as journal:
        for fill in journal.fills(whole.NAME):
            units, price = float(fill.signed_units), float(fill.price)
            made[fill.symbol] += units * (marks[fill.symbol] - price) - float(fill.fee_ccy)
    return made


def test_moved_capital_is_no_profit_of_a_sleeve(workspace: Path) -> None:
    agents = watch(workspace).agents(whole.NAME)
    assert agents is not None
    rows = agents.accounts()
    moved = np.ptp([row.equity for row in rows], axis=0)

    assert all(row.is_portfolio for row in rows)
    np.testing.assert_allclose(rows[-1].profit, list(traded(workspace).values()), atol=0.01)
    assert (moved > 20 * np.abs(rows[-1].profit)).all()  # capital came and went by far more
    view = watch(workspace).session(whole.NAME)
    assert view is not None
    assert view.state is not None
    assert rows[-1].profit.sum() == pytest.approx(float(view.state.equity_ccy) - START, abs=0.01)


def test_page_of_agents_says_what_sleeves_made_of_the_portfolio(workspace: Path) -> None:
    words = words_of(run_page(workspace, "Agents"))

    for symbol, made in traded(workspace).items():
        cell = f"<b>{symbol}</b><span><bdi>{bps(made / START * 1e4, 1)}</bdi></span>"
        assert cell in words, symbol
    assert "of what the whole portfolio began with" in words
    assert bps(traded(workspace)[replayed.SYMBOLS[0]] / START * 1e4) in words
    assert "of the portfolio, since the session began" in words
