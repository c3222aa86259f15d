"""What a stored panel says of itself, and its certificate; read without any tensor."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tradingbot.domain.errors import StorageError, UncertifiedPanelError
from tradingbot.features.causality.certificate import Certificate, dataset_of_folder
from tradingbot.features.causality.certificate import require_certificate as find_certificate

MANIFEST_FILE = "manifest.json"
_DIGITS = 16


class PanelManifest(BaseModel):
    """Identity and description of a panel; axis orders are those of the tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    dataset_sha256: str
    spec_sha256: str
    synthetic: bool | None
    """True for generated markets, None where the builder was not told."""
    accepted_findings: tuple[str, ...] = ()
    """Errors of the readiness report that were accepted when the panel was built."""
    symbols: tuple[str, ...]  # N
    features: tuple[str, ...]  # F names, as are the next two
    regimes: tuple[str, ...]
    covariates: tuple[str, ...]
    feature_ids: tuple[str, ...]
    """Name and version of every spec, in the order that was hashed."""
    time_zone: str
    shapes: dict[str, tuple[int, ...]]
    file_sha256: str
    header_sha256: str
    file_bytes: int
    code_version: str
    record_sha256: str | None = None
    """Of all the above; None in panels of older versions, which only their certificate guards."""

    @property
    def sha256(self) -> str:
        """Hash of all of this, and through `file_sha256` of the tensors."""
        text = self.model_dump_json(exclude={"record_sha256"})
        return hashlib.sha256(text.encode()).hexdigest()

    def sealed(self) -> PanelManifest:
        """Return it with its own hash."""
        return self.model_copy(update={"record_sha256": self.sha256})


def read_manifest(folder: Path) -> PanelManifest:
    """Read the manifest of a panel.

    Raises:
        StorageError: If it is missing, damaged or edited.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = PanelManifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise StorageError(
            "panel must have a readable manifest",
            was="damaged" if path.is_file() else "missing",
            where=str(path),
            remedy=f"Run: tradingbot features build {dataset_of_folder(folder)}".rstrip(),
        ) from e
    if manifest.record_sha256 not in (None, manifest.sha256):
        raise other_content(path, "edited")
    return manifest


def read_certificate(folder: Path) -> Certificate:
    """Return the certificate of a stored panel; no tensor is read.

    Raises:
        UncertifiedPanelError: If there is no valid one for this content.
        StorageError: If the manifest is missing or damaged.
    """
    manifest = read_manifest(folder)
    content = (manifest.dataset_sha256, manifest.spec_sha256)
    certificate = find_certificate(folder, *content, n_symbols=len(manifest.symbols))
    if certificate.panel_sha256 != manifest.sha256:
        raise UncertifiedPanelError(
            "certificate must be for this panel",
            was=certificate.panel_sha256[:_DIGITS],
            where=str(folder),
            remedy=f"Run: tradingbot features prove-causal {dataset_of_folder(folder)}".rstrip(),
        )
    return certificate


def other_content(path: Path, was: str) -> StorageError:
    """Return the error of a file that is not what the manifest describes."""
    rule, remedy = "panel must match its manifest", "Delete its folder, then build it again"
    remedy = f"{remedy}: tradingbot features build {dataset_of_folder(path.parent)}".rstrip()
    return StorageError(rule, was=was, where=str(path), remedy=remedy)
