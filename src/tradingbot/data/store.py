"""Content-addressed datasets on disk: Parquet files and a manifest, immutable once written.

    <root>/datasets/<first 16 hex digits of the content hash>/
        bars.parquet  covariates.parquet  quarantine.parquet  manifest.json
    <root>/names/<name>          one line: the hash a name points to now

Bars that change get a new folder; the old one, and every result that cites it, stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import ValidationError

from tradingbot import __version__
from tradingbot.data.atomic import atomic_directory, file_sha256, sweep_temporaries, write_text
from tradingbot.data.dataset_names import DATASET_NAME, pointed_at, require_name
from tradingbot.data.manifest import DatasetManifest, Provenance, StoredFile
from tradingbot.data.schema import COVARIATE_COLUMNS, require_bars, require_covariates
from tradingbot.domain.errors import DataError, StorageError, suggest

MANIFEST_FILE = "manifest.json"
BARS, COVARIATES, QUARANTINE = "bars.parquet", "covariates.parquet", "quarantine.parquet"
_DIGITS = 16
_LONGEST_SHOWN = 100


@dataclass(frozen=True)
class Dataset:
    """A stored dataset, opened. Frames are read when asked for."""

    folder: Path
    manifest: DatasetManifest

    @property
    def id(self) -> str:
        """Short content hash; the name of the folder."""
        return self.manifest.content_sha256[:_DIGITS]

    def load_bars(self) -> pl.DataFrame:
        """Read the bars (see `schema.BAR_COLUMNS`), sorted by symbol and close."""
        return _read(self, BARS)

    def load_covariates(self) -> pl.DataFrame:
        """Read the covariates (see `schema.COVARIATE_COLUMNS`); empty where there are none."""
        return _read(self, COVARIATES)

    def load_quarantine(self) -> pl.DataFrame:
        """Read the rows that were set aside at import, with `code` and `reason`."""
        return _read(self, QUARANTINE)


class BarStore:
    """Saves, names, lists and opens datasets under one root folder."""

    def __init__(self, root: Path) -> None:
        self.root, self._datasets, self._names = root, root / "datasets", root / "names"

    def save(
        self,
        bars: pl.DataFrame,
        provenance: Provenance,
        *,
        name: str | None = None,
        covariates: pl.DataFrame | None = None,
        quarantine: pl.DataFrame | None = None,
    ) -> Dataset:
        """Store bars under their content hash and point `name` at them.

        Saving the same content twice gives the same dataset. A killed save leaves nothing that
        `open` could find.

        Raises:
            SchemaError: If the frames are not as `schema` says.
            StorageError: If the disk refuses.
        """
        if name is not None:
            require_name(name)
        require_bars(bars, where="bars to store")
        if bars.is_empty():
            raise DataError("a dataset must have a bar", was="0 rows")
        empty = pl.DataFrame(schema=COVARIATE_COLUMNS)
        frames = {
            BARS: bars,
            COVARIATES: empty if covariates is None else covariates,
            QUARANTINE: pl.DataFrame() if quarantine is None else quarantine,
        }
        require_covariates(frames[COVARIATES], where="covariates to store")
        digest = content_hash(bars, frames[COVARIATES], provenance)
        folder = self._datasets / digest[:_DIGITS]
        sweep_temporaries(self._datasets)
        if not (folder / MANIFEST_FILE).exists():
            with atomic_directory(folder) as temporary:
                files = {file: _write(temporary / file, frame) for file, frame in frames.items()}
                manifest = _describe(digest, provenance, frames, files).sealed()
                text = manifest.model_dump_json(indent=2)
                (temporary / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")
        dataset = _open_folder(folder)
        if name is not None:
            self.point(name, dataset)
        return dataset

    def point(self, name: str, dataset: Dataset) -> None:
        """Let `name` mean `dataset` from now on."""
        require_name(name)
        sweep_temporaries(self._names)
        write_text(self._names / name, dataset.manifest.content_sha256 + "\n")

    def open(self, reference: str) -> Dataset:
        """Open a dataset by name, or by the first digits of its hash.

        Raises:
            DataError: If no dataset, or more than one, answers to the reference.
            StorageError: If its manifest is damaged or was edited.
        """
        return _open_folder(self.find(reference))

    def open_content(self, sha256: str) -> Dataset | None:
        """Open a dataset by its whole content hash, whatever names mean now; None: not stored."""
        folder = self._datasets / sha256[:_DIGITS]
        return _open_folder(folder) if (folder / MANIFEST_FILE).is_file() else None

    def find(self, reference: str) -> Path:
        """Return the folder of a dataset as `open` does, whether or not it is damaged.

        Raises:
            DataError: If no dataset, or more than one, answers to the reference.
        """
        named = self._names / reference
        if DATASET_NAME.fullmatch(reference) and named.is_file():
            reference = pointed_at(named)
        found = [folder for folder in self._folders() if folder.name.startswith(reference)]
        if len(found) != 1 or not reference:
            raise DataError(
                "dataset must be a stored name or a hash prefix of one",
                was=repr(reference[:_LONGEST_SHOWN]),
                where=str(self.root),
                remedy=suggest(reference, [*self.names(), *(f.name for f in self._folders())])
                if self._folders()
                else "Run: tradingbot data generate, or data import",
            )
        return found[0]

    def names(self) -> dict[str, str]:
        """Map each name to the dataset id it points to."""
        if not self._names.is_dir():
            return {}
        return {
            file.name: pointed_at(file)
            for file in sorted(self._names.iterdir())
            if DATASET_NAME.fullmatch(file.name) and file.is_file()
        }

    def datasets(self) -> list[Dataset]:
        """Open every stored dataset, in order of id."""
        return [_open_folder(folder) for folder in self._folders()]

    def _folders(self) -> list[Path]:
        if not self._datasets.is_dir():
            return []
        return sorted(
            f
            for f in self._datasets.iterdir()
            if (f / MANIFEST_FILE).is_file() and not f.name.startswith(".")
        )


def verify_dataset(folder: Path) -> dict[str, str]:
    """Read every byte of a dataset and compare it with its manifest, and that with its name.

    Args:
        folder: As `BarStore.find` returns it.

    Returns:
        File → what is wrong with it, `whole` where nothing is.
    """
    found = dict.fromkeys((MANIFEST_FILE, BARS, COVARIATES, QUARANTINE), "whole")
    try:
        dataset = _open_folder(folder)
    except StorageError as e:
        return {MANIFEST_FILE: f"{e.rule}, was {e.was}"}
    frames = {}
    for file in (BARS, COVARIATES, QUARANTINE):
        try:
            frames[file] = _read(dataset, file)
        except StorageError as e:
            found[file] = f"{e.rule}, was {e.was}"
    if len(frames) == 3 and not _describes(dataset.manifest, frames):
        found[MANIFEST_FILE] = "says something else than the files hold"
    return found


def _open_folder(folder: Path) -> Dataset:
    path, remedy = folder / MANIFEST_FILE, "Delete that folder and import again"
    try:
        manifest = DatasetManifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as e:
        was, rule = str(e).splitlines()[0], "manifest must be readable"
        raise StorageError(rule, was=was, where=str(folder), remedy=remedy) from e
    dataset = Dataset(folder, manifest)
    if manifest.version == 1:
        frames = {file: _read(dataset, file) for file in (BARS, COVARIATES, QUARANTINE)}
        is_own = _describes(manifest, frames)
    else:
        is_own = manifest.is_sealed()
    if not is_own or folder.name != dataset.id:
        was = "edited" if not is_own else f"that of {dataset.id}"
        rule = "manifest must be as it was written"
        raise StorageError(rule, was=was, where=str(path), remedy=remedy)
    return dataset


def _describes(manifest: DatasetManifest, frames: Mapping[str, pl.DataFrame]) -> bool:
    """Tell whether everything that a manifest says follows from the files."""
    digest = content_hash(frames[BARS], frames[COVARIATES], manifest.provenance)
    own = _describe(digest, manifest.provenance, frames, manifest.files)
    unlike = {"version", "sha256", "code_version"}
    rows = {file: stored.rows for file, stored in manifest.files.items()}
    return own.model_dump(exclude=unlike) == manifest.model_dump(exclude=unlike) and rows == {
        file: frame.height for file, frame in frames.items()
    }


def content_hash(bars: pl.DataFrame, covariates: pl.DataFrame, provenance: Provenance) -> str:
    """Hash values and provenance, independent of file encoding and library versions."""
    digest = hashlib.sha256(json.dumps(provenance.model_dump(mode="json"), sort_keys=True).encode())
    for frame in (bars, covariates):
        for column in frame.get_columns():
            digest.update(f"{column.name}:{column.dtype}:{len(column)};".encode())
            digest.update(_column_bytes(column))
    return digest.hexdigest()


def _column_bytes(column: pl.Series) -> bytes:
    if column.dtype == pl.String:
        # Sorted keys come in runs: hash each run's text and length instead of every row.
        runs = column.rle().struct.unnest()
        return json.dumps([runs["value"].to_list(), runs["len"].to_list()]).encode()
    return np.ascontiguousarray(column.to_physical().to_numpy()).tobytes()


def _write(path: Path, frame: pl.DataFrame) -> StoredFile:
    try:
        frame.write_parquet(path, compression="zstd", statistics=True)
    except pl.exceptions.PolarsError as e:
        code = re.search(r"\(os error (\d+)\)", str(e))  # polars hides the disk's refusal in text
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from e
    return StoredFile(sha256=file_sha256(path), bytes=path.stat().st_size, rows=frame.height)


def _describe(
    digest: str,
    provenance: Provenance,
    frames: Mapping[str, pl.DataFrame],
    files: dict[str, StoredFile],
) -> DatasetManifest:
    bars, covariates = frames[BARS], frames[COVARIATES]
    return DatasetManifest(
        content_sha256=digest,
        provenance=provenance,
        symbols=tuple(bars["symbol"].unique(maintain_order=True)),
        covariates=tuple(covariates["name"].unique().sort()),
        rows=bars.height,
        quarantined_rows=frames[QUARANTINE].height,
        first_closed_at=bars.select(pl.col("closed_at").min()).item(),
        last_closed_at=bars.select(pl.col("closed_at").max()).item(),
        files=files,
        code_version=__version__,
    )


def _read(dataset: Dataset, file: str) -> pl.DataFrame:
    path, remedy = dataset.folder / file, "Delete the dataset's folder and import again"
    try:
        if file_sha256(path) != dataset.manifest.files[file].sha256:
            rule = "stored file must match its manifest"
            raise StorageError(rule, was="other content", where=str(path), remedy=remedy)
        return pl.read_parquet(path)
    except (OSError, KeyError, pl.exceptions.PolarsError) as e:
        rule = "stored file must be readable"
        raise StorageError(rule, was=type(e).__name__, where=str(path), remedy=remedy) from e
