"""Writes are whole or absent, also when the disk refuses or two writers meet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tradingbot.data.atomic import (
    atomic_directory,
    atomic_file,
    is_special,
    open_to_write,
    require_no_links,
    sweep_temporaries,
    write_text,
)
from tradingbot.domain.errors import StorageError


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def calls(monkeypatch) -> list[tuple[str, str]]:
    """What was flushed and renamed, in order: ("fsync", name) and ("rename", old name)."""
    seen: list[tuple[str, str]] = []

    def record(function: str, kind: str, name_of: Callable[..., str]) -> None:
        real = getattr(os, function)

        def recording(*arguments: object) -> object:
            seen.append((kind, name_of(*arguments)))
            return real(*arguments)

        monkeypatch.setattr(os, function, recording)

    record("fsync", "fsync", lambda descriptor: Path(f"/proc/self/fd/{descriptor}").readlink().name)
    record("replace", "rename", lambda source, target: Path(source).name)
    record("rename", "rename", lambda source, target: Path(source).name)
    return seen


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to name descriptors")
def test_atomic_file_flushes_the_file_before_and_the_folder_after_the_rename(tmp_path, calls):
    with atomic_file(tmp_path / "name") as temporary:
        temporary.write_text("x")
    assert calls == [
        ("fsync", temporary.name), ("rename", temporary.name), ("fsync", tmp_path.name)
    ]  # fmt: skip


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to name descriptors")
def test_atomic_directory_flushes_all_before_and_the_folder_after_the_rename(tmp_path, calls):
    with atomic_directory(tmp_path / "set") as temporary:
        (temporary / "a").write_text("x")
        (temporary / "b").write_text("y")
    assert calls == [
        ("fsync", "a"), ("fsync", "b"), ("fsync", temporary.name), ("rename", temporary.name),
        ("fsync", tmp_path.name),
    ]  # fmt: skip


def test_write_text_replaces_the_whole_content(tmp_path):
    write_text(tmp_path / "deep" / "name", "first, and long\n")
    write_text(tmp_path / "deep" / "name", "second\n")
    assert (tmp_path / "deep" / "name").read_text() == "second\n"
    assert names(tmp_path / "deep") == ["name"]


def fail_inside_file(path: Path) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("stop")


def fail_inside_directory(path: Path) -> None:
    with atomic_directory(path) as temporary:
        (temporary / "a").write_text("half")
        raise RuntimeError("stop")


def test_atomic_file_failure_keeps_the_old_content(tmp_path):
    write_text(tmp_path / "name", "old")
    with pytest.raises(RuntimeError):
        fail_inside_file(tmp_path / "name")
    assert (tmp_path / "name").read_text() == "old"
    assert names(tmp_path) == ["name"]


def test_atomic_directory_failure_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError):
        fail_inside_directory(tmp_path / "set")
    assert names(tmp_path) == []


def test_atomic_directory_appears_only_when_finished(tmp_path):
    with atomic_directory(tmp_path / "set") as temporary:
        (temporary / "a").write_text("x")
        assert not (tmp_path / "set").exists()
    assert names(tmp_path) == ["set"]


def test_atomic_directory_keeps_what_another_writer_finished_first(tmp_path):
    with atomic_directory(tmp_path / "set") as slow:
        (slow / "who").write_text("slow")
        with atomic_directory(tmp_path / "set") as fast:
            (fast / "who").write_text("fast")
    assert (tmp_path / "set" / "who").read_text() == "fast"
    assert names(tmp_path) == ["set"]


def make_folder(path: Path) -> None:
    with atomic_directory(path) as temporary:
        (temporary / "a").write_text("x")


def test_sweep_removes_leftovers_of_the_dead_only(tmp_path):
    (tmp_path / ".tmp-dead-set").mkdir()
    (tmp_path / ".tmp-dead-set" / "a").write_text("x")
    (tmp_path / ".tmp-dead-name").write_text("x")
    (tmp_path / "kept").write_text("x")
    with atomic_directory(tmp_path / "set") as alive, atomic_file(tmp_path / "name") as file:
        file.write_text("y")
        assert sweep_temporaries(tmp_path) == 2
        (alive / "a").write_text("y")
    assert names(tmp_path) == ["kept", "name", "set"]
    assert sweep_temporaries(tmp_path / "absent") == 0


@pytest.mark.parametrize("write", [lambda path: write_text(path, "new"), make_folder])
def test_writer_removes_what_a_killed_writer_of_the_same_name_left(tmp_path, write):
    own = [f".tmp-{digit * 32}-name" for digit in "0f"]
    others = [".tmp-mine-name", f".tmp-{'0' * 32}-other", f".tmp-{'0' * 32}-name.txt"]
    for leftover in (*own, *others):
        (tmp_path / leftover).write_text("half")
    write(tmp_path / "name")
    assert names(tmp_path) == sorted([*others, "name"])  # in a user's folder nothing else goes


def test_sweep_after_a_killed_writer_removes_what_it_left(tmp_path):
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from tradingbot.data.atomic import atomic_directory\n"
        "with atomic_directory(Path(sys.argv[1]) / 'set') as t:\n"
        "    (t / 'a').write_text('x')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert died.returncode == -9
    assert len(names(tmp_path)) == 1
    assert sweep_temporaries(tmp_path) == 1
    assert names(tmp_path) == []


@pytest.fixture
def tiny_disk(tmp_path):
    """A real file system of 64 KiB, where mounting is allowed."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a tiny disk needs root")
    command = [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount a tiny disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_write_on_a_full_disk_is_one_clear_line_and_keeps_the_old(tiny_disk):
    write_text(tiny_disk / "name", "old")
    with pytest.raises(StorageError, match=r"must have room.*No space left.*Free space"):
        write_text(tiny_disk / "name", "x" * 200_000)
    assert (tiny_disk / "name").read_text() == "old"
    assert names(tiny_disk) == ["name"]


def test_write_where_a_file_stands_for_a_folder_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="must accept the file"):
        write_text(tmp_path / "file" / "name", "y")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_write_in_a_read_only_folder_is_a_storage_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="must be writable"):
        write_text(tmp_path / "name", "x")


def test_link_is_never_written_through(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "inside" / "link"
    outside.write_text("mine")
    link.parent.mkdir()
    link.symlink_to(outside)
    with pytest.raises(StorageError, match=r"must be no link.*inside/link"):
        open_to_write(link)
    with pytest.raises(StorageError, match=r"must be no link.*inside/link"):
        require_no_links(link.parent)
    write_text(link, "new")  # replaces the link, not what it points to
    assert (outside.read_text(), link.read_text(), link.is_symlink()) == ("mine", "new", False)
    require_no_links(link.parent)
    require_no_links(tmp_path / "absent")


def test_atomic_file_takes_the_place_of_no_device_pipe_or_socket(tmp_path):
    pipe, plain, link = tmp_path / "pipe", tmp_path / "plain", tmp_path / "link"
    os.mkfifo(pipe)
    plain.write_text("old")
    link.symlink_to(plain)

    with pytest.raises(StorageError, match=r"place of a device, pipe or socket, was .*pipe\. Name"):
        write_text(pipe, "new")

    assert pipe.is_fifo()
    assert names(tmp_path) == ["link", "pipe", "plain"]
    assert is_special(Path("/dev/null"))
    assert is_special(Path("/dev/stdout"))  # a link, to a file where output goes into one
    assert not is_special(Path("/dev/shm/workspace"))
    assert not any(map(is_special, (plain, link, tmp_path, tmp_path / "new")))
