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
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    OpenWork,
    Outcome,
    Progress,
    ignore_progress,
)
from tradingbot.runs import RunDirectory
from tradingbot.training import training_item
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


@pytest.mark.parametrize("force", [True, False])
def test_run_is_forced_where_that_is_asked_for(
    force: bool, whole: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []
    monkeypatch.setattr(
        training_item, "resume_session", lambda *_, force, **__: found.append(force)
    )
    order = replace(ORDER, name=whole.id, begins=False, force=force)

    train_by_worker(order, whole.path.parents[1], inline, ignore_progress)

    assert found == [force]


def test_worker_that_reads_another_configuration_is_refused(tmp_path: Path) -> None:
    other = replace(ORDER, config=tiny_config(guards__probe_every=6))
    asked = training_item._identity_of(ORDER, tmp_path)

    assert open_training(ORDER, tmp_path, None, asked)
    with pytest.raises(DataError, match="a worker must see the run, data, configuration"):
        open_training(other, tmp_path, None, asked)


class Waiting(InlineExecutor):
    """Waits for a CPU before it does its items."""

    def wait(self, progress: Progress) -> Outcome:
        progress(0, 0, "an actor waits for a free CPU")
        return super().wait(progress)


@contextmanager
def waiting_actors(open_work: OpenWork, count: int) -> Iterator[Executor]:
    yield (InlineExecutor if count == 1 else Waiting)(open_work())


def test_driver_hears_that_actors_of_its_learner_wait(tmp_path: Path) -> None:
    own = {"actor__hidden": [8], "critic__hidden": [8], "rollout_steps": 12, "actors": 2}
    config = tiny_config(
        learner__name="impala", **{f"learner__impala__{key}": value for key, value in own.items()}
    )
    told: list[str] = []

    train_by_worker(
        TrainingOrder("first", config, begins=True),
        *(tmp_path, waiting_actors, lambda *words: told.append(words[2])),
    )

    assert "an actor waits for a free CPU" in told
