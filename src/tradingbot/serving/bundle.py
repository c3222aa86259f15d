"""A bundle: everything that turns bars into actions, in one file with one hash.

    NAME.zip
        manifest.json         agents, features with hashes, scalers, rules, verdict, data period
        encoder_window.onnx   windows → embeddings
        encoder_stream.onnx   one bar and the memory → embedding and the memory after it
        heads.onnx            embedding and account → action, for every agent
        master.onnx           what all sleeves show → weights of capital; only of portfolios
        golden.safetensors    inputs, and what the model makes of them

The hash of a bundle is the sha256 of the file: `sha256sum NAME.zip`. Members are stored, never
compressed or unpacked to disk, and have no names but these; nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from tradingbot.data.atomic import atomic_file
from tradingbot.data.json_files import json_problem
from tradingbot.data.regular_files import read_regular_file
from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.errors import StorageError
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.record import StoredModel
from tradingbot.serving.graph_contract import (
    HEADS_FILE,
    MASTER_FILE,
    STREAM_FILE,
    WINDOW_FILE,
    Confidence,
    GraphSizes,
)

MANIFEST_FILE, GOLDEN_FILE = "manifest.json", "golden.safetensors"
NOT_EVALUATED = "not evaluated"
MODEL_FILES = (WINDOW_FILE, STREAM_FILE, HEADS_FILE)
_FILES = (MANIFEST_FILE, *MODEL_FILES, GOLDEN_FILE)
MAX_BUNDLE_BYTES = 1_000_000_000
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # no time of day: the same run gives the same bytes


class BundleFile(StoredModel):
    """A member of the bundle."""

    sha256: str
    n_bytes: int


class BundleRun(StoredModel):
    """Which run was exported, and what it learned from."""

    id: str
    checkpoint: str
    """Name of the folder."""
    learner: str
    weights_sha256: str
    config_sha256: str
    data_sha256: str
    code_version: str
    code_sha256: str
    data_label: str
    synthetic: bool


class BundleVerdict(StoredModel):
    """What the gates said of the run."""

    status: str = NOT_EVALUATED
    """GO, CONDITIONAL or NO-GO; `not evaluated` where the run has no dossier."""
    gates: dict[str, str] = Field(default_factory=dict)
    """Gate → its status."""
    dossier_sha256: str | None = None


class ParityRecord(StoredModel):
    """How far ONNX Runtime was from PyTorch when the bundle was made."""

    n_real: int
    """Rows of real bars that were compared."""
    n_hostile: int
    """Rows of extreme and random inputs."""
    largest_difference: float
    """Of embeddings and outputs: |difference| ÷ max(1, largest |value| of the vector)."""
    n_decisions: int
    n_decisions_differ: int
    """Actions that differ: values at the edge between two levels, within the difference."""


class ProjectionRecord(StoredModel):
    """A fixed linear view of embeddings, in double precision: `networks.projection.Projection`."""

    mean: tuple[float, ...]
    """(E,)"""
    directions: tuple[tuple[float, ...], ...]
    """(E, C)"""


class PortfolioPart(StoredModel):
    """What a master adds: one account whose capital it divides among the agents' sleeves."""

    agents: BundleRun
    """The run whose agents trade the sleeves."""
    member_names: tuple[str, ...]
    """What the master sees of each sleeve, in order, before the portfolio's own numbers."""
    shared_names: tuple[str, ...]
    """What it sees of the market, mean over symbols: the columns after the scaled ones."""
    own_names: tuple[str, ...]
    """What the portfolio adds to each sleeve: its capital and position there."""
    account_names: tuple[str, ...]
    """What the portfolio knows of itself."""
    projection: ProjectionRecord | None
    """Through which it sees embeddings; None: as they are."""
    rules: dict[str, Any]
    """Fields of `market.params.SimulatorParams`, of the one account."""
    sleeve_rules: dict[str, Any]
    """The same of the sleeves' own accounts."""
    costs: dict[str, Any]
    """Fields of `market.costs.CostProfile`, of account and sleeves."""


