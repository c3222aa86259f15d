"""The certificate: a proof's result as a file beside the panel, and the gate that asks for it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import BaseModel, ConfigDict

from tradingbot import __version__
from tradingbot.data.atomic import atomic_file, storage_errors, write_text
from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.features.causality.subject import CausalityReport
from tradingbot.features.scaling import scaler_code_sha256

CERTIFICATE_FILE = "certificate.json"
PANEL_SUBJECTS = ("features", "scaling", "every_bar")
"""What must have been proved before a panel may be read."""

_OF_THE_PROOF = (
    *("common_cuts", "staggered_cuts", "perturbations"),
    *("seed", "comparisons", "recomputations"),
)


class ProvedOutput(BaseModel):
    """One output that was proved causal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str
    output: str
    scope: str
    known_from: int
    comparisons: int


class Certificate(SealedRecord):
    """What was proved, for which content, and how."""

    version: Literal[2] = 2
    """Version 1 did not name the scaler's code: it is refused, since that may have changed."""
    dataset_sha256: str
    spec_sha256: str
    panel_sha256: str
    """Hash of the panel's manifest, which holds the hash of its tensors."""
    scaler_sha256: str | None = None
    """Hash of the scaler fitted on the training rows, where one is stored."""
    scaler_fit: str | None = None
    """`Scaler.fitted_on` of it."""
    scaler_code_sha256: str
    """`scaling.scaler_code_sha256` of the code that was proved."""
    outputs: tuple[ProvedOutput, ...]
    common_cuts: tuple[int, ...]
    staggered_cuts: tuple[tuple[int, ...], ...]
    perturbations: tuple[str, ...]
    seed: int
    comparisons: int
    recomputations: int
    code_version: str

    @property
    def subjects(self) -> tuple[str, ...]:
        """Names of the subjects proved."""
        return tuple(dict.fromkeys(output.subject for output in self.outputs))

    @property
    def staggered_pairs(self) -> int:
        """Number of (symbol, cut) pairs of all staggered rounds together."""
        return sum(map(len, self.staggered_cuts))


class PanelIdentity(BaseModel):
    """Which content a certificate is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_sha256: str
    spec_sha256: str
    panel_sha256: str
    scaler_sha256: str | None = None
    scaler_fit: str | None = None


def issue_certificate(report: CausalityReport, identity: PanelIdentity) -> Certificate:
    """Certify a report in which every output was proved causal.

    Raises:
        UncertifiedPanelError: If an output leaks or could not be proved, naming the first.
    """
    if not report.is_causal:
        worst = report.failures[0] if report.failures else None
        raise UncertifiedPanelError(
            "every output must be causal to be certified",
            was=f"{worst.output}: {worst.offence or worst.reason}" if worst else "nothing examined",
            remedy="Mend the output or leave it out of the panel",
        )
    return Certificate(
        **identity.model_dump(),
        scaler_code_sha256=scaler_code_sha256(),
        outputs=tuple(
            ProvedOutput(**{name: getattr(each, name) for name in ProvedOutput.model_fields})
            for each in report.verdicts
        ),
        **{name: getattr(report, name) for name in _OF_THE_PROOF},
        code_version=__version__,
    ).sealed()


def write_certificate(folder: Path, certificate: Certificate) -> Path:
    """Write `certificate.json` beside the panel, whole or not at all."""
    path = folder / CERTIFICATE_FILE
    write_text(path, certificate.model_dump_json(indent=2) + "\n")
    return path


def require_writable(folder: Path) -> None:
    """Find out before a proof, not after it, whether a certificate could be written.

    One that is there is written once more as it is, so that a kill loses nothing; where there is
    none, an empty one, which the gate refuses, stands for a moment.

    Raises:
        StorageError: If the folder does not accept one.
    """
    path = folder / CERTIFICATE_FILE
    with storage_errors(path):
        old = path.read_bytes() if path.is_file() else b""
    with atomic_file(path) as temporary:
        temporary.write_bytes(old)
    if not old:
        path.unlink(missing_ok=True)


def withdraw_certificate(folder: Path) -> None:
    """Take back a panel's certificate: what it says was refuted.

    Raises:
        StorageError: If the disk refuses.
    """
    with storage_errors(folder):
        (folder / CERTIFICATE_FILE).unlink(missing_ok=True)


def require_certificate(
    folder: Path,
    dataset_sha256: str,
    spec_sha256: str,
    *,
    subjects: Sequence[str] = PANEL_SUBJECTS,
    n_symbols: int | None = None,
) -> Certificate:
    """Return the certificate of a panel.

    Args:
        folder: The panel's folder.
        dataset_sha256: Hash of the dataset the panel was built from.
        spec_sha256: Hash of the feature specs.
        subjects: What must have been proved.
        n_symbols: N. Unless it is 1, each symbol must have been cut at rows of its own, too.

    Raises:
        UncertifiedPanelError: If it is missing, damaged, for other content, by another version of
            the program, lacks a subject, or comes from a plan without staggered rounds.
    """
    path = folder / CERTIFICATE_FILE
    if not path.is_file():
        _refuse("panel must have a causality certificate", "none", path)
    certificate = _read_certificate(path)
    if not certificate.is_sealed():
        _refuse("certificate must be as it was issued", "edited", path)
    if certificate.dataset_sha256 != dataset_sha256:
        _refuse("certificate must be for this dataset", certificate.dataset_sha256[:16], path)
    if certificate.spec_sha256 != spec_sha256:
        _refuse("certificate must be for these features", certificate.spec_sha256[:16], path)
    if certificate.code_version != __version__:
        _refuse(f"certificate must be of version {__version__}", certificate.code_version, path)
    if certificate.scaler_code_sha256 != scaler_code_sha256():
        was = f"code {certificate.scaler_code_sha256[:16]}"
        _refuse(f"certificate must be for scalers of code {scaler_code_sha256()[:16]}", was, path)
    missing = [name for name in subjects if name not in certificate.subjects]
    if missing:
        _refuse(f"certificate must cover {', '.join(missing)}", certificate.subjects, path)
    if n_symbols != 1 and not certificate.staggered_pairs:
        before = "Set proof.staggered_rounds to 1 or more. "
        _refuse("certificate must cut each symbol at rows of its own", "0 rounds", path, before)
    return certificate


def _read_certificate(path: Path) -> Certificate:
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
        version = content.get("version") if isinstance(content, dict) else None
        if version == 1:
            _refuse("certificate must name the code of the scaler", "version 1", path)
        return Certificate.model_validate_json(text)
    except (OSError, ValueError, RecursionError) as e:
        _refuse("certificate must be readable", type(e).__name__, path)


def _refuse(rule: str, was: object, path: Path, before: str = "") -> NoReturn:
    remedy = f"{before}Run: tradingbot features prove-causal {dataset_of_folder(path.parent)}"
    raise UncertifiedPanelError(rule, was=was, where=str(path), remedy=remedy.rstrip())


def dataset_of_folder(folder: Path) -> str:
    """Return the digits by which a panel's folder names its dataset; empty where it names none."""
    digits = re.match(r"([0-9a-f]{16})-", folder.name)
    return digits[1] if digits else ""
