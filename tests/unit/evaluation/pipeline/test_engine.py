"""Analyses are made in order of need, each once; what is there already is not made again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs, CannotMeasureError
from tradingbot.evaluation.pipeline import engine
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.engine import EvaluationContext, EvaluationJob, run_analyses
from tradingbot.evaluation.pipeline.receipts import AnalysisReceipts
from tradingbot.evaluation.pipeline.store import AnalysisStore, StoredAnalysis
from tradingbot.executors.executor import InlineExecutor


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Settings:
    plus: int = 1


class Kitchen:
    """Three analyses: `sum` needs `one` and `two`; remembers what was made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []
        self.analyses = {
            "sum": self.analysis("sum", self.add, needs=("one", "two"), weight=9.0),
            "one": self.analysis("one", lambda _: Number(1)),
            "two": self.analysis("two", lambda _: Number(2), weight=2.0),
        }

    def analysis(
        self, name: str, measure: Callable[[AnalysisInputs], Any], **changes: Any
    ) -> Analysis:
        def noted(given: AnalysisInputs) -> Any:
            self.made.append(name)
            return measure(given)

        settings: dict[str, Any] = {"settings": Settings(), **changes}
        return Analysis(name=name, record=Number, measure=noted, **settings)

    def add(self, given: AnalysisInputs) -> Number:
        return Number(given.need("one").value + given.need("two").value + (given.facts or 0))

    def change(self, name: str, **changes: Any) -> None:
        self.analyses[name] = replace(self.analyses[name], **changes)

    def make(
        self, identity: str = "run", jobs: int = 1, lost: Callable[[int], None] = lambda _: None
    ) -> dict[str, StoredAnalysis]:
        self.made.clear()
        store = AnalysisStore(self.folder, AnalysisReceipts(self.folder, "run", "d" * 64))
        context = EvaluationContext(cast(Any, None), self.analyses, store, identity)
        job = EvaluationJob("", self.folder, EvaluateConfig(), self.folder)
        return run_analyses(context, job, jobs=jobs, lost=lost)


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path)


def test_needs_are_made_first_and_the_heavier_before_the_lighter(kitchen: Kitchen) -> None:
    made = kitchen.make()

    assert made["sum"].record == Number(3)
    assert kitchen.made == ["two", "one", "sum"]


def test_lost_workers_are_counted(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unlucky(InlineExecutor):
        """Does items here, and has lost two workers."""

        n_lost = 2  # type: ignore[assignment]

    store = AnalysisStore(kitchen.folder, AnalysisReceipts(kitchen.folder, "run", "d" * 64))
    context = EvaluationContext(cast(Any, None), kitchen.analyses, store, "run")
    executor = contextlib.nullcontext(Unlucky(context.make))
    monkeypatch.setattr(engine, "start_workers", lambda *_: executor)
    lost: list[int] = []

    kitchen.make(jobs=2, lost=lost.append)

    assert lost == [2]
    kitchen.make(jobs=2, lost=lost.append)
    assert sum(lost) == 2  # nothing was made


def test_second_time_nothing_is_made_and_the_result_is_the_same(kitchen: Kitchen) -> None:
    first = kitchen.make()

    second = kitchen.make()

    assert kitchen.made == []
    assert {name: each.record for name, each in second.items()} == {
        name: each.record for name, each in first.items()
    }


def test_other_settings_make_the_piece_and_what_needs_it_again(kitchen: Kitchen) -> None:
    kitchen.make()
    kitchen.change("one", settings=Settings(plus=2))

    kitchen.make()

    assert kitchen.made == ["one", "sum"]


def test_other_weights_data_or_sources_make_everything_again(kitchen: Kitchen) -> None:
    kitchen.make()

    kitchen.make(identity="other")

    assert sorted(kitchen.made) == ["one", "sum", "two"]


def test_other_facts_from_outside_make_the_piece_again(kitchen: Kitchen) -> None:
    kitchen.make()
    kitchen.change("sum", facts=lambda: 10)

    made = kitchen.make()

    assert kitchen.made == ["sum"]
    assert made["sum"].record == Number(13)


def test_lost_file_is_made_again_and_nothing_else(kitchen: Kitchen, tmp_path: Path) -> None:
    kitchen.make()
    (tmp_path / "two.json").unlink()

    kitchen.make()

    assert kitchen.made == ["two"]


def refuse(_: AnalysisInputs, *, kind: type[Exception]) -> Number:
    raise kind("bars must be more")


def test_piece_that_has_no_meaning_is_left_out_and_so_is_what_needs_it(kitchen: Kitchen) -> None:
    kitchen.change("one", measure=partial(refuse, kind=CannotMeasureError))

    made = kitchen.make()

    assert made["one"].reason == made["sum"].reason == "bars must be more."
    assert made["two"].record == Number(2)


def test_required_piece_without_meaning_is_an_error(kitchen: Kitchen) -> None:
    kitchen.change("one", measure=partial(refuse, kind=DataError), is_required=True)

    with pytest.raises(DataError, match="bars must be more"):
        kitchen.make()


def test_piece_that_fails_is_an_error_and_finished_ones_stay(kitchen: Kitchen) -> None:
    kitchen.change("one", measure=partial(refuse, kind=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        kitchen.make()
    kitchen.change("one", measure=kitchen.analysis("one", lambda _: Number(1)).measure)

    made = kitchen.make()

    assert kitchen.made == ["one", "sum"]
    assert made["sum"].record == Number(3)
