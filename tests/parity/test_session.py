"""The same bars through backtest and session: the same orders, equity equal to the cent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures.replayed_sessions import FIRST, NAME, STOP, SYMBOLS, backtest, open_session
from tradingbot.runtime.brokers.paper.options import PaperOptions


@pytest.mark.parametrize("parts", [1, 3])
def test_session_on_paper_is_the_backtest_to_the_cent(tmp_path: Path, parts: int) -> None:
    record = backtest()
    opened = open_session(tmp_path, options=PaperOptions(parts=parts)).run()
    session, journal = opened.session, opened.journal
    account = session.account
    assert account is not None

    orders = journal.orders(NAME)
    filled = {
        (order.intent.symbol, order.intent.decided_at): float(
            sum(fill.signed_units for fill in order.fills)
        )
        for order in orders
    }
    wanted = record.column("fill_units")
    bars = list(session.source.bars())
    for step in range(STOP - FIRST - 1):
        for lane, symbol in enumerate(SYMBOLS):
            was = filled.get((symbol, bars[FIRST + step].closed_at), 0.0)
            assert was == wanted[step, lane], (step, symbol)
    assert np.count_nonzero(wanted) > 20
    np.testing.assert_array_equal(account.equity.numpy(), record.column("equity")[-1])
    equity = float(opened.broker.account().equity_ccy)
    assert equity == pytest.approx(record.column("equity")[-1].sum(), abs=0.005)
    opened.close()
