"""Trading states: what each permits, and which changes are legal."""

from __future__ import annotations

import pytest

from tradingbot.domain.errors import TradingError
from tradingbot.domain.trading_state import TradingState, change_trading_state

A, R, H = TradingState.ACTIVE, TradingState.REDUCING, TradingState.HALTED


@pytest.mark.parametrize(
    ("state", "reduces", "permitted"),
    [(A, False, True), (A, True, True), (R, False, False), (R, True, True), (H, True, False)],
)
def test_what_a_state_permits(state: TradingState, reduces: bool, permitted: bool) -> None:
    assert state.permits(reduces=reduces) is permitted


@pytest.mark.parametrize(("before", "after"), [(A, R), (A, H), (R, H)])
def test_controls_tighten_without_a_name(before: TradingState, after: TradingState) -> None:
    change = change_trading_state(before, after, reason="daily loss 2.1 % of equity")

    assert change is not None
    assert (change.before, change.after, change.loosens) == (before, after, False)


@pytest.mark.parametrize(("before", "after"), [(H, R), (H, A), (R, A)])
def test_loosening_needs_a_name_and_a_reason(before: TradingState, after: TradingState) -> None:
    with pytest.raises(TradingError, match="loosened under a name"):
        change_trading_state(before, after, reason="feed is back")
    with pytest.raises(TradingError, match="must have a reason"):
        change_trading_state(before, after, reason=" ", authorised_by="M. Keller")

    change = change_trading_state(before, after, reason="feed is back", authorised_by="M. Keller")

    assert change is not None
    assert change.loosens


def test_kill_switch_may_be_pressed_twice() -> None:
    assert change_trading_state(H, H, reason="kill switch") is None
