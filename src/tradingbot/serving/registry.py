"""Versions of models: which there are, what was decided about each, and which one serves.

    <workspace>/served/
        bundles/<sha256>.zip    every version's bundle, never changed
        versions.jsonl          what was decided, append-only, chained by hashes
        current.json            which version is in shadow, which on paper; moved by a rename

States go forward: candidate → shadow (decides beside the serving model, sends nothing) → paper
(trades) → retired. At most one version is in shadow and one on paper; the one before it retires. A
promotion asks for the verdict of the gates. A rollback puts a version on paper that was there
before, in one step. `versions.jsonl` is the truth; what a kill left undone of `current.json` is
made good by the next command or server that opens the registry.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tradingbot.data.atomic import atomic_file, file_sha256
from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runs.line_chain import LineChain
from tradingbot.serving.bundle import read_bundle
from tradingbot.serving.model_versions import (
    SINGLE,
    ModelVersion,
    RegistryEvent,
    State,
    find_version,
    fold_events,
    next_state,
    require_verdict,
    rollback_target,
)

_FOLDER, _LOG_FILE, _POINTER_FILE = "served", "versions.jsonl", "current.json"
_POINTER_BYTES = 4096
"""Room on the disk for a pointer; it takes some hundred."""


class CurrentVersions(SealedRecord):
    """`current.json`: state → version and bundle; what a server looks at."""

    sequence: int
    """Of the event that it follows from; −1 before the first."""
    versions: dict[State, str]
    bundles: dict[State, str]
    """Hash of the bundle."""


class ModelRegistry:
    """The versions of a workspace."""

    def __init__(self, workspace: Path) -> None:
        """Name the workspace; the folder is made by the first version."""
        self.folder = workspace / _FOLDER

    def versions(self) -> tuple[ModelVersion, ...]:
        """Return all versions, the oldest first.

        Raises:
            StorageError: If a decision was changed or taken out.
        """
        return fold_events(self._chain().entries())

    def version(self, reference: str) -> ModelVersion:
        """Return a version by name (`v3`), or by the beginning of its bundle's hash (6 or more).

        Raises:
            ConfigError: If there is none.
        """
        return find_version(self.versions(), reference)

    def current(self, state: State) -> ModelVersion | None:
        """Return the version in a state that one has at most; None where none is."""
        return next((each for each in self.versions() if each.state == state), None)

    def bundle_path(self, version: ModelVersion) -> Path:
        """Return where a version's bundle is."""
        return self._bundle_path(version.bundle_sha256)

    def register(self, bundle: Path, *, at: datetime) -> ModelVersion:
        """Take a bundle in as a candidate; the same bundle again is the same version.

        A file of that version that is gone or damaged is replaced.

        Raises:
            StorageError: If the bundle is damaged, or the disk refuses.
        """
        read = read_bundle(bundle)
        with self._alone() as (chain, descriptor):
            known = fold_events(chain.entries())
            same = next((each for each in known if each.bundle_sha256 == read.sha256), None)
            target = self._bundle_path(read.sha256)
            if not target.is_file() or file_sha256(target) != read.sha256:
                with atomic_file(target) as temporary:
                    shutil.copyfile(bundle, temporary)
            if same is None:
                verdict, run = read.manifest.verdict.status, read.manifest.run.id
                name = f"v{len(known) + 1}"
                new = ModelVersion(name, read.sha256, "candidate", at.isoformat(), verdict, run)
                self._decide(chain, descriptor, at, new, kind="registered", reason=f"run {run}")
        return self.version(read.sha256)

    def promote(
        self,
        reference: str,
        *,
        at: datetime,
        to: State | None = None,
        accept: str | None = None,
        reason: str = "",
    ) -> ModelVersion:
        """Move a version forward; its bundle must be whole, answer as it did, and say something.

        Args:
            reference: Of the version.
            at: Now.
            to: State; None: the next one up to paper. What is on paper retires by name only.
            accept: Verdict with which it is promoted although the gates do not ask for it.
            reason: Why, in words.

        Raises:
            ConfigError: If the state is not ahead, or the verdict is not good enough.
            StorageError: If the bundle is not fit to serve; what serves stays.
        """
        self.version(reference)  # nothing is made on disk for a version that is not there
        with self._alone() as (chain, descriptor):
            version = find_version(fold_events(chain.entries()), reference)
            wanted = next_state(version, to)
            if wanted != "retired":
                self.require_fit_to_serve(version)
            accepted = require_verdict(version, wanted, accept)
            told = {"kind": "promoted", "accepted": accepted, "reason": reason}
            self._decide(chain, descriptor, at, replace(version, state=wanted), **told)
        return self.version(version.name)

    def roll_back(self, reference: str | None, *, at: datetime, reason: str = "") -> ModelVersion:
        """Put a version on paper that was there before; None: the one before the current.

        Raises:
            ConfigError: If it never was, or none was before.
            StorageError: If its bundle is not fit to serve; what serves stays.
        """
        rollback_target(self._chain().entries(), reference)
        with self._alone() as (chain, descriptor):
            version = rollback_target(chain.entries(), reference)
            self.require_fit_to_serve(version)
            told = {"kind": "rolled back", "reason": reason}
            self._decide(chain, descriptor, at, replace(version, state="paper"), **told)
        return self.version(version.name)

    def require_fit_to_serve(self, version: ModelVersion) -> None:
        """Open a version's bundle as a server would.

        Raises:
            StorageError: If it is damaged, answers otherwise than when it was exported, or always
                the same.
            ConfigError: If this version computes a feature by another formula.
        """
        from tradingbot.serving.served_model import ServedModel  # ONNX Runtime: not to list

        path = self.bundle_path(version)
        if ServedModel.open(path, sha256=version.bundle_sha256).check().is_constant:
            raise StorageError(
                "a model must answer differently to different inputs to serve",
                was="one answer to all golden vectors",
                where=str(path),
                remedy="Train again, or choose another version",
            )

    def problems(self, only: ModelVersion | None = None) -> dict[str, str]:
        """Return what is wrong, by version; `current.json` where that is it. Empty: all is whole.

        Args:
            only: One version; None: all of them.

        Raises:
            StorageError: If a decision was changed or taken out.
        """
        found = {}
        for version in self.versions() if only is None else (only,):
            try:
                self.require_fit_to_serve(version)
            except (StorageError, ConfigError) as e:
                found[version.name] = str(e)
        chain = self._chain()
        if chain.hashes and self._read_pointer() != self._pointer_of(chain):
            found[_POINTER_FILE] = "is not what was decided last; the next command makes it good"
        return found

    def pointer(self) -> CurrentVersions:
        """Return what `current.json` says, or what was decided where it says something else.

        Cheap: a server asks before every swap.
        """
        chain = self._chain()
        wanted, found = self._pointer_of(chain), self._read_pointer()
        return wanted if found is None or found.sequence != wanted.sequence else found

    def _decide(
        self,
        chain: LineChain[RegistryEvent],
        descriptor: int,
        at: datetime,
        version: ModelVersion,
        **told: Any,
    ) -> None:
        """Write down what a version is from now on, then move the pointer.

        A disk without room for the pointer refuses before anything is decided.
        """
        with atomic_file(self.folder / _POINTER_FILE) as temporary:
            temporary.write_bytes(bytes(_POINTER_BYTES))
            chain.append(
                descriptor,
                at,
                version=version.name,
                bundle_sha256=version.bundle_sha256,
                to=version.state,
                verdict=version.verdict,
                **{"accepted": None, **told},
            )
            with temporary.open("r+b") as file:
                file.truncate(file.write(self._pointer_text(chain)))

    @contextmanager
    def _alone(self) -> Iterator[tuple[LineChain[RegistryEvent], int]]:
        """Let one process decide at a time; make good what a killed one left undone."""
        log = self.folder / _LOG_FILE
        with LineChain.alone(log, RegistryEvent, _damaged) as (chain, descriptor):
            if chain.hashes and self._read_pointer() != self._pointer_of(chain):
                with atomic_file(self.folder / _POINTER_FILE) as temporary:
                    temporary.write_bytes(self._pointer_text(chain))
            yield chain, descriptor

    def _chain(self) -> LineChain[RegistryEvent]:
        return LineChain(self.folder / _LOG_FILE, RegistryEvent, _damaged)

    def _pointer_of(self, chain: LineChain[RegistryEvent]) -> CurrentVersions:
        now = {each.state: each for each in fold_events(chain.entries()) if each.state in SINGLE}
        return CurrentVersions(
            sequence=len(chain.hashes) - 1,
            versions={state: each.name for state, each in now.items()},
            bundles={state: each.bundle_sha256 for state, each in now.items()},
        ).sealed()

    def _pointer_text(self, chain: LineChain[RegistryEvent]) -> bytes:
        return f"{self._pointer_of(chain).model_dump_json(indent=1)}\n".encode()

    def _read_pointer(self) -> CurrentVersions | None:
        """Return `current.json`; None where it is absent or damaged."""
        try:
            text = (self.folder / _POINTER_FILE).read_text(encoding="utf-8")
            found = CurrentVersions.model_validate_json(text)
        except (OSError, UnicodeDecodeError, ValidationError):
            return None
        return found if found.is_sealed() else None

    def _bundle_path(self, sha256: str) -> Path:
        return self.folder / "bundles" / f"{sha256}.zip"


def _damaged(path: Path, was: str) -> StorageError:
    return StorageError(
        "the registry of models must hold every decision as it was written",
        was=was,
        where=str(path),
        remedy="Restore it from a backup; bundles can be registered anew in another workspace",
    )
