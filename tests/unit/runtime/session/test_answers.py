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
