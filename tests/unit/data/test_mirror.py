"""A workspace in an object store: published whole, fetched whole, nothing overwritten or shown."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.s3.server import ACCESS_KEY, SECRET_KEY, S3Server, s3_server
from fixtures.tiny_training import tiny_arguments
from fixtures.warm_process import WarmProcess
from tradingbot.app.cli.application import run
from tradingbot.app.cli.invocation import find_workspace
from tradingbot.data import mirror as mirrors
from tradingbot.data.mirror import MIRRORS_VARIABLE, Mirror, open_mirror
from tradingbot.data.object_store import open_store
from tradingbot.data.publishing import publish_folder, use_mirror
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.facade.bars import open_workspace
from tradingbot.runs import RunDirectory
from tradingbot.runs.lock import hold_lock
from tradingbot_benchmarks.cluster.trainings import run_bits

URL = "s3://bars/team/one"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with s3_server("bars") as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv(MIRRORS_VARIABLE, str(tmp_path / "mirrors"))
        yield found


def machine(tmp_path: Path, name: str) -> Mirror:
    """Return the mirror of a machine of its own."""
    return Mirror(open_store(URL), tmp_path / name)


def write(mirror: Mirror, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = mirror.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def content(mirror: Mirror) -> dict[str, str]:
    return {
        path.relative_to(mirror.workspace).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(mirror.workspace.rglob("*"))
        if path.is_file()
    }


RUN = {"runs/first/run.json": "{}", "runs/first/checkpoints/1/agent": "weights", "names/us": "1\n"}


def test_what_one_machine_publishes_another_fetches(server: S3Server, tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    kept_here = {
        "runs/first/lock": "12",
        "ledger.jsonl.lock": "12",
        "runs/first/.tmp-0123-agent": "half",
        "cluster/token": "secret",
        "served/keys.json": "secret",
    }
    write(one, {**RUN, **kept_here})
    (one.workspace / "runs/first/link").symlink_to(one.workspace / "cluster/token")

    assert one.publish() == 2
    assert two.fetch() == 2
    assert content(two) == RUN  # no lock, nothing half-written, no token, no key
    assert not any(b"secret" in each for each in server.objects["bars"].values())
    assert (one.publish(), one.fetch(), two.publish(), two.fetch()) == (0, 0, 0, 0)


def test_a_pointer_is_written_after_everything_it_points_at(
    server: S3Server, tmp_path: Path
) -> None:
    one = machine(tmp_path, "one")
    write(one, RUN)
    one.publish("runs/first")

    assert [name.split("/")[2] for name in server.written] == ["objects", "objects", "pointers"]


def test_a_checkpoint_is_published_with_the_ledger_that_counts_its_run(
    server: S3Server, tmp_path: Path
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, {**RUN, "ledger.jsonl": "first\n"})
    publish_folder(one.workspace / "runs" / "first")  # nothing yet: no mirror is in use
    assert server.written == []
    use_mirror(one)
    server.fail_after = 0
    publish_folder(one.workspace / "runs" / "first")  # a store that refuses ends no training
    server.fail_after = None
    publish_folder(one.workspace / "runs" / "first" / "checkpoints")

    pointers = [name for name in server.written if "/pointers/" in name]
    assert [name.partition("/pointers/")[2] for name in pointers] == [
        "ledger.jsonl.json",
        "runs/first.json",
    ]
    two.fetch()
    assert "names/us" not in content(two)


def test_a_publication_that_breaks_off_leaves_what_was_there_and_goes_on_later(
    server: S3Server, tmp_path: Path
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, RUN)
    one.publish()
    changed = {"runs/first/run.json": "{1}", "runs/first/checkpoints/2/agent": "more"}
    write(one, changed)
    for further in (0, 1):  # before the first object, and between the objects and the pointer
        server.fail_after = len(server.written) + further
        with pytest.raises(StorageError, match="an object store must answer"):
            machine(tmp_path, "one").publish()
        server.fail_after = None
        two.fetch()
        assert content(two) == RUN

    sent = len(server.written)
    assert machine(tmp_path, "one").publish() == 1
    assert len(server.written) == sent + 2  # what had arrived is not sent again
    two.fetch()
    assert content(two) == RUN | changed


def test_a_fetch_that_was_cut_short_is_gone_on_with(server: S3Server, tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, RUN)
    one.publish()
    two.fetch()
    changed = {"runs/first/run.json": "{1}", "runs/first/a": "new", "runs/first/z": "newer"}
    write(one, changed)
    one.publish()
    objects, last = server.objects["bars"], hashlib.sha256(b"newer").hexdigest()
    gone = objects.pop(f"team/one/objects/{last}")
    with pytest.raises(StorageError, match="must be there"):
        two.fetch()
    assert content(two)["runs/first/a"] == "new"  # brought before it broke off
    objects[f"team/one/objects/{last}"] = gone

    assert machine(tmp_path, "two").fetch() == 1
    assert content(two) == RUN | changed


def test_a_kill_between_pointer_and_memory_is_no_change_of_another(
    server: S3Server, tmp_path: Path
) -> None:
    one = machine(tmp_path, "one")
    write(one, RUN)
    one.publish()
    state = (tmp_path / "one" / "mirror.json").read_bytes()
    write(one, {"runs/first/run.json": "{1}"})
    one.publish()
    (tmp_path / "one" / "mirror.json").write_bytes(state)  # as if it was killed before

    assert machine(tmp_path, "one").fetch() == 1
    assert machine(tmp_path, "one").publish() == 0
    assert content(one) == RUN | {"runs/first/run.json": "{1}"}


def test_what_changed_on_both_sides_is_refused_and_kept(server: S3Server, tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, RUN)
    one.publish()
    two.fetch()
    write(one, {"runs/first/run.json": "one's"})
    write(two, {"runs/first/run.json": "two's", "runs/second/run.json": "{}"})
    one.publish()

    for act in (two.publish, two.fetch):
        with pytest.raises(StorageError, match="runs/first changed here and in the store"):
            act()
    assert content(two)["runs/first/run.json"] == "two's"
    third = machine(tmp_path, "three")
    third.fetch()
    assert content(third)["runs/first/run.json"] == "one's"


def test_what_is_removed_goes_on_the_other_side_too(server: S3Server, tmp_path: Path) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, RUN)
    one.publish()
    two.fetch()
    (one.workspace / "names/us").unlink()
    (one.workspace / "runs/first/checkpoints/1/agent").unlink()
    one.publish()
    two.fetch()

    assert content(two) == {"runs/first/run.json": "{}"}
    write(two, {"runs/first/lock": "12"})
    shutil.rmtree(one.workspace / "runs" / "first")
    one.publish()
    two.fetch()
    assert not (two.workspace / "runs" / "first").exists()  # a lock alone would be half a run


def test_content_that_is_not_what_its_name_says_is_refused(
    server: S3Server, tmp_path: Path
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, {"runs/first/run.json": "{}"})
    one.publish()
    objects = server.objects["bars"]
    (name,) = [each for each in objects if "/objects/" in each]
    objects[name] = b"other"
    with pytest.raises(StorageError, match="content that its name says"):
        two.fetch()
    assert content(two) == {}
    (pointer,) = [each for each in objects if "/pointers/" in each]
    for text in (b"{", b'{"files": {"runs/first/../../x": ["0", 1]}}', b'{"files": {"x": ["0"]}}'):
        objects[pointer] = text
        with pytest.raises(StorageError, match="a pointer"):
            machine(tmp_path, "three").fetch()
    assert not (tmp_path / "three" / "x").exists()


def put(server: S3Server, unit: str, path: str) -> None:
    """Let somebody who may write to the bucket point at a file of their own."""
    digest = hashlib.sha256(b"theirs").hexdigest()
    text = json.dumps({"format": 1, "files": {path: [digest, 6]}}).encode()
    server.objects["bars"] |= {
        f"team/one/objects/{digest}": b"theirs",
        f"team/one/pointers/{unit}.json": text,
    }


def test_no_pointer_leads_out_of_the_workspace_or_to_keys_of_this_machine(
    server: S3Server, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    for unit, path in {
        "": str(victim),
        "runs/first": "runs/first//../x",
        "served/keys.json": "served/keys.json",
        "cluster/token": "cluster/token",
        "runs/second": "runs/second/./x",
    }.items():
        server.objects["bars"].clear()
        put(server, unit, path)
        with pytest.raises(StorageError, match="a pointer must name files of its unit"):
            machine(tmp_path, "two").fetch()
    assert not victim.exists()
    assert content(machine(tmp_path, "two")) == {}


def test_a_file_that_grows_while_it_is_sent_is_stored_under_the_hash_of_what_was_sent(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, {"runs/first/events.jsonl": "1\n"})
    hashed = mirrors.file_sha256

    def growing(path: Path) -> str:
        found = hashed(path)
        with (one.workspace / "runs/first/events.jsonl").open("a", encoding="utf-8") as file:
            file.write("2\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(mirrors, "file_sha256", growing)
        one.publish()
    two.fetch()
    assert content(two) == {"runs/first/events.jsonl": "1\n"}
    assert one.publish() == 1  # what was added meanwhile is not forgotten
    two.fetch()
    assert content(two) == content(one) == {"runs/first/events.jsonl": "1\n2\n"}
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "mirror.json",
        "mirror.lock",
        "workspace",
    ]


def test_what_another_process_works_with_is_left_to_it(server: S3Server, tmp_path: Path) -> None:
    one = machine(tmp_path, "one")
    write(one, {**RUN, "sessions/live/journal.db": "half"})
    with hold_lock(one.workspace / "sessions" / "live" / "lock", "session live"):
        assert one.publish() == 2
        assert one.publish("sessions/live") == 1  # its own process publishes it
        write(one, {"sessions/live/journal.db": "torn"})
        assert one.publish() == 0
    assert one.publish() == 1


@pytest.mark.parametrize("damaged", [False, True])
def test_a_mirror_that_was_cleared_away_takes_nothing_from_the_store(
    server: S3Server, tmp_path: Path, damaged: bool
) -> None:
    one = machine(tmp_path, "one")
    write(one, RUN)
    one.publish()
    if damaged:
        (tmp_path / "one" / "mirror.json").write_text("{", encoding="utf-8")
    else:
        shutil.rmtree(one.workspace)

    again = machine(tmp_path, "one")
    again.fetch()
    assert again.publish() == 0
    assert content(again) == RUN


def test_a_fetch_that_was_cut_short_goes_on_with_what_came_since(
    server: S3Server, tmp_path: Path
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, {**RUN, "runs/first/back": "1"})
    one.publish()
    two.fetch()
    (one.workspace / "runs/first/back").unlink()
    write(one, {"runs/first/run.json": "{1}", "runs/first/z": "newer"})
    one.publish()
    objects, last = server.objects["bars"], hashlib.sha256(b"newer").hexdigest()
    gone = objects.pop(f"team/one/objects/{last}")
    with pytest.raises(StorageError, match="must be there"):
        two.fetch()
    assert content(two)["runs/first/run.json"] == "{1}"
    objects[f"team/one/objects/{last}"] = gone
    write(one, {"runs/first/run.json": "{2}", "runs/first/back": "2", "runs/a/run.json": "{}"})
    one.publish()

    assert machine(tmp_path, "two").fetch() == 2
    assert content(two) == content(one)


def test_a_folder_gives_way_to_a_file_and_leaves_none_behind(
    server: S3Server, tmp_path: Path
) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    write(one, {"runs/first/a/b": "1", "runs/first/c/d": "1"})
    one.publish()
    two.fetch()
    shutil.rmtree(one.workspace / "runs/first")
    write(one, {"runs/first/a": "2"})
    one.publish()
    two.fetch()

    assert content(two) == {"runs/first/a": "2"}
    assert not (two.workspace / "runs/first/c").exists()


def test_commands_work_in_a_store_and_go_on_where_another_machine_ended(
    server: S3Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make = "data generate --name one --universe prototype10"
    assert run(["--workspace", URL, *make.split()]) == 0
    monkeypatch.setenv(MIRRORS_VARIABLE, str(tmp_path / "elsewhere"))
    capsys.readouterr()

    assert run(["--workspace", URL, "data", "list", "--json"]) == 0
    said = capsys.readouterr()
    assert "one" in json.dumps(json.loads(said.out))
    assert SECRET_KEY not in said.out + said.err


def test_what_a_command_made_before_it_failed_is_published(
    server: S3Server, tmp_path: Path
) -> None:
    write(open_mirror(URL), RUN)
    assert run(["--workspace", URL, "runs", "show", "nowhere"]) == 2

    two = machine(tmp_path, "two")
    two.fetch()
    assert content(two) == RUN


@pytest.mark.slow
def test_a_killed_training_ends_on_another_machine_with_the_bits_of_one_that_was_not(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = ("--set", "budget.steps_per_agent=480", "--name", "first")
    command = tiny_arguments(tmp_path / "whole", *longer)
    with WarmProcess(["--workspace", URL, *command[2:]]) as process:
        while sum("pointers/runs/first" in name for name in [*server.written]) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    monkeypatch.setenv(MIRRORS_VARIABLE, str(tmp_path / "elsewhere"))
    mirror = open_mirror(URL)
    mirror.fetch()
    kept = RunDirectory.open(mirror.workspace / "runs" / "first")
    assert 0 < kept.status().update < 60

    assert run(["--workspace", URL, "train", "--resume", "first"]) == 0
    assert run(command) == 0
    whole = RunDirectory.open(tmp_path / "whole" / "runs" / "first")
    assert run_bits(RunDirectory.open(kept.path)) == run_bits(whole)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"AWS_ACCESS_KEY_ID": "another"}, "ACCESS_DENIED"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "NETWORK_CONNECTION"),
    ],
)
def test_a_store_that_refuses_is_one_line_and_exit_code_2(
    server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    words: str,
) -> None:
    for name, value in changed.items():
        monkeypatch.setenv(name, value)

    assert run(["--workspace", URL, "data", "list"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "AWS_ACCESS_KEY_ID" in said  # the remedy
    assert SECRET_KEY not in said
    assert "Traceback" not in said


def test_a_bucket_that_is_not_there_is_refused_before_anything_is_made(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = "data generate --name one --universe prototype10"

    assert run(["--workspace", "s3://gone/x", *make.split()]) == 2
    assert "the bucket of an object store must be there" in capsys.readouterr().err
    assert not (tmp_path / "mirrors").exists()


def test_urls_with_secrets_or_of_no_store_are_refused_and_not_shown() -> None:
    for url, words in {
        "s3://key:s3cret@bucket/x": "must hold no credentials",
        "s3://bucket/x?secret_key=s3cret": "must hold no credentials",
        "s3://bucket/x?endpoint=http://me:s3cret@host": "must hold no credentials",
        "s3://[s3cret": "must be one",
        "memory://s3cret": "of a known kind",
        "s3:///x": "must name a bucket",
        "abfs://account.dfs.core.windows.net/x": "must name a bucket",
    }.items():
        with pytest.raises(ConfigError, match=words) as refused:
            find_workspace(url)
        assert "s3cret" not in str(refused.value)
    with pytest.raises(ConfigError, match="workspace must be a folder, was a URL"):
        open_workspace("s3://key:s3cret@bucket/x")


def test_the_same_url_has_the_same_folder_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MIRRORS_VARIABLE, str(tmp_path))
    first, second = open_mirror(URL).workspace, open_mirror(f"{URL}/").workspace

    assert first == second != open_mirror("gs://bars/team/one").workspace
    assert os.path.isabs(first)
    assert open_mirror("abfs://box@account.dfs.core.windows.net/x").workspace != first
