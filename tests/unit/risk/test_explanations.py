"""Every denial says what was compared with what; limits are those of SPEC by default."""

from __future__ import annotations

import pytest
import torch

from tradingbot.risk import RiskLimits, SessionLimits
from tradingbot.risk.gate import explain, explain_session
from tradingbot.risk.rule import OrderView, SessionFacts, slack

LIMITS = RiskLimits(0.2, 0.1, reserve_frac=0.3, min_trade_ccy=25.0, max_stale_bars=2)
SHORTS = RiskLimits(1.0, 5.0, allow_short=True, margin_frac=3.0)
PASSES = {"order": 5.0, "units": 0.0, "mark": 100.0, "cash": 10_000.0, "equity": 10_000.0}


def view(session: SessionFacts | None = None, **fields: float) -> OrderView:
    """Return an order that passes, but for these fields."""
    given = PASSES | {"stale_bars": 0, "halted": 0} | fields
    numbers = (torch.tensor([number], dtype=torch.float64) for number in given.values())
    return OrderView(*numbers, session)


@pytest.mark.parametrize(
    ("limits", "fields", "words"),
    [
        (LIMITS, {"equity": -3.0}, "UNKNOWN_VALUE: limit=0 observed=-3"),
        (LIMITS, {"mark": -1.0}, "UNKNOWN_VALUE: limit=0 observed=-1"),
        (LIMITS, {"halted": 1}, "TRADING_HALTED: limit=0 observed=1"),
        (LIMITS, {"stale_bars": 7}, "STALE_DATA: limit=2 observed=7"),
        (LIMITS, {"order": -2.0}, "SHORT_NOT_ALLOWED: limit=0 observed=-2"),
        (LIMITS, {"order": 11.0}, "MAX_ORDER_VALUE: limit=1000 observed=1100"),
        (LIMITS, {"units": 17.0}, "MAX_POSITION: limit=2000 observed=2200"),
        (LIMITS, {"cash": 3_400.0}, "CASH_RESERVE: limit=3000 observed=2900"),
        (SHORTS, {"order": -60.0}, "MARGIN: limit=18000 observed=16000"),
        (LIMITS, {"order": 0.125}, "MIN_TRADE_VALUE: limit=25 observed=12.5"),
    ],
)
def test_denial_names_its_limit_and_what_was_observed(
    limits: RiskLimits, fields: dict[str, float], words: str
) -> None:
    assert explain(limits, view(**fields), 0) == words


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"order_is_duplicate": 1.0}, "DUPLICATE_ORDER: limit=0 observed=1"),
        ({"last_price_age_s": 91.0}, "STALE_PRICE: limit=90 observed=91"),
        ({"limit_price": 110.0}, "PRICE_COLLAR: limit=0.05 observed=0.1"),
        ({"loss_today_frac": 0.02}, "DAILY_LOSS: limit=0.02 observed=0.02"),
        ({"trades_today": 100.0}, "TRADE_COUNT: limit=100 observed=100"),
        ({"confidence": 0.5}, "LOW_CONFIDENCE: limit=0.6 observed=0.5"),
        ({"correlated_exposure_frac": 0.8}, "CORRELATED_EXPOSURE: limit=0.7 observed=0.8"),
        ({"open_order_value_ccy": 3_000.0}, "OPEN_ORDERS: limit=3000 observed=3500"),
    ],
)
def test_denial_of_a_session_names_its_limit_and_what_was_observed(
    facts: dict[str, float], words: str
) -> None:
    quiet = dict.fromkeys(SessionFacts._fields, 0.0) | {"confidence": 1.0}
    quiet |= {"seconds_to_close": 60.0, "day_volume_units": 1e6, "start_equity_ccy": 1e4}
    known = quiet | {"limit_price": 100.0, "last_price": 100.0, "buying_power_ccy": 1e4} | facts
    session = SessionFacts(*(torch.tensor([x], dtype=torch.float64) for x in known.values()))
    assert explain_session(SessionLimits(), view(session), 0) == words


def test_limits_by_default() -> None:
    assert RiskLimits() == RiskLimits(
        max_position_frac=0.15,
        max_order_frac=1.0,
        reserve_frac=0.0,
        min_trade_ccy=25.0,
        allow_short=False,
        margin_frac=1.5,
        max_stale_bars=0,
    )
    assert SessionLimits() == SessionLimits(0.02, 100, 0.6, 0.7, 0.05, 90.0, 0.3)


@pytest.mark.parametrize(
    ("limits", "fields", "name"),
    [
        (LIMITS, {"order": 10.0}, "order"),
        (LIMITS, {"units": 15.0}, "order"),
        (LIMITS, {"cash": 3_500.0}, "order"),
        (SHORTS, {"order": -50.0}, "order"),
        (LIMITS, {"order": 0.25}, "order"),
    ],
)
def test_limit_may_be_missed_by_rounding_and_no_more(
    limits: RiskLimits, fields: dict[str, float], name: str
) -> None:
    order = {**PASSES, **fields}[name]
    direction = -1.0 if abs(order) < 1.0 else 1.0  # of the least order, less is beyond
    for share, is_denied in ((0.2, False), (1e4, True)):
        moved = order * (1.0 + direction * share * 1e-9)
        found = explain(limits, view(**{**fields, name: moved}), 0)
        assert (found is not None) is is_denied


def test_rounding_is_that_of_the_number_format() -> None:
    assert slack(torch.zeros(1, dtype=torch.float64)) == 1e-9
    assert slack(torch.zeros(1)) == 64.0 * 2.0**-23
