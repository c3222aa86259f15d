"""Executors: outcomes in any order, progress, cancelling, and workers that die, stop or hang."""

from __future__ import annotations

import multiprocessing
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest
import torch

from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    Progress,
    Work,
    WorkItem,
    ignore_progress,
    run_items,
)
from tradingbot.executors.processes import ProcessExecutor, WorkerTimes

FAST = WorkerTimes(heartbeat_s=0.1, silence_s=0.8, start_s=60.0)
_PATIENCE_S = 60.0


def open_work(folder: Path) -> Work:
    """Build the work of a test: what to do stands in the payload, what was done in a folder."""
    (folder / f"opened-{os.getpid()}").touch()
    return partial(do, folder)


def do(folder: Path, payload: tuple[str, Any], progress: Progress) -> Any:
    what, value = payload
    with (folder / "done.txt").open("a") as file:
        file.write(f"{os.getpid()} {what}\n")
    return ACTIONS[what](folder, value, progress)


def open_sum(kept: torch.Tensor) -> Work:
    """Build work on a tensor that was given away."""
    return lambda payload, _: float(kept.sum()) + payload


def open_growing() -> Work:
    """Build work that keeps a tensor, adds one to it and to what it is given, and returns it."""
    kept = torch.zeros(1_000)

    def grow(payload: torch.Tensor, _: Progress) -> torch.Tensor:
        payload += 1.0
        kept.add_(payload)
        return kept

    return grow


def square(folder: Path, value: int, progress: Progress) -> int:
    progress(value, 10, f"square of {value}")
    return value * value


def fall_asleep(folder: Path, value: float, progress: Progress) -> float:
    (folder / "asleep").write_text(str(os.getpid()))
    time.sleep(value)
    return value


def refuse(folder: Path, value: Any, progress: Progress) -> None:
    raise DataError("bars must be there", was="none", remedy="Give some")


def fail(folder: Path, value: Any, progress: Progress) -> None:
    raise ZeroDivisionError("of the test")


def unsendable(folder: Path, value: Any, progress: Progress) -> Any:
    return lambda: None


def kill_itself(folder: Path, times: int, progress: Progress) -> str:
    """Die by SIGKILL so many times, then succeed."""
    return hurt_itself(folder, times, signal.SIGKILL)


def stop_itself(folder: Path, times: int, progress: Progress) -> str:
    """Be stopped so many times, then succeed."""
    return hurt_itself(folder, times, signal.SIGSTOP)


def hurt_itself(folder: Path, times: int, number: signal.Signals) -> str:
    seen = len(list(folder.glob("hurt-*")))
    if seen < times:
        (folder / f"hurt-{seen}").touch()
        os.kill(os.getpid(), number)
        time.sleep(_PATIENCE_S)
    return "survived"


ACTIONS: dict[str, Callable[[Path, Any, Progress], Any]] = {
    "square": square,
    "sleep": fall_asleep,
    "refuse": refuse,
    "fail": fail,
    "unsendable": unsendable,
    "kill": kill_itself,
    "stop": stop_itself,
}


@pytest.fixture(params=["inline", "processes"])
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Executor]:
    if request.param == "inline":
        yield InlineExecutor(open_work(tmp_path))
        return
    with ProcessExecutor(partial(open_work, tmp_path), 2, times=FAST) as processes:
        yield processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ProcessExecutor]:
    with ProcessExecutor(partial(open_work, tmp_path), 2, times=FAST) as made:
        yield made


def wait_for(file: Path) -> str:
    until = time.monotonic() + _PATIENCE_S
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until, f"{file.name} did not come"
        time.sleep(0.02)
    return file.read_text()


def test_every_item_has_one_outcome_and_progress_is_told(executor: Executor) -> None:
    told: list[str] = []
    items = [WorkItem(f"item {n}", ("square", n)) for n in range(7)]

    outcomes = list(run_items(executor, items, lambda _a, _b, label: told.append(label)))

    assert {o.item.name: o.result() for o in outcomes} == {f"item {n}": n * n for n in range(7)}
    assert any(label.startswith("square of") for label in told)
    with pytest.raises(RuntimeError, match="no item is unfinished"):
        executor.wait(ignore_progress)


def test_failures_are_outcomes_and_end_nothing_else(executor: Executor) -> None:
    items = [WorkItem(what, (what, 3)) for what in ("refuse", "fail", "square")]

    outcomes = {each.item.name: each for each in run_items(executor, items)}

    assert outcomes["square"].result() == 9
    with pytest.raises(UserError, match=r"bars must be there, was none. Give some"):
        outcomes["refuse"].result()
    with pytest.raises((RuntimeError, ZeroDivisionError), match="of the test"):
        outcomes["fail"].result()


