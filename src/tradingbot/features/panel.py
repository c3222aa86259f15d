"""The panel: aligned tensors of a universe, stored once, memory-mapped, behind the causality gate.

    <root>/panels/<dataset hash, 16 digits>-<spec hash, 16 digits>/
        panel.safetensors  manifest.json  certificate.json

Undefined features are stored as 0 with `valid` False, so that NaN never reaches a network. Prices
of absent bars stay NaN: an account that forgot to look at `present` must not trade at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tradingbot import __version__
from tradingbot.data.atomic import atomic_directory, file_sha256, sweep_temporaries
from tradingbot.data.node_copies import local_copy
from tradingbot.domain.errors import DataError, require_known
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.features.causality.certificate import Certificate
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import BAR_FIELDS, BoolArray, FloatArray, MarketInputs
from tradingbot.features.panel_manifest import (
    MANIFEST_FILE,
    PanelManifest,
    other_content,
    read_certificate,
    read_manifest,
)
from tradingbot.features.registry import (
    covariate_features,
    regime_features,
    registered_features,
    technical_features,
)
from tradingbot.features.spec import FeatureSpec, spec_hash
from tradingbot.features.tensor_files import header_sha256, map_tensors, write_tensors

if TYPE_CHECKING:
    from torch import Tensor

PANEL_FILE = "panel.safetensors"
FAMILY_TENSORS = {"technical": "features", "regime": "regimes", "covariate": "covariates"}

_DIGITS = 16


@dataclass(frozen=True, repr=False)
class Panel:
    """A stored panel, opened.

    Tensors: `features` (N, T, F), `regimes` (N, T, 10) and `covariates` (N, T, K) float32 in
    network form; `prices` (N, T, 6) float64, open high low close volume vwap; `present` (N, T)
    there is a bar; `valid` (N, T) and everything above is defined; `closed_at` (T,) int64,
    microseconds since 1970 UTC.
    """

    folder: Path
    manifest: PanelManifest
    certificate: Certificate | None
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def open(cls, folder: Path, *, require_certificate: bool = True, verify: bool = False) -> Panel:
        """Map a stored panel into memory.

        Behind the gate the whole tensor file is hashed first: a certificate is worth nothing for
        tensors that were changed after the proof.

        Args:
            folder: Where it is stored.
            require_certificate: Refuse a panel that was not proved causal. Only the prover and
                looking at features needs none.
            verify: Hash the whole file even without the gate; else only size, header and shapes
                are compared and no tensor is read.

        Raises:
            UncertifiedPanelError: If there is no valid certificate for this content.
            StorageError: If a file is missing, damaged or malformed.
        """
        manifest, certificate = read_manifest(folder), None
        if require_certificate:
            certificate = read_certificate(folder)
        path = local_copy(folder / PANEL_FILE, manifest.file_sha256)
        arrays = _map_described(manifest, path, verify=verify or require_certificate)
        return cls(folder, manifest, certificate, arrays)

    @property
    def symbols(self) -> tuple[str, ...]:
        """N names, in the order of the first axis."""
        return self.manifest.symbols

    def __repr__(self) -> str:
        """Say what it holds, not every number of it."""
        held, n_bars = self.manifest, len(self.arrays["closed_at"])
        proved = "proved causal" if self.certificate else "not proved"
        return (
            f"<Panel {len(self.symbols)} symbols × {n_bars:,} bars: {len(held.features)} features, "
            f"{len(held.regimes)} regimes, {len(held.covariates)} covariates, {proved}>"
        )

    def numpy(self, name: str) -> NDArray[Any]:
        """One tensor as a view of the file."""
        require_known(name, self.arrays, "panel must have the tensor", error=DataError)
        return self.arrays[name]

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor for torch, sharing memory with the mapped file."""
        import torch

        return {name: torch.from_numpy(values) for name, values in self.arrays.items()}


def panel_specs(
    covariates: Iterable[str], feature_set: FeatureSet = "default"
) -> tuple[FeatureSpec, ...]:
    """The features of a set, the 10 regimes, and the covariates that no feature is made of."""
    specs = (*technical_features(feature_set), *regime_features())
    used = {name for spec in specs for name in (spec.name, *spec.inputs)}
    return (*specs, *covariate_features(sorted(set(covariates) - used)))


def panel_folder(root: Path, dataset_hash: str, spec_sha256: str) -> Path:
    """Where the panel of a dataset and a list of specs is stored."""
    return root / "panels" / f"{dataset_hash[:_DIGITS]}-{spec_sha256[:_DIGITS]}"


