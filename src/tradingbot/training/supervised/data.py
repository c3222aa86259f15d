"""What a supervised model is fitted on: the table of a certified panel or of a generated market."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange, Split
from tradingbot.data.store import BarStore
from tradingbot.envs.synthetic_market import inputs_of_market
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel, panel_specs
from tradingbot.features.pipeline import panel_of, read_inputs, split_rows, synthetic_source
from tradingbot.features.spec import FeatureSpec
from tradingbot.supervised.model_manifest import DataRecord
from tradingbot.supervised.table import ModelTable, table_of_inputs, table_of_panel
from tradingbot.training.config import TrainConfig
from tradingbot.training.data_hashes import bars_sha256


@dataclass(frozen=True, eq=False)
class ModelSource:
    """A table with what is needed to prove, name and divide it."""

    table: ModelTable
    split: Split
    closed_at: NDArray[np.datetime64]
    """(T,) UTC."""
    specs: Sequence[FeatureSpec]
    read_inputs: Callable[[], MarketInputs]
    """Bars for the causality prover; read when they are asked for."""
    label: str
    synthetic: bool
    bars_sha256: str
    """Of all bars, as trials are counted by; of a stored dataset, its own hash."""
    dataset_sha256: str | None = None

    def record(self) -> DataRecord:
        """Say what a model is fitted on."""
        train = self.split.train
        first, last = self.days(train)
        return DataRecord(
            label=self.label,
            synthetic=self.synthetic,
            data_sha256=self.table.sha256,
            dataset_sha256=self.dataset_sha256,
            symbols=self.table.symbols,
            n_bars=self.table.n_bars,
            train_start=train.start,
            train_stop=train.stop,
            first_day=first,
            last_day=last,
        )

    def days(self, part: IndexRange) -> tuple[str, str]:
        """First and last UTC day of a part."""
        first, last = self.closed_at[[part.start, part.stop - 1]].astype("datetime64[D]")
        return str(first), str(last)


def open_source(config: TrainConfig, workspace: Path) -> ModelSource:
    """Open or generate what a training configuration names.

    Raises:
        UncertifiedPanelError: If the panel of the dataset was not proved free of look-ahead.
        ConfigError: If the market or a parameter of it is unknown.
        DataError: If a part of the split is empty.
    """
    if config.dataset is None:
        market = synthetic_source(config.market).generate()
        inputs = inputs_of_market(market)
        specs = panel_specs(inputs.covariates, config.features)
        return ModelSource(
            table=table_of_inputs(inputs, specs),
            split=split_rows(market.closed_at, config.splits),
            closed_at=market.closed_at,
            specs=specs,
            read_inputs=lambda: inputs,
            label=f"synthetic market {market.name!r}, seed {market.seed}",
            synthetic=True,
            bars_sha256=bars_sha256(market),
        )
    dataset = BarStore(workspace).open(config.dataset)
    panel = Panel.open(panel_of(dataset, workspace, config.features))
    closed_at = panel.numpy("closed_at").astype("datetime64[us]")
    word = "synthetic" if panel.manifest.synthetic else "observed"
    return ModelSource(
        table=table_of_panel(panel),
        split=split_rows(closed_at, config.splits),
        closed_at=closed_at,
        specs=panel_specs(dataset.manifest.covariates, config.features),
        read_inputs=lambda: read_inputs(dataset),
        label=f"dataset {config.dataset}, {word}",
        synthetic=bool(panel.manifest.synthetic),
        bars_sha256=panel.manifest.dataset_sha256,
        dataset_sha256=panel.manifest.dataset_sha256,
    )