def test_two_unfinished_items_of_one_name_are_refused_and_waiting_ones_can_be_cancelled(
    executor: Executor,
) -> None:
    for name in ("first", "second", "third", "fourth"):
        executor.submit(WorkItem(name, ("square", 2)))
    with pytest.raises(ValueError, match="'fourth' is unfinished"):
        executor.submit(WorkItem("fourth", ("square", 2)))

    assert executor.n_free == 0
    assert executor.cancel("fourth")
    assert not executor.cancel("fifth")
    outcomes = {each.item.name: each for each in (executor.wait(ignore_progress) for _ in range(4))}

    assert outcomes["first"].result() == 4
    with pytest.raises(UserError, match="fourth must not be cancelled"):
        outcomes["fourth"].result()


def test_failure_of_a_worker_carries_name_and_traceback(processes: ProcessExecutor) -> None:
    (outcome,) = run_items(processes, [WorkItem("seed 3", ("fail", None))])
    with pytest.raises(RuntimeError, match=r"(?s)seed 3: Traceback.*in fail.*ZeroDivisionError"):
        outcome.result()
    (unsent,) = run_items(processes, [WorkItem("seed 4", ("unsendable", None))])
    with pytest.raises(RuntimeError, match=r"(?s)seed 4: Traceback.*pickle"):
        unsent.result()
    (after,) = run_items(processes, [WorkItem("seed 5", ("square", 5))])
    assert after.result() == 25


def test_outcomes_come_in_the_order_of_finishing_and_workers_open_once(
    processes: ProcessExecutor, tmp_path: Path
) -> None:
    assert processes.n_free == 2
    items = [WorkItem("slow", ("sleep", 0.5)), *(WorkItem(f"{n}", ("square", n)) for n in range(4))]

    names = [outcome.item.name for outcome in run_items(processes, items)]

    assert names[-1] == "slow"
    assert len(list(tmp_path.glob("opened-*"))) == 2


@pytest.mark.parametrize("what", ["kill", "stop"])
def test_worker_that_is_killed_or_stopped_is_replaced_and_its_item_done_again(
    processes: ProcessExecutor, tmp_path: Path, what: str
) -> None:
    items = [WorkItem("fold 2", (what, 1)), WorkItem("fold 3", ("square", 3))]

    told: list[str] = []
    finished = run_items(processes, items, lambda _, __, words: told.append(words))
    outcomes = {each.item.name: each.result() for each in finished}

    assert outcomes == {"fold 2": "survived", "fold 3": 9}
    (again,) = [words for words in told if words.startswith("fold 2 again: its process ")]
    assert again.endswith("; workers lost: 1")
    assert processes.n_lost == 1
    done = (tmp_path / "done.txt").read_text().split("\n")
    attempts = [line.split()[0] for line in done if line.endswith(what)]
    assert len(set(attempts)) == 2  # by two processes


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("kill", "was ended by SIGKILL (the system does so when memory is short); again: its"),
        ("stop", "its process gave no sign of life for 0.8 s; again: its process gave no sign"),
    ],
)
def test_item_that_loses_its_worker_twice_is_reported_by_name_and_others_go_on(
    processes: ProcessExecutor, what: str, words: str
) -> None:
    items = [WorkItem("analysis stress", (what, 2)), WorkItem("fold 3", ("square", 3))]

    outcomes = {each.item.name: each for each in run_items(processes, items)}

    with pytest.raises(UserError) as e:
        outcomes["analysis stress"].result()
    assert "analysis stress must be done to its end, was its process" in str(e.value)
    assert words in str(e.value)
    assert "fewer processes" in str(e.value)
    assert outcomes["fold 3"].result() == 9
    (after,) = run_items(processes, [WorkItem("fold 4", ("square", 4))])
    assert after.result() == 16


def test_worker_that_is_killed_while_idle_is_replaced(processes: ProcessExecutor) -> None:
    for worker in processes._workers:
        worker.process.kill()
        worker.process.join()

    (outcome,) = run_items(processes, [WorkItem("fold 1", ("square", 6))])

    assert outcome.result() == 36


def open_large_work(folder: Path, ballast: bytes) -> Work:
    """Build the same work from more than a pipe holds."""
    return open_work(folder)


