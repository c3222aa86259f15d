"""A session whose model answers no number holds, says so, and goes on when it answers again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.errors import ModelAnswerError
from tradingbot.domain.events.session import AlertLevel, AlertRaised


@contextmanager
def answering_no_numbers(opened: OpenSession) -> Iterator[None]:
    """Let the model's graphs answer NaN while the block runs."""
    graphs = type(opened.session.model._graphs)  # type: ignore[attr-defined]
    run = graphs.run

    def broken(self: Any, file: str, given: Any) -> Any:
        output, *rest = run(self, file, given)
        return [np.full_like(output, np.nan), *rest]

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(graphs, "run", broken)
        yield


@contextmanager
def answering_otherwise(opened: OpenSession) -> Iterator[None]:
    """Let the model's graphs answer numbers that are not its own while the block runs."""
    graphs = type(opened.session.model._graphs)  # type: ignore[attr-defined]
    run = graphs.run

    def broken(self: Any, file: str, given: Any) -> Any:
        output, *rest = run(self, file, given)
        return [output + np.float32(0.01), *rest]

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(graphs, "run", broken)
        yield


def action_of(opened: OpenSession) -> Any:
    """Actions of the last turn as journaled; None where nothing was decided."""
    state = opened.journal.state(NAME)
    assert state is not None
    return state.account["action"]


def test_S07_session_holds_at_a_bar_without_an_answer_and_tells(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(FIRST + 3)
    orders_before = len(opened.journal.orders(NAME))

    with answering_no_numbers(opened):
        opened.run(FIRST + 4)

    (alert,) = opened.journal.events(NAME, AlertRaised)
    assert isinstance(alert, AlertRaised)
    assert (alert.level, alert.code) == (AlertLevel.CRITICAL, "MODEL_NOT_FINITE")
    assert "finite" in alert.text
    assert action_of(opened) is None
    assert len(opened.journal.orders(NAME)) == orders_before
    opened.run(FIRST + 6)
    assert action_of(opened) is not None
    opened.close()


def test_session_goes_on_after_a_stop_at_a_bar_without_an_answer(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(FIRST + 3)
    with answering_no_numbers(opened):
        opened.run(FIRST + 4)
    equity = opened.session.equity_ccy
    opened.close()

    resumed = open_session(tmp_path)
    resumed.session.resume()

    assert resumed.session.equity_ccy == equity
    assert action_of(resumed.run(FIRST + 6)) is not None
    resumed.close()


def test_shadow_that_answers_no_number_stops_nothing_and_tells(tmp_path: Path) -> None:
    class Broken:
        def __init__(self, decider: Any) -> None:
            self._decider = decider

        def __getattr__(self, name: str) -> Any:
            return getattr(self._decider, name)

        def decide(self, _: Any) -> Any:
            raise ModelAnswerError("a model must answer in finite numbers", was="AAA")

    opened = open_session(tmp_path)
    opened.session._shadow = Broken(opened.session.decider_of(opened.session.model))  # type: ignore[assignment]
    opened.run(FIRST + 3)

    told = opened.journal.events(NAME, AlertRaised)
    assert {each.code for each in told if isinstance(each, AlertRaised)} == {"SHADOW_NOT_FINITE"}
    assert action_of(opened) is not None
    assert not any(each.is_shadow for each in opened.journal.decisions(NAME))
    opened.close()


def test_S07_model_that_answers_otherwise_opens_nothing_until_it_is_well(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(FIRST + 3)
    at = opened.session.bar.closed_at
    with answering_otherwise(opened):
        opened.run(FIRST + 14)  # two days: it is compared at the first turn of each
    ill_until = opened.session.bar.closed_at
    opened.run(FIRST + 24)
    orders = opened.journal.orders(NAME)
    alerts = opened.journal.events(NAME, AlertRaised)
    day_of = opened.session.hours.day_of
    opened.close()

    ill = [each for each in orders if at < each.intent.decided_at <= ill_until]
    denied = [each for each in ill if (each.reason or "").startswith("MODEL_UNHEALTHY")]
    codes = [each.code for each in alerts if isinstance(each, AlertRaised)]
    assert denied
    assert {day_of(each.intent.decided_at) for each in denied} != {day_of(at)}
    assert any(each.status.value == "filled" for each in ill)  # exits leave
    first = min(each.intent.decided_at for each in denied)
    for each in ill:
        if each.intent.decided_at >= first and each.status.value == "filled":
            assert "MODEL_UNHEALTHY" not in (each.reason or "")
    assert codes == ["MODEL_UNHEALTHY", "MODEL_HEALTHY"]
    well = [each for each in orders if each.intent.decided_at > ill_until]
    assert not any((each.reason or "").startswith("MODEL_UNHEALTHY") for each in well)
    assert any(each.status.value == "filled" for each in well)


def test_model_that_answered_no_number_is_compared_before_it_opens_again(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(FIRST + 3)
    with answering_no_numbers(opened):
        opened.run(FIRST + 4)
    at = opened.session.bar.closed_at
    with answering_otherwise(opened):  # numbers again, and not its own
        opened.run(FIRST + 6)
    codes = {
        (each.reason or "").partition(":")[0]
        for each in opened.journal.orders(NAME)
        if each.intent.decided_at > at
    }
    opened.close()

    assert "MODEL_UNHEALTHY" in codes
