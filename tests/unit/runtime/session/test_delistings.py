"""Symbols without bars in a session: what is held there is the venue's to close."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fixtures.replayed_sessions import (
    COSTS,
    FIRST,
    RULES,
    SYMBOLS,
    hours,
    join_session,
    market,
)
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.venue import PaperVenue

GONE, WAIT, LAST = 0, 2, FIRST + 10


def test_D21_session_keeps_what_the_venue_still_holds_in_a_delisted_symbol(
    tmp_path: Path,
) -> None:
    """By its rules the position is gone after two bars; the venue has said nothing of it."""
    account = replace(RULES.account, delisted_after_bars=WAIT)
    rules, inputs = replace(RULES, account=account), market()
    present = inputs.present.copy()
    present[LAST:, GONE] = False
    bars = {name: np.where(present, values, np.nan) for name, values in inputs.bars.items()}
    inputs = replace(inputs, present=present, bars=bars)
    options = PaperOptions(cash_ccy=len(SYMBOLS) * RULES.account.initial_cash_ccy)
    broker = PaperBroker(tmp_path / "venue.sqlite", rules, COSTS, options, clock=hours().clock)
    terms = SessionTerms(rules, COSTS, FIRST)
    opened = join_session(tmp_path, broker, PaperVenue(broker), inputs, terms)
    opened.run(until=LAST)
    held = float(opened.session.account.units[GONE])

    opened.run(until=LAST + 3 * WAIT)
    kept = float(opened.session.account.units[GONE])
    at_venue = float(broker.positions()[SYMBOLS[GONE]])
    opened.close()

    assert held != 0.0
    assert kept == at_venue == held
