"""What a classifier sees: named causal numbers per symbol and bar, unscaled, as a panel holds them.

Each model carries the scaler it was fitted with, so that no statistic of later bars gets into an
earlier model; a table therefore holds features as they are stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import FAMILY_TENSORS, Panel, panel_tensors
from tradingbot.features.spec import FeatureSpec


@dataclass(frozen=True, eq=False)
class ModelTable:
    """N symbols on a clock of T bars with F numbers each."""

    values: NDArray[np.float32]
    """(N, T, F) features, covariates, regimes in network form; 0 where undefined."""
    valid: NDArray[np.bool_]
    """(N, T) there is a bar and every number is defined."""
    closes: NDArray[np.float64]
    """(N, T) closing prices, NaN where there is no bar; labels are made of them."""
    names: tuple[str, ...]
    """F names."""
    symbols: tuple[str, ...]
    """N names."""

    def __post_init__(self) -> None:
        """Refuse arrays that disagree."""
        shape = (len(self.symbols), self.valid.shape[1], len(self.names))
        if self.values.shape != shape or self.valid.shape != shape[:2]:
            raise DataError(
                "table must have shape (N, T, F)", was=self.values.shape, where=f"{shape}"
            )

    @property
    def n_bars(self) -> int:
        """T."""
        return int(self.valid.shape[1])

    def until(self, stop: int) -> ModelTable:
        """Return the table as it was when bar `stop` − 1 had closed; views, no copies."""
        return ModelTable(
            self.values[:, :stop],
            self.valid[:, :stop],
            self.closes[:, :stop],
            self.names,
            self.symbols,
        )

    @property
    def sha256(self) -> str:
        """Hash of every number and name."""
        digest = hashlib.sha256(repr((self.names, self.symbols, self.values.shape)).encode())
        for array in (self.values, self.valid, self.closes):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


def table_of_panel(panel: Panel) -> ModelTable:
    """Read a stored panel as a table."""
    manifest = panel.manifest
    names = {
        "technical": manifest.features,
        "covariate": manifest.covariates,
        "regime": manifest.regimes,
    }
    return _assemble(panel.arrays, names, panel.symbols)


def table_of_inputs(inputs: MarketInputs, specs: Sequence[FeatureSpec]) -> ModelTable:
    """Compute a table from bars; the same numbers as a panel of them would hold."""
    return table_of_tensors(panel_tensors(inputs, specs), specs, inputs.symbols)


def table_of_tensors(
    tensors: Mapping[str, NDArray[Any]], specs: Sequence[FeatureSpec], symbols: tuple[str, ...]
) -> ModelTable:
    """Make a table of the tensors of a panel."""
    names = {
        family: tuple(spec.name for spec in specs if spec.family == family)
        for family in FAMILY_TENSORS
    }
    return _assemble(tensors, names, symbols)


def _assemble(
    tensors: Mapping[str, NDArray[Any]],
    names: Mapping[str, tuple[str, ...]],
    symbols: tuple[str, ...],
) -> ModelTable:
    order = ("technical", "covariate", "regime")
    parts = [tensors[FAMILY_TENSORS[family]] for family in order if names[family]]
    present = tensors["present"]
    return ModelTable(
        values=np.concatenate(parts, axis=-1, dtype=np.float32),
        valid=np.array(tensors["valid"]),
        closes=np.where(present, tensors["prices"][..., 3], np.nan),
        names=tuple(name for family in order for name in names[family]),
        symbols=symbols,
    )
