"""What the limits of a session would deny, measured on the bars before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fixtures import portfolio_sessions as portfolios
from fixtures.replayed_sessions import hours, market, model
from tradingbot.app.paper.period import count_warm_up
from tradingbot.app.paper.rehearsal import REHEARSED_BARS, Rehearsal, rehearse
from tradingbot.risk.limits import WIDEST_ORDER_LIMITS, WIDEST_SESSION_LIMITS
from tradingbot.runtime.brokers.paper.broker import PaperOptions
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.serving.served_model import ServedModel

WIDE = {"limits": WIDEST_ORDER_LIMITS, "session_limits": WIDEST_SESSION_LIMITS}


def settings_of(**more: object) -> SessionSettings:
    """A session of a portfolio that holds few symbols."""
    cash = portfolios.RULES.account.initial_cash_ccy
    terms = {"rules": portfolios.RULES, "costs": portfolios.COSTS, "venue": PaperOptions(cash)}
    place = ("p", "", "", "run", None, "", portfolios.FIRST, portfolios.STOP)
    made: Any = SessionSettings(*place, "XNYS", "1h", "session", **terms)  # type: ignore[arg-type]
    return replace(made, **more)


def rehearsed(settings: SessionSettings, served: ServedModel) -> Rehearsal:
    found = rehearse(settings, served, market(), hours())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def narrow() -> Rehearsal:
    """By the usual limits."""
    return rehearsed(settings_of(), portfolios.model("eager"))


def test_portfolio_of_few_symbols_is_told_what_its_limits_deny(narrow: Rehearsal) -> None:
    wide = rehearsed(settings_of(**WIDE), portfolios.model("eager"))

    assert (narrow.n_bars, narrow.is_worth_telling) == (REHEARSED_BARS - 1, True)
    assert sum(narrow.denied.values()) > 0.5 * narrow.n_wanted
    assert narrow.wider
    assert f"limits deny {sum(narrow.denied.values())} of {narrow.n_wanted} orders" in narrow.words
    assert (wide.denied, wide.is_worth_telling, wide.n_wanted > 0) == ({}, False, True)


def test_wider_limits_that_are_named_let_more_pass(narrow: Rehearsal) -> None:
    wider = settings_of()
    for name, value in narrow.wider.items():
        key = "limits" if hasattr(wider.limits, name) else "session_limits"
        wider = replace(wider, **{key: replace(getattr(wider, key), **{name: value})})
    found = rehearsed(wider, portfolios.model("eager"))

    assert sum(found.denied.values()) < sum(narrow.denied.values())
    assert not found.denied.keys() & {"MAX_POSITION"}


@pytest.mark.parametrize("first", [-1, 0])
def test_without_bars_before_it_nothing_is_rehearsed(first: int) -> None:
    too_early = count_warm_up(model()) + first
    assert rehearse(settings_of(first_bar=too_early), model(), market(), hours()) is None