def test_worker_that_dies_while_it_starts_is_not_waited_for(tmp_path: Path) -> None:
    resource_tracker.ensure_running()  # it is a process as well, and must live
    large = partial(open_large_work, tmp_path, bytes(1_000_000))
    made: queue.Queue[ProcessExecutor] = queue.Queue()
    python, false = sys.executable, shutil.which("false")
    assert false is not None
    multiprocessing.set_executable(false)  # ends before it reads what it is given
    try:
        starting = threading.Thread(
            target=lambda: made.put(ProcessExecutor(large, 1, times=FAST)), daemon=True
        )
        starting.start()
        starting.join(_PATIENCE_S / 3.0)
    finally:
        multiprocessing.set_executable(python)

    with made.get_nowait() as processes:
        (outcome,) = run_items(processes, [WorkItem("fold 1", ("square", 6))])
    assert outcome.result() == 36


def test_item_that_takes_too_long_is_given_up(processes: ProcessExecutor, tmp_path: Path) -> None:
    began = time.monotonic()
    items = [WorkItem("trial 7", ("sleep", _PATIENCE_S), timeout_s=0.5)]

    (outcome,) = run_items(processes, items)

    assert time.monotonic() - began < _PATIENCE_S / 2
    with pytest.raises(UserError, match=r"trial 7 must be done in 0\.5 s, was not finished"):
        outcome.result()


def test_running_item_is_cancelled_and_its_process_is_gone(
    processes: ProcessExecutor, tmp_path: Path
) -> None:
    processes.submit(WorkItem("trial 7", ("sleep", _PATIENCE_S)))
    pid = int(wait_for(tmp_path / "asleep"))

    assert processes.cancel("trial 7")
    with pytest.raises(UserError, match="trial 7 must not be cancelled"):
        processes.wait(ignore_progress).result()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nothing_is_left_running_even_of_stopped_workers(tmp_path: Path) -> None:
    with ProcessExecutor(partial(open_work, tmp_path), 2, times=FAST) as processes:
        processes.submit(WorkItem("trial 7", ("sleep", _PATIENCE_S)))
        stopped = int(wait_for(tmp_path / "asleep"))
        os.kill(stopped, signal.SIGSTOP)
        pids = [worker.process.pid for worker in processes._workers]
    for pid in pids:
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_executor_that_did_not_listen_for_long_blames_no_worker(tmp_path: Path) -> None:
    times = WorkerTimes(heartbeat_s=0.1, silence_s=0.6, start_s=60.0)
    with ProcessExecutor(partial(open_work, tmp_path), 1, times=times) as processes:
        processes.submit(WorkItem("fold 1", ("sleep", 1.2)))
        wait_for(tmp_path / "asleep")
        time.sleep(0.9)  # the caller does something else

        assert processes.wait(ignore_progress).result() == 1.2
    assert (tmp_path / "done.txt").read_text().count("sleep") == 1


def test_times_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="3 heartbeats"):
        WorkerTimes(heartbeat_s=1.0, silence_s=2.0)
    with pytest.raises(ConfigError, match="start_s must be above 0"):
        WorkerTimes(start_s=0.0)


def test_tensors_that_workers_are_opened_with_stay_where_they_are() -> None:
    kept = torch.arange(1_000.0)
    place, shown = kept.data_ptr(), kept.numpy()

    with ProcessExecutor(partial(open_sum, kept), 1, times=FAST) as executor:
        (outcome,) = run_items(executor, [WorkItem("one", 1.0)], ignore_progress)

    assert outcome.result() == kept.sum() + 1.0
    # Native code holds its address and arrays look into it: they would read what is freed.
    assert kept.data_ptr() == place
    kept[0] = 7.0
    assert shown[0] == 7.0


def test_tensors_of_payloads_and_results_are_copies_on_either_side() -> None:
    """What a worker goes on to change stays as it was told; so does what it was given."""
    given = torch.zeros(1_000)
    place, shown = given.data_ptr(), given.numpy()

    with ProcessExecutor(open_growing, 1, times=FAST) as executor:
        told = []
        for name in ("one", "two"):
            (outcome,) = run_items(executor, [WorkItem(name, given)], ignore_progress)
            told.append(outcome.result())

    assert not given.any()
    assert given.data_ptr() == place
    given[0] = 7.0
    assert shown[0] == 7.0
    assert [float(each.max()) for each in told] == [1.0, 2.0]
    assert not any(each.is_shared() for each in told)
