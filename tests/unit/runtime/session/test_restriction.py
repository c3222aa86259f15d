"""A session that a person restricts only reduces, or sends nothing, until another arms it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.session import ActAudited
from tradingbot.domain.events.trading import TradingStateChanged
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.session.control import apply_request, arm, kill
from tradingbot.runtime.session.folder import Request

AT = datetime(2016, 1, 4, 15, 30, tzinfo=UTC)
NOBODY = frozenset[str]()


def restrict(opened: OpenSession, state: str) -> None:
    request = Request("restrict", "ada", "results tonight", state=state)
    assert apply_request(opened.session, request, opened.session.bar.closed_at, NOBODY)


@pytest.mark.parametrize(
    ("state", "code"), [("reducing", "REDUCING_ONLY"), ("halted", "SESSION_HALTED")]
)
def test_restricted_session_denies_over_a_restart_until_it_is_armed(
    tmp_path: Path, state: str, code: str
) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 3)
    at = opened.session.bar.closed_at
    restrict(opened, state)
    opened.close()
    again = open_session(tmp_path)
    again.session.resume()
    held = sum(abs(units) for units in again.broker.positions().values())
    waiting = {each.client_order_id for each in again.broker.open_orders()}
    again.run(until=FIRST + 8)
    later = [each for each in again.journal.orders(NAME) if each.intent.decided_at > at]
    reasons = {(each.reason or "").partition(":")[0] for each in later}
    assert again.session.trading_state.value == state
    assert code in reasons
    if state == "halted":
        assert {each.status for each in later} == {OrderStatus.DENIED}
    else:
        assert any(each.status is OrderStatus.FILLED for each in later)  # exits leave
    assert waiting or held  # it had something to lose

    now = again.session.bar.closed_at
    with pytest.raises(TradingError, match="authorised"):
        arm(again.session, Request("arm", "bob", "over"), now, frozenset({"ada"}))
    assert again.session.trading_state.value == state
    arm(again.session, Request("arm", "ada", "over"), now, frozenset({"ada"}))
    again.run(until=FIRST + 12)
    newest = [each for each in again.journal.orders(NAME) if each.intent.decided_at > now]
    acts = again.journal.events(NAME, ActAudited)
    changes = again.journal.events(NAME, TradingStateChanged)
    again.close()

    assert any(each.status is OrderStatus.FILLED for each in newest)
    assert [
        (each.act, each.details.get("state")) for each in acts if isinstance(each, ActAudited)
    ] == [
        ("restrict", state),
        ("arm", "active"),
    ]
    assert len(changes) == 2


def test_restriction_is_never_loosened_by_another_one(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 2)
    restrict(opened, "halted")
    with pytest.raises(TradingError, match="loosened under a name"):
        restrict(opened, "reducing")
    with pytest.raises(ValueError, match="sleeping"):
        restrict(opened, "sleeping")
    opened.close()

    assert opened.session.trading_state.value == "halted"


def test_B22_kill_closes_positions_of_a_session_that_was_halted(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 3)
    assert opened.broker.positions()
    restrict(opened, "halted")
    request = Request("kill", "ada", "drill", flatten=True)
    kill(opened.session, request, opened.session.bar.closed_at)
    opened.run(until=FIRST + 5)
    left, state = opened.broker.positions(), opened.session.desk.gate.breakers
    opened.close()

    assert left == {}
    assert state.trading_state.value == "halted"
    assert state.kill_reason == "drill"


@pytest.mark.parametrize("state", ["reducing", "halted"])
def test_restriction_before_the_first_bar_holds_over_a_restart(tmp_path: Path, state: str) -> None:
    opened = open_session(tmp_path)
    request = Request("restrict", "ada", "results tonight", state=state)
    assert apply_request(opened.session, request, AT, NOBODY)
    opened.close()
    again = open_session(tmp_path)
    again.session.resume()

    assert again.session.trading_state.value == state
    assert again.session.desk.gate.breakers.kill_reason is None
    arm(again.session, Request("arm", "ada", "over"), AT, frozenset({"ada"}))
    assert again.session.trading_state.value == "active"
    again.close()