def build_panel(
    inputs: MarketInputs,
    specs: Sequence[FeatureSpec],
    *,
    dataset_hash: str,
    root: Path,
    synthetic: bool | None = None,
    accepted_findings: Collection[str] = (),
) -> Panel:
    """Compute and store a panel; the same content gives the same bytes.

    A panel that is already there and whole is kept. A killed build leaves nothing that `open`
    could find.

    Args:
        inputs: The market.
        specs: Features, regimes and covariates; see `panel_specs`.
        dataset_hash: Content hash of the dataset that `inputs` came from.
        root: Workspace folder.
        synthetic: Whether the market was generated.
        accepted_findings: Codes of errors in the readiness report that are accepted.

    Returns:
        The panel, opened without asking for a certificate.

    Raises:
        StorageError: If the panel that is there is damaged: every byte of it is compared.
    """
    folder = panel_folder(root, dataset_hash, spec_hash(specs))
    sweep_temporaries(folder.parent)
    if not folder.exists():
        tensors = panel_tensors(inputs, specs)
        with atomic_directory(folder) as temporary:
            path = temporary / PANEL_FILE
            digest = write_tensors(path, tensors)
            names = {family: _names(specs, family) for family in FAMILY_TENSORS}
            manifest = PanelManifest(
                dataset_sha256=dataset_hash,
                spec_sha256=spec_hash(specs),
                synthetic=synthetic,
                accepted_findings=tuple(sorted(accepted_findings)),
                symbols=inputs.symbols,
                features=names["technical"],
                regimes=names["regime"],
                covariates=names["covariate"],
                feature_ids=tuple(spec.id for spec in specs),
                time_zone=inputs.time_zone,
                shapes={name: values.shape for name, values in tensors.items()},
                file_sha256=digest,
                header_sha256=header_sha256(path),
                file_bytes=path.stat().st_size,
                code_version=__version__,
            ).sealed()
            text = manifest.model_dump_json(indent=2) + "\n"
            (temporary / MANIFEST_FILE).write_text(text, encoding="utf-8")
    return Panel.open(folder, require_certificate=False, verify=True)


def panel_tensors(
    inputs: MarketInputs,
    specs: Sequence[FeatureSpec],
    computed: dict[str, FloatArray] | None = None,
) -> dict[str, NDArray[Any]]:
    """Compute every tensor of a panel; see `Panel` for shapes.

    Args:
        inputs: The market.
        specs: Which features.
        computed: Name → (T, N) features that were made otherwise, by a stream say; used up.
    """
    length, width = inputs.shape
    valid: BoolArray = inputs.present.T.copy()  # of one symbol the transpose would be a view
    tensors: dict[str, NDArray[Any]] = {
        tensor: np.zeros((width, length, len(_names(specs, family))), dtype=np.float32)
        for family, tensor in FAMILY_TENSORS.items()
    }
    if computed is None:
        computed = compute_features(inputs, specs, dtype=np.float32)
    for family, tensor in FAMILY_TENSORS.items():
        for position, name in enumerate(_names(specs, family)):
            values, defined = stored_form(computed.pop(name).T)
            valid &= defined
            tensors[tensor][:, :, position] = values
    prices = np.empty((width, length, len(BAR_FIELDS)))
    for position, name in enumerate(BAR_FIELDS):
        prices[:, :, position] = inputs.bars[name].T
    return {
        **tensors,
        "prices": prices,
        "present": np.ascontiguousarray(inputs.present.T),
        "valid": valid,
        "closed_at": inputs.closed_at.astype("datetime64[us]").astype(np.int64),
    }


def stored_form(values: FloatArray) -> tuple[NDArray[np.float32], BoolArray]:
    """Return values as a panel stores them, any shape: float32, 0 where undefined; and where not.

    What is infinite, or too large for float32, counts as undefined.
    """
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    defined = np.isfinite(single)
    single[~defined] = 0.0
    return single, defined


def _names(specs: Sequence[FeatureSpec], family: str) -> tuple[str, ...]:
    return tuple(spec.name for spec in specs if spec.family == family)


def _map_described(manifest: PanelManifest, path: Path, *, verify: bool) -> dict[str, NDArray[Any]]:
    is_same = (
        header_sha256(path) == manifest.header_sha256
        and path.stat().st_size == manifest.file_bytes
        and (not verify or file_sha256(path) == manifest.file_sha256)
    )
    arrays = map_tensors(path) if is_same else {}
    if {name: values.shape for name, values in arrays.items()} != manifest.shapes:
        raise other_content(path, "other content")
    return arrays


def formula_hashes(feature_ids: Sequence[str]) -> tuple[str | None, ...]:
    """Return the hash of each column's formulae as this version has them, by name and version.

    Returns:
        None where it is no feature of this version: probabilities, or another version of one.
    """
    names = [each.rpartition("-v")[0] for each in feature_ids]
    known = registered_features()
    others = [name for name in names if name not in known and not name.startswith("probability_")]
    specs = {s.id: spec_hash([s]) for s in (*known.values(), *covariate_features(others))}
    return tuple(specs.get(each) for each in feature_ids)
