"""Writes that are whole or absent: temporary name → fsync → rename → fsync of the folder.

A process killed at any instant leaves the old content or the new content, never a mixture; what
it leaves under a temporary name is swept by the next writer of the same name. A writer holds a lock
on its temporary name, which dies with it, so that what is still being written is not swept.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from tradingbot.domain.errors import StorageError

_TEMPORARY = ".tmp-"
_DEVICES = Path("/dev")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success it becomes `path`, on any failure it vanishes.

    Raises:
        StorageError: If the disk refuses, or `path` is no place for a plain file.
    """
    if is_special(path):
        rule = "a file must not take the place of a device, pipe or socket"
        raise StorageError(rule, was=str(path), remedy="Name a plain file")
    with storage_errors(path), _temporary(path, Path.touch) as temporary:
        try:
            yield temporary
            _fsync(temporary)
            os.replace(temporary, path)
            _fsync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary folder; on success it becomes `path`, which must not exist yet.

    If another writer produced `path` meanwhile, theirs is kept: a content-addressed folder of the
    same name has the same content.
    """
    with storage_errors(path), _temporary(path, Path.mkdir) as temporary:
        try:
            yield temporary
            for file in sorted(temporary.rglob("*")):
                _fsync(file)
            _fsync(temporary)
            _rename_unless_there(temporary, path)
            _fsync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def discard_directory(path: Path, *, wait: bool = False) -> bool:
    """Remove a folder at once or not at all, unless a reader holds a lock on it.

    Args:
        path: The folder.
        wait: Wait for readers instead of leaving the folder to them.

    Returns:
        Whether it is gone.
    """
    with storage_errors(path):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            hidden = path.parent / f"{_TEMPORARY}{uuid.uuid4().hex}-{path.name}"
            os.rename(path, hidden)  # a kill from here on leaves a temporary, never half a folder
            _fsync(path.parent)
            shutil.rmtree(hidden)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
    return True


def require_writable(folder: Path) -> None:
    """Refuse a folder, there or not yet there, in which no file could be made; leaves no trace.

    Raises:
        StorageError: Saying why.
    """
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    with storage_errors(folder), TemporaryFile(dir=there):
        pass


def write_text(path: Path, text: str) -> None:
    """Write a small text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def is_special(path: Path) -> bool:
    """Tell whether a path is a device, a pipe or a socket: a rename would take it from everyone.

    So are the links of `/dev`, e.g. `/dev/stdout`, whatever they lead to.
    """
    is_other = path.exists() and not (path.is_file() or path.is_dir())
    return is_other or path.absolute().parent == _DEVICES


def open_to_write(path: Path) -> int:
    """Open a plain file that is changed in place, made where it is absent; return its descriptor.

    Raises:
        StorageError: If it is a link, which could lead anywhere, or the disk refuses.
    """
    with storage_errors(path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def require_no_links(folder: Path) -> None:
    """Refuse a folder with a link directly in it: what is written there would land elsewhere.

    Raises:
        StorageError: Naming the link.
    """
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.is_symlink():
            with storage_errors(entry):
                raise OSError(errno.ELOOP, "a link", str(entry))


def file_sha256(path: Path) -> str:
    """Hash the whole file (hex SHA-256)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_temporary(path: Path) -> bool:
    """Tell whether a name is that of a file which is being written, or was when a writer died."""
    return path.name.startswith(_TEMPORARY)


def is_locked(path: Path) -> bool:
    """Tell whether the lock of a file is held now."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def sweep_temporaries(folder: Path) -> int:
    """Remove what killed writers left directly in `folder`; return how many were removed."""
    if not folder.is_dir():
        return 0
    leftovers = [entry for entry in folder.iterdir() if is_temporary(entry)]
    return sum(_sweep(entry) for entry in leftovers)


def _sweep(entry: Path) -> bool:
    try:
        descriptor = os.open(entry, os.O_RDONLY)
    except FileNotFoundError:
        return False  # its writer finished meanwhile
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    except (BlockingIOError, FileNotFoundError):
        return False  # its writer lives, or another sweeper was first
    finally:
        os.close(descriptor)
    return True


@contextmanager
def _temporary(path: Path, create: Callable[[Path], None]) -> Iterator[Path]:
    """Create a temporary name beside `path` and hold its lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = re.compile(rf"{re.escape(_TEMPORARY)}[0-9a-f]{{32}}-{re.escape(path.name)}")
    for name in os.listdir(path.parent):  # the folder may be a user's: nothing but our own goes
        if own.fullmatch(name):
            _sweep(path.parent / name)
    while True:
        temporary = path.parent / f"{_TEMPORARY}{uuid.uuid4().hex}-{path.name}"
        create(temporary)
        try:
            descriptor = os.open(temporary, os.O_RDONLY)
        except FileNotFoundError:  # swept between creation and lock
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if temporary.exists():
            break
        os.close(descriptor)
    try:
        yield temporary
    finally:
        os.close(descriptor)


def _rename_unless_there(temporary: Path, path: Path) -> None:
    try:
        os.rename(temporary, path)
    except OSError as e:
        if e.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise  # those two: another writer was first, with the same content


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses in the block into one line about `path`."""
    other, room = "Choose another --workspace", "Free space or choose another --workspace"
    reasons = {
        errno.ENOSPC: ("disk must have room for the file", room),
        errno.EDQUOT: ("disk quota must allow the file", room),
        errno.EFBIG: (
            "file must be within the system's size limit",
            "Raise the limit (ulimit -f) or choose another --workspace",
        ),
        errno.EROFS: ("workspace must be writable", other),
        errno.EACCES: ("workspace must be writable", other),
        errno.ELOOP: (
            "what a run or ledger writes must be no link: it leads elsewhere",
            "Replace the link by what it points to; the workspace itself may be a link",
        ),
        errno.EIO: ("disk must accept the file", "Check the disk, then run the command again"),
    }
    try:
        yield
    except OSError as e:
        rule, remedy = reasons.get(e.errno or 0, ("workspace must accept the file", other))
        was, remedy = e.strerror or type(e).__name__, f"{remedy}; nothing was lost"
        raise StorageError(rule, was=was, where=str(path), remedy=remedy) from e


_USUAL = "--workspace"  # what `storage_errors` says, for most files are there


@contextmanager
def chosen_by(option: str, place: Path | None) -> Iterator[None]:
    """Name the option, not the workspace, where the disk refuses `place` or a file below it.

    Raises:
        StorageError: The block's own, with another rule and remedy.
    """
    try:
        yield
    except StorageError as e:
        where = Path(e.where or "")
        if place is None or not (where == place or place in where.parents):
            raise
        rule, remedy = e.rule.replace("workspace", option), (e.remedy or "")
        remedy = remedy.replace(_USUAL, option)
        raise StorageError(rule, was=e.was, where=e.where, remedy=remedy) from e
