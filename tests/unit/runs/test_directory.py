"""Run directories: self-describing, found by name, one writer at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from fixtures.small_runs import NOW, make_plan, make_run
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runs import Journal, RunDirectory, describe_environment, find_run, list_runs
from tradingbot.runs.record import GitState, Resumption


def test_record_tells_everything_that_identifies_the_run(tmp_path: Path) -> None:
    run = make_run(
        tmp_path,
        environment=describe_environment(),
        git=GitState(commit="abc", dirty=True),
        parent="older",
    )

    record = json.loads((run.path / "run.json").read_text())

    assert run.path == tmp_path / "toy"
    assert RunDirectory.open(run.path) == run
    assert record["id"] == "toy"
    assert record["created_at"] == "2026-01-05T12:30:00Z"
    assert record["config"] == {"ppo": {"epochs": 4}, "symbols": ["AAA", "BBB"]}
    assert len(record["config_sha256"]) == 64
    assert record["data"]["feature_ids"] == ["rsi:1", "atr:2"]
    assert record["data"]["synthetic"] is True
    assert {"python", "torch", "platform", "cpu", "threads"} <= set(record["environment"])
    assert record["git"] == {"commit": "abc", "dirty": True}
    assert (record["seeds"], record["seed_was_drawn"]) == ({"root": 7}, False)
    assert (record["code_version"] != "", record["parent"]) == (True, "older")


def test_seed_left_out_is_drawn_and_kept(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, f"r{number}", seed=None) for number in range(3)]

    seeds = [RunDirectory.open(run.path).record.seeds["root"] for run in runs]

    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert all(run.record.seed_was_drawn for run in runs)


def test_name_left_out_tells_time_and_learner_and_never_repeats(tmp_path: Path) -> None:
    ids = [make_run(tmp_path, None).id for _ in range(3)]

    assert ids[0].startswith("20260105-123000-ppo-")
    assert ids[1:] == [f"{ids[0]}-2", f"{ids[0]}-3"]


def test_name_in_use_is_refused_and_the_first_run_stays(tmp_path: Path) -> None:
    first = make_run(tmp_path)
    before = (first.path / "run.json").read_bytes()

    with pytest.raises(ConfigError, match=r"name must be new, was 'toy'.*--resume"):
        make_run(tmp_path, seed=8)

    assert (first.path / "run.json").read_bytes() == before


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "-x", "x" * 81, "a\nb", "a\0b"])
def test_name_that_is_no_plain_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    if name == "":
        assert make_run(tmp_path, name).id.startswith("2026")  # as if it were left out
        return
    with pytest.raises(ConfigError, match="run name must be"):
        make_run(tmp_path, name)
    assert list_runs(tmp_path) == []


def test_time_that_is_not_utc_is_refused(tmp_path: Path) -> None:
    for moment in (
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        NOW.replace(tzinfo=None),
    ):
        with pytest.raises(ValueError, match="UTC"):
            RunDirectory.create(tmp_path, make_plan(), created_at=moment)


def test_status_is_replaced_whole_and_keeps_resumptions(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    resumption = Resumption(at=NOW, update=6, checkpoint="00000006-last", forced=("seed: 1 → 2",))

    run.record_resumption(resumption)
    (run.path / f".tmp-{'0' * 32}-status.json").write_text("half")
    run.write_status(
        "halted", at=NOW, update=9, steps=90, reason="collapse", verdicts=("all HOLD",)
    )

    status = RunDirectory.open(run.path).status()
    assert (status.state, status.reason, status.update, status.steps) == (
        *("halted", "collapse", 9, 90),
    )
    assert status.resumptions == (resumption,)
    assert status.verdicts == ("all HOLD",)
    assert sorted(p.name for p in run.path.iterdir()) == ["run.json", "status.json"]


def test_second_holder_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    with run.hold():
        assert run.is_held()
        with pytest.raises(ConfigError, match=rf"in use by process {os.getpid()} ") as refusal:
            RunDirectory.open(run.path).hold().__enter__()
    with run.hold():
        pass

    assert "\n" not in str(refusal.value)
    assert not run.is_held()


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    code = (
        "import fcntl, os, sys, time\n"
        "f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(f, fcntl.LOCK_EX)\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(run.path / "lock")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert run.is_held()
        process.kill()
        process.wait()

    with run.hold():
        assert run.is_held()


def test_run_is_found_by_id_beginning_or_folder(tmp_path: Path) -> None:
    long, short = make_run(tmp_path, "us143-first"), make_run(tmp_path, "us143")
    make_run(tmp_path, "other")

    assert find_run(tmp_path, "us143").path == short.path
    assert find_run(tmp_path, "us143-").path == long.path
    assert find_run(tmp_path / "elsewhere", str(long.path)).path == long.path


@pytest.mark.parametrize(
    ("reference", "remedy"),
    [
        ("us142", "Did you mean 'us143'?"),
        ("o", "Known: other, other-2"),
        ("", "Known: other, other-2, us143"),
        ("../runs/us143x", "Known: "),
    ],
)
def test_unknown_or_ambiguous_run_is_refused_with_names(
    tmp_path: Path, reference: str, remedy: str
) -> None:
    for name in ("us143", "other", "other-2"):
        make_run(tmp_path, name)

    with pytest.raises(ConfigError, match="must be the id of one run") as refusal:
        find_run(tmp_path, reference)

    assert str(refusal.value.remedy).startswith(remedy)


def test_no_run_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run: tradingbot train"):
        find_run(tmp_path / "runs", "x")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text[: len(text) // 2], "JSON"),
        (lambda text: "", "JSON"),
        (lambda text: text.replace('"version": 2', '"version": 3'), "version"),
        (lambda text: text.replace('"epochs": 4', '"epochs": 5'), "edited"),
        (lambda text: text.replace('"root": 7', '"root": 8'), "edited"),
        (
            lambda text: text.replace('"version": 2', '"version": 1').replace(
                '"epochs": 4', '"epochs": 5'
            ),
            "does not match its hash",
        ),
        (lambda text: text.replace('"learner"', '"lerner"'), "learner"),
        (lambda text: text + "\udcff", "unreadable"),
    ],
)
def test_damaged_record_is_refused_in_one_line(tmp_path: Path, change, problem: str) -> None:
    run = make_run(tmp_path)
    path = run.path / "run.json"
    path.write_text(change(path.read_text()), errors="surrogateescape")

    with pytest.raises(StorageError) as refusal:
        RunDirectory.open(run.path)

    assert problem in str(refusal.value)
    assert str(path) in str(refusal.value)
    path.unlink()
    with pytest.raises(StorageError, match="was No such file or directory"):
        RunDirectory.open(run.path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text[: len(text) // 2], "JSON"),
        (lambda text: "", "JSON"),
        (lambda text: text.replace('"version": 2', '"version": 3'), "version"),
        (lambda text: text.replace('"halted"', '"finished"'), "edited"),
        (lambda text: text.replace('"steps": 40', '"steps": 41'), "edited"),
        (lambda text: text.replace('"steps"', '"stops"'), "stops"),
    ],
)
def test_damaged_status_is_refused_in_one_line(tmp_path: Path, change, problem: str) -> None:
    run = make_run(tmp_path)
    run.write_status("halted", at=NOW, update=4, steps=40, reason="NaN")
    path = run.path / "status.json"
    path.write_text(change(path.read_text()))

    with pytest.raises(StorageError) as refusal:
        run.status()

    assert problem in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_status_of_version_1_is_read_and_replaced_by_one_with_a_seal(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    path = run.path / "status.json"
    old = json.loads(path.read_text()) | {"version": 1, "steps": 7}
    del old["files"], old["sha256"]
    path.write_text(json.dumps(old))

    assert (run.status().version, run.status().steps) == (1, 7)
    run.write_status("interrupted", at=NOW, update=1, steps=8)
    assert run.status().version == 2
    assert run.status().is_sealed()


def test_two_processes_that_create_the_same_name_make_one_run(tmp_path: Path) -> None:
    children = []
    for seed in range(4):
        child = os.fork()
        if child == 0:
            try:
                make_run(tmp_path, seed=seed)
                os._exit(0)
            except ConfigError:
                os._exit(2)
            except BaseException:
                os._exit(1)
        children.append(child)

    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)

    assert codes == [0, 2, 2, 2]
    assert [path.name for path in list_runs(tmp_path)] == ["toy"]


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "checkpoints", "evaluation"])
def test_run_with_a_link_that_leads_out_of_it_is_not_written_to(tmp_path: Path, name: str) -> None:
    run, outside = make_run(tmp_path / "runs"), tmp_path / "outside"
    if "." in name or name == "lock":
        outside.write_text("mine")
    else:
        outside.mkdir()
    (run.path / name).symlink_to(outside)

    with pytest.raises(StorageError, match="must be no link"), run.hold():
        pass
    if name == "metrics.jsonl":
        with pytest.raises(StorageError, match="must be no link"):
            Journal(run.journal_path("metrics"))
    assert outside.read_text() == "mine" if outside.is_file() else not list(outside.iterdir())
    assert not run.is_held()


def test_run_in_a_workspace_that_is_a_link_is_held(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    run = make_run(tmp_path / "runs")
    with run.hold():
        assert run.is_held()


def test_lock_holds_the_number_of_the_process_alone(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    lock = run.path / "lock"
    lock.write_text("1234567890 of a longer line\n")
    with run.hold():
        assert lock.read_text() == f"{os.getpid()}\n"


def test_lock_that_is_a_link_is_none(tmp_path: Path) -> None:
    run, other = make_run(tmp_path), make_run(tmp_path, "other")
    (run.path / "lock").symlink_to(other.path / "lock")
    with other.hold():
        assert other.is_held()
        assert not run.is_held()
    assert not other.is_held()
