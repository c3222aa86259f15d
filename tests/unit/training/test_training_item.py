"""A training as an item: a worker that takes over from one that died comes to the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import DataError, UserError
from tradingbot.executors.executor import Executor, InlineExecutor, OpenWork, ignore_progress
from tradingbot.runs import RunDirectory
from tradingbot.training.session import RUNS_FOLDER, begin_run
from tradingbot.training.training_item import TrainingOrder, open_training, train_by_worker

ORDER = TrainingOrder("first", tiny_config(), begins=True)


class Killed(BaseException):
    """Nothing of ours catches it: what a worker leaves is what a kill leaves."""


@contextmanager
def inline(open_work: OpenWork, count: int) -> Iterator[Executor]:
    assert count == 1
    yield InlineExecutor(open_work())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return begin_run(tiny_config(), tmp_path_factory.mktemp("whole"), name="any").run


def die_at(step: int, done: int, total: int, _: str) -> None:
    if total and done >= step:
        raise Killed


def test_training_by_a_worker_that_dies_is_gone_on_with_to_the_same_bits(
    whole: RunDirectory, tmp_path: Path
) -> None:
    with pytest.raises(Killed):
        train_by_worker(ORDER, tmp_path, inline, lambda *told: die_at(40, *told))
    left = RunDirectory.open(tmp_path / RUNS_FOLDER / "first")
    assert left.status().state == "running"
    with pytest.raises(Killed):  # of the worker that takes over, too
        train_by_worker(ORDER, tmp_path, inline, lambda *told: die_at(72, *told))
    told: list[tuple[int, int]] = []
    resumed = replace(ORDER, begins=False)  # by `--resume`

    run = train_by_worker(resumed, tmp_path, inline, lambda *words: told.append(words[:2]))

    assert fingerprint(run) == fingerprint(whole)
    assert len(run.status().resumptions) == 2
    steps = [done for done, total in told if total == 96]
    assert (steps[0], steps[-1]) == (72, 96)  # after the checkpoint of step 64


def test_training_that_was_finished_before_its_answer_is_not_done_again(
    tmp_path: Path, whole: RunDirectory
) -> None:
    workspace = whole.path.parents[1]
    before = (whole.path / "status.json").read_bytes()

    run = train_by_worker(
        TrainingOrder("any", tiny_config(), begins=True), workspace, inline, ignore_progress
    )

    assert run.id == "any"
    assert (whole.path / "status.json").read_bytes() == before


def test_run_of_another_configuration_is_not_taken_over(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train_by_worker(ORDER, tmp_path, inline, lambda *told: die_at(40, *told))
    other = TrainingOrder("first", tiny_config(guards__probe_every=6), begins=True)

    with pytest.raises(UserError, match=r"guards\.probe_every"):
        train_by_worker(other, tmp_path, inline, ignore_progress)


def test_worker_that_sees_other_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a worker must see the run, data, configuration"):
        open_training(ORDER, tmp_path, None, "0" * 64)
