"""Analyses on disk: one JSON file each, whole or absent, and only read back for the same key.

A key is the hash of everything that the content of an analysis depends on; the ledger holds the
hash of every stored file, and a file that no evaluation of the run wrote is not read. A killed
process loses the analysis it was making and no other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.data.atomic import storage_errors, sweep_temporaries, write_text
from tradingbot.domain.errors import DataError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.pipeline.receipts import AnalysisReceipts
from tradingbot.runs.acting_checkpoint import acting_checkpoint
from tradingbot.runs.requirement import installed_version
from tradingbot.supervised.model_names import NO_MODEL

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun

_PACKAGE = Path(__file__).resolve().parents[2]
_SOURCES = (
    *("domain", "data", "configuration", "features", "risk", "market", "rewards", "networks"),
    *("learning", "envs", "agents", "plugins", "supervised", "runs", "training", "evaluation"),
)
"""Folders of the package."""
_NOT_MEASURED_BY = (
    *("evaluation/report", "evaluation/figures", "evaluation/gates", "evaluation/comparison"),
)
"""What shows, judges or compares analyses changes none of them."""
_PACKAGES = ("numpy", "torch", "polars", "exchange_calendars", "skfolio")
"""What figures are computed with; another version may round, draw or divide otherwise."""
_MODEL_PACKAGES = ("lightgbm",)
"""The same where agents see the probabilities of a model."""


@dataclass(frozen=True, eq=False)
class StoredAnalysis:
    """One analysis as it was kept."""

    record: Any
    """None where it was left out."""
    reason: str = ""
    """Why it was left out; empty where it was made."""


class AnalysisStore:
    """The folder of one evaluation's analyses."""

    def __init__(self, folder: Path, receipt: AnalysisReceipts) -> None:
        """Name the folder; it is made by the first analysis, and what killed writers left goes.

        Args:
            folder: Where analyses are.
            receipt: Knows which files were kept.
        """
        self.folder, self._receipt = folder, receipt
        with storage_errors(folder):
            sweep_temporaries(folder)

    def path(self, name: str) -> Path:
        """Return the file of an analysis."""
        return self.folder / f"{name}.json"

    def load(self, name: str, key: str, kind: type[Any]) -> StoredAnalysis | None:
        """Return an analysis; None where no file of this key was kept, or it cannot be read.

        Raises:
            StorageError: If the ledger is not whole.
        """
        try:
            text = self.path(name).read_bytes()
        except OSError:
            return None
        return self._parsed(text, name, key, kind) if self._receipt.knows(text) else None

    def _parsed(self, text: bytes, name: str, key: str, kind: type[Any]) -> StoredAnalysis | None:
        try:
            content = json.loads(text)
            if (content["analysis"], content["key"]) != (name, key):
                return None
            if content["reason"]:
                return StoredAnalysis(None, content["reason"])
            return StoredAnalysis(from_plain(kind, content["record"], name=name))
        except (ValueError, KeyError, TypeError, DataError):
            return None  # made again, which is always right

    def keep(self, name: str, key: str, stored: StoredAnalysis) -> None:
        """Write an analysis.

        Raises:
            StorageError: If the disk refuses, or the ledger is not whole.
        """
        record = None if stored.reason else to_plain(stored.record)
        content = {"analysis": name, "key": key, "reason": stored.reason, "record": record}
        text = json.dumps(content, allow_nan=False) + "\n"
        write_text(self.path(name), text)
        self._receipt.note(text.encode())


def key_of(identity: str, settings: object, facts: object, needs: Sequence[str]) -> str:
    """Return the key of an analysis.

    Args:
        identity: Hash of run, data and sources.
        settings: Its settings.
        facts: Plain values from outside.
        needs: Keys of what it is made from, in order.
    """
    return _sha256([identity, as_plain_values(settings), facts, list(needs)])


def identity_of(
    weights_sha256: str, data_sha256: str, config_sha256: str, *, has_model: bool = False
) -> str:
    """Return the hash of a run, the product's sources and the packages that they compute with.

    Args:
        weights_sha256: Of the weights that act.
        data_sha256: Of what they trade.
        config_sha256: Of the run's configuration.
        has_model: Whether agents see the probabilities of a supervised model.
    """
    versions = package_versions(has_model=has_model)
    content = [weights_sha256, data_sha256, config_sha256, measuring_sources_sha256(), versions]
    return _sha256(content)


def package_versions(*, has_model: bool) -> dict[str, str | None]:
    """Return package → version of what can move an analysis; None where it is not installed."""
    names = (*_PACKAGES, *(_MODEL_PACKAGES if has_model else ()))
    return {name: installed_version(name) for name in names}


def measuring_sources_sha256(package: Path = _PACKAGE) -> str:
    """Hash the sources that can move an analysis."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        for path in sorted((package / name).rglob("*.py")):
            relative = path.relative_to(package).as_posix()
            if not relative.startswith(_NOT_MEASURED_BY):
                digest.update(f"{relative}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sha256(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def weights_sha256(subject: EvaluatedRun) -> str:
    """Return the hash of the weights that act.

    Raises:
        StorageError: If the run has no whole checkpoint to act from.
    """
    return acting_checkpoint(subject.run).manifest.weights_sha256


def run_identity(subject: EvaluatedRun) -> str:
    """Return the hash of run, data, sources and packages that every analysis depends on."""
    record = subject.run.record
    return identity_of(
        weights_sha256(subject),
        subject.data.identity.data_sha256,
        record.config_sha256,
        has_model=subject.config.task.probabilities != NO_MODEL,
    )