class BundleManifest(SealedRecord):
    """`manifest.json`."""

    version: Literal[1] = 1
    files: dict[str, BundleFile]
    run: BundleRun
    symbols: tuple[str, ...]
    """N, one agent each, in order."""
    acting: ActingRecord
    """Features with hashes, scalers, rules of actions and limits, encoder, goal."""
    sizes: GraphSizes
    account_numbers: tuple[str, ...]
    """What an account knows of itself, in order: `market.private_features.PRIVATE_FEATURES`."""
    confidence: Confidence
    session_limits: dict[str, Any]
    """Fields of `risk.limits.SessionLimits`: what a session is limited by unless told otherwise."""
    periods: dict[str, DayRange]
    """Days of train, validation and test."""
    verdict: BundleVerdict = Field(default_factory=BundleVerdict)
    parity: ParityRecord
    portfolio: PortfolioPart | None = None
    """Where a master divides the capital of one account; not written elsewhere."""

    @property
    def feature_ids(self) -> tuple[str, ...]:
        """Columns that come from bars, in order; those of a model of moves come after them."""
        ids = (feature.id for feature in self.acting.features)
        return tuple(each for each in ids if not each.startswith("probability_"))

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the portfolio out where there is none: the same run gives the same bytes."""
        written: dict[str, Any] = write(self)
        if self.portfolio is None:
            written.pop("portfolio", None)
        return written


@dataclass(frozen=True, eq=False)
class Bundle:
    """A bundle in memory, every hash checked."""

    path: Path
    sha256: str
    """Of the file."""
    manifest: BundleManifest
    files: Mapping[str, bytes]
    """Models and golden vectors, by name."""


def write_bundle(path: Path, manifest: BundleManifest, files: Mapping[str, bytes]) -> str:
    """Write a bundle, whole or not at all; the same content gives the same bytes.

    Args:
        path: Of the file; replaced where it exists.
        manifest: Its `files` and seal are filled in.
        files: Models and golden vectors, by name.

    Returns:
        The bundle's sha256.

    Raises:
        StorageError: If the disk refuses.
    """
    hashes = {
        name: BundleFile(sha256=hashlib.sha256(data).hexdigest(), n_bytes=len(data))
        for name, data in files.items()
    }
    text = manifest.model_copy(update={"files": hashes}).sealed().model_dump_json(indent=1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST_FILE: text.encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name, _WRITTEN), data)
    whole = packed.getvalue()
    with atomic_file(path) as temporary:
        temporary.write_bytes(whole)
    return hashlib.sha256(whole).hexdigest()


def read_bundle(path: Path, *, sha256: str | None = None) -> Bundle:
    """Read a bundle and check every hash; no model is looked into yet.

    Args:
        path: Of the file.
        sha256: What it must hash to; None: whatever it is.

    Raises:
        StorageError: If it is no bundle, damaged, or another one.
    """
    try:
        data = read_regular_file(path, most_bytes=MAX_BUNDLE_BYTES)
    except OSError as e:
        _refuse("a bundle must be a file", json_problem(e), path)
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        _refuse("a bundle must be the one that was recorded", f"sha256 {found[:12]}", path)
    members = _read_members(data, path)
    manifest = _read_manifest(members.pop(MANIFEST_FILE), path)
    stored = {
        name: BundleFile(sha256=hashlib.sha256(member).hexdigest(), n_bytes=len(member))
        for name, member in members.items()
    }
    if stored != manifest.files:
        odd = [name for name in stored if stored[name] != manifest.files.get(name)]
        _refuse("files of a bundle must be those that it was written with", odd, path)
    if (MASTER_FILE in members) != (manifest.portfolio is not None):
        _refuse(f"a bundle must hold {MASTER_FILE} if it is of a portfolio", [*members], path)
    return Bundle(path, found, manifest, members)


def _read_members(data: bytes, path: Path) -> dict[str, bytes]:
    """Return the members: those five, with a master's graph or without, stored as they are."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            known = (*_FILES, MASTER_FILE)
            if sorted(names) not in (sorted(_FILES), sorted(known)):
                odd = next((name for name in names if name not in known), f"{len(names)} files")
                _refuse(f"a bundle must hold {', '.join(_FILES)}", repr(odd[:80]), path)
            for entry in entries:
                if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                    _refuse("files of a bundle must be stored as they are", entry.filename, path)
            if sum(entry.file_size for entry in entries) > len(data):
                _refuse("files of a bundle must fit into it", "more than its bytes", path)
            return {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as e:
        _refuse(
            "a bundle must be a zip file that `tradingbot export` wrote",
            json_problem(ValueError(str(e))),
            path,
        )


def _read_manifest(text: bytes, path: Path) -> BundleManifest:
    try:
        manifest = BundleManifest.model_validate_json(text)
    except (ValidationError, ValueError, RecursionError) as e:
        reason = str(e).splitlines()[0] if not isinstance(e, ValidationError) else _first_problem(e)
        _refuse("the manifest of a bundle must be one that this version reads", reason, path)
    if not manifest.is_sealed():
        _refuse("the manifest of a bundle must be as it was written", "other content", path)
    return manifest


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _refuse(rule: str, was: object, path: Path) -> NoReturn:
    raise StorageError(
        rule, was=was, where=str(path), remedy="Export the run again: tradingbot export RUN"
    )
