"""A workspace in an object store, and the folder of this machine in which it is worked with.

Locks, journals and memory-mapped panels need files; a store has none, and no rename. So a command
works in a folder, the mirror: what the store has is fetched first, what the command made is
published after it. In the store:

    objects/<sha256>          content, written once
    pointers/<unit>.json      path → hash of every file of a run, a dataset, a name …

All objects of a unit are there before its pointer is replaced: a kill at any instant leaves the
unit as it was or as it is. A unit that changed on both sides is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tradingbot.data.atomic import (
    file_sha256,
    is_locked,
    is_temporary,
    open_to_write,
    storage_errors,
    write_text,
)
from tradingbot.data.object_store import ObjectStore, open_store
from tradingbot.data.pointers import (
    KEPT_HERE,
    content_hash,
    pointer_name,
    read_pointer,
    unit_of,
    write_pointer,
)
from tradingbot.domain.errors import StorageError

MIRRORS_VARIABLE = "TRADINGBOT_MIRRORS"
"""Names the folder of mirrors; the same on every machine of a cluster."""
_STATE, _LOCK, _WORKSPACE, _COPY = "mirror.json", "mirror.lock", "workspace", "sending"


class _AgreedFile(NamedTuple):
    """A file as it was when mirror and store last agreed."""

    sha256: str
    size: int
    changed_ns: int


class Mirror:
    """One workspace, here and in a store."""

    def __init__(self, store: ObjectStore, folder: Path) -> None:
        """Open a mirror; nothing is fetched yet.

        Args:
            store: Where the workspace is.
            folder: Of this machine, made where it is absent.
        """
        self._store, self._place = store, folder
        self.workspace = folder / _WORKSPACE
        self._pointers: dict[str, str] = {}
        self._files: dict[str, dict[str, _AgreedFile]] = {}
        self._coming: dict[str, dict[str, str]] = {}

    def fetch(self) -> int:
        """Bring what the store has and the mirror has not; return how many units changed.

        Raises:
            StorageError: If a unit changed on both sides, or the store or the disk refuses.
        """
        self._store.require_bucket()
        with self._held():
            there = {unit_of(name): name for name in self._store.names("pointers")}
            changed = 0
            for unit in sorted({*there, *self._pointers}):
                text = self._store.read(there[unit]) if unit in there else None
                if (content_hash(text) if text is not None else None) == self._pointers.get(unit):
                    continue
                wanted = read_pointer(text, self._store.shown, unit) if text is not None else {}
                if self._was_changed(unit, wanted):
                    raise self._conflict(unit)
                self._take(unit, text, wanted)
                changed += 1
            return changed

    def publish(self, only: str | None = None) -> int:
        """Send what changed here; return how many units did.

        Args:
            only: A unit, e.g. `runs/first`, with the ledger that counts it; all by default, but
                those that another process works with now, and publishes itself.

        Raises:
            StorageError: If a unit changed on both sides, or the store refuses.
        """
        with self._held():
            # Files of the workspace itself first: runs name entries of the ledger.
            units = sorted({*self._units(), *self._pointers}, key=lambda each: ("/" in each, each))
            wanted = [each for each in units if only in (None, each) or "/" not in each]
            if only is None:
                wanted = [each for each in wanted if not is_locked(self.workspace / each / "lock")]
            changed = [each for each in wanted if self._differs(each)]
            for unit in changed:
                text = self._store.read(pointer_name(unit))
                if (content_hash(text) if text is not None else None) != self._pointers.get(unit):
                    raise self._conflict(unit)
                self._send(unit)
            return len(changed)

    def _send(self, unit: str) -> None:
        known: dict[str, _AgreedFile] = {}
        before = self._files.get(unit, {})
        for path in self._paths(unit):
            name = path.relative_to(self.workspace).as_posix()
            seen = _look(path)
            old = before.get(name)
            digest = old.sha256 if old and old[1:] == seen else self._send_content(path)
            known[name] = _AgreedFile(digest, *seen)
        if known:
            text = write_pointer({name: (each.sha256, each.size) for name, each in known.items()})
            self._store.write(pointer_name(unit), text)
            self._pointers[unit], self._files[unit] = content_hash(text), known
        else:
            self._store.remove(pointer_name(unit))
            self._pointers.pop(unit, None)
            self._files.pop(unit, None)
        self._remember()

    def _send_content(self, path: Path) -> str:
        """Send what a file holds, and return its hash: of a copy, for it may grow meanwhile."""
        copy = self._place / _COPY
        with storage_errors(copy):
            shutil.copyfile(path, copy)
        try:
            digest = file_sha256(copy)
            if not self._store.has(f"objects/{digest}"):
                self._store.send(f"objects/{digest}", copy)
        finally:
            copy.unlink()
        return digest

    def _take(self, unit: str, text: bytes | None, wanted: dict[str, str]) -> None:
        self._coming[unit] = wanted
        self._remember()
        for path in self._paths(unit):
            if path.relative_to(self.workspace).as_posix() not in wanted:
                path.unlink()
                _remove_empty(path.parent, self.workspace)
        known, before = {}, self._files.get(unit, {})
        for name, digest in wanted.items():
            path, old = self.workspace / name, before.get(name)
            if not (path.is_file() and old and old.sha256 == digest):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._store.bring(f"objects/{digest}", path)
                if file_sha256(path) != digest:
                    path.unlink()
                    rule = "an object must have the content that its name says"
                    raise StorageError(rule, was="another", where=f"{self._store.shown}, {name}")
            known[name] = _AgreedFile(digest, *_look(path))
        if text is None:
            self._pointers.pop(unit, None)
            self._files.pop(unit, None)
            shutil.rmtree(self.workspace / unit, ignore_errors=True)
        else:
            self._pointers[unit], self._files[unit] = content_hash(text), known
        self._coming.pop(unit)
        self._remember()

    def _differs(self, unit: str) -> bool:
        """Tell whether files of a unit are not as mirror and store last agreed."""
        now = {
            path.relative_to(self.workspace).as_posix(): _look(path) for path in self._paths(unit)
        }
        return now != {name: known[1:] for name, known in self._files.get(unit, {}).items()}

    def _was_changed(self, unit: str, wanted: dict[str, str]) -> bool:
        """Tell whether a unit has changes of its own: what a killed fetch has brought is none."""
        before, here = self._files.get(unit, {}), set()
        coming = self._coming.get(unit)
        for path in self._paths(unit):
            name = path.relative_to(self.workspace).as_posix()
            here.add(name)
            known = before.get(name)
            if known and known[1:] == _look(path):
                continue
            if file_sha256(path) not in (wanted.get(name), (coming or {}).get(name)):
                return True
        missing = before.keys() - here
        return any(name in wanted and (coming is None or name in coming) for name in missing)

    def _units(self) -> set[str]:
        found = set()
        for path in sorted(self.workspace.rglob("*")):
            parts = path.relative_to(self.workspace).parts
            if parts[0] not in KEPT_HERE and path.is_file() and not _is_of_the_moment(path):
                found.add("/".join(parts[:2]))
        return found

    def _paths(self, unit: str) -> list[Path]:
        place = self.workspace / unit
        found = [place] if place.is_file() else sorted(place.rglob("*"))
        return [
            path
            for path in found
            if path.is_file() and not path.is_symlink() and not _is_of_the_moment(path)
        ]

    def _conflict(self, unit: str) -> StorageError:
        return StorageError(
            "what is worked with on one machine must not be changed by another",
            was=f"{unit} changed here and in the store",
            where=f"{self.workspace / unit} and {self._store.shown}",
            remedy="Move one of both away, then run the command again; nothing was overwritten",
        )

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the mirror's lock, and know what was agreed last."""
        with storage_errors(self._place):
            self._place.mkdir(parents=True, exist_ok=True)
            lock = open_to_write(self._place / _LOCK)
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            state = self._recall()
            self._pointers = dict(state.get("pointers", {}))
            self._coming = dict(state.get("coming", {}))
            self._files = {
                unit: {name: _AgreedFile(*known) for name, known in files.items()}
                for unit, files in state.get("files", {}).items()
            }
            with storage_errors(self._place):
                self.workspace.mkdir(exist_ok=True)
            yield
        finally:
            os.close(lock)

    def _recall(self) -> dict[str, Any]:
        """Return what was agreed: nothing where the folder is gone, or the memory damaged.

        A folder that was cleared away is no wish to remove everything from the store.
        """
        if not self.workspace.is_dir():
            return {}
        try:
            state = json.loads((self._place / _STATE).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _remember(self) -> None:
        state = {"pointers": self._pointers, "files": self._files, "coming": self._coming}
        write_text(self._place / _STATE, json.dumps(state) + "\n")


def open_mirror(url: str) -> Mirror:
    """Return the mirror of a workspace in a store: the same folder for the same URL.

    Raises:
        ConfigError: If the URL names no store, or holds a secret.
    """
    store = open_store(url)
    usual = Path.home() / ".cache" / "tradingbot" / "mirrors"
    root = Path(os.environ.get(MIRRORS_VARIABLE) or usual).expanduser()
    return Mirror(store, root.absolute() / content_hash(url.rstrip("/").encode())[:16])


def _is_of_the_moment(path: Path) -> bool:
    """Whether a file means something to processes of this machine only: locks, half-written."""
    return is_temporary(path) or path.name == "lock" or path.suffix == ".lock"


def _remove_empty(folder: Path, workspace: Path) -> None:
    """Remove a folder and those above it, as far as nothing is in them."""
    while folder != workspace and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _look(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
