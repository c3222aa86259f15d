"""Networks as classifiers: an encoder of the last W bars, and three logits.

The whole table lies on the device as one tensor; windows are gathered there. Training draws batches
of windows and stops when later bars are no longer predicted better.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.data.sources.source import Progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError
from tradingbot.domain.seeding import stream
from tradingbot.features.scaling import Scaler, ScalerOptions, fit_scaler
from tradingbot.features.tensor_files import map_tensors, write_tensors
from tradingbot.supervised.classifier import FitRows, ProbabilityArray, labelled_rows, samples
from tradingbot.supervised.classifier_settings import NetworkConfig
from tradingbot.supervised.labels import CLASSES, LabelArray
from tradingbot.supervised.move_network import (
    MoveNetwork,
    NetworkStream,
    predict_segments,
)
from tradingbot.supervised.table import ModelTable

FEATURE_BOUND = 10.0
"""Scaled features are cut here: beyond ten deviations only the sign matters."""


@dataclass(frozen=True)
class NetworkClassifier:
    """Fits a `MoveNetwork`."""

    config: NetworkConfig = field(default_factory=NetworkConfig)
    suffix: str = ".safetensors"

    def fit(
        self, table: ModelTable, labels: LabelArray, rows: FitRows, *, seed: int, progress: Progress
    ) -> FittedNetwork:
        """See `Classifier.fit`; the scaler is fitted on the bars of `rows.fit` alone."""
        config = self.config
        scaler = fit_scaler(
            "standard",
            table.values,
            table.valid,
            slice(rows.fit.start, rows.fit.stop),
            feature_names=table.names,
            symbols=table.symbols,
            options=ScalerOptions(clip=FEATURE_BOUND),
        )
        generator = torch.Generator()
        generator.manual_seed(int(stream(seed, "supervised", config.kind).integers(2**62)))
        network = MoveNetwork(config, len(table.names), generator)
        _, answers = labelled_rows(table, labels, rows.fit)
        rates = np.bincount(answers, minlength=len(CLASSES)) + 1.0
        with torch.no_grad():
            network.head.bias.copy_(torch.from_numpy(np.log(rates / rates.sum())))
        network.to(config.device)
        windows = _Windows(table, labels, scaler, config)
        _train(network, windows, rows, generator, progress)
        return FittedNetwork(config, network.eval(), scaler)

    def read(self, path: Path, table_names: tuple[str, ...]) -> FittedNetwork:
        """See `Classifier.read`."""
        arrays = {name: np.array(values) for name, values in map_tensors(path).items()}
        network = MoveNetwork(self.config, len(table_names), torch.Generator())
        expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
        expected |= {"scaler.centre": (len(table_names),), "scaler.scale": (len(table_names),)}
        if {name: values.shape for name, values in arrays.items()} != expected:
            raise StorageError(
                "file must hold the weights of this network",
                was="other tensors",
                where=str(path),
                remedy="Train the model again: tradingbot supervised train",
            )
        centre, scale = arrays.pop("scaler.centre"), arrays.pop("scaler.scale")
        network.load_state_dict({name: torch.from_numpy(each) for name, each in arrays.items()})
        scaler = Scaler(
            kind="standard",
            feature_names=table_names,
            symbols=None,
            centre=centre,
            scale=scale,
            rows=np.zeros(len(table_names)),
            train_first=0,
            train_last=0,
            clip=FEATURE_BOUND,
        )
        return FittedNetwork(self.config, network.to(self.config.device).eval(), scaler)


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with the scaler it was fitted with."""

    config: NetworkConfig
    network: MoveNetwork
    scaler: Scaler

    def probabilities(self, table: ModelTable, rows: IndexRange | None = None) -> ProbabilityArray:
        """See `FittedClassifier.probabilities`."""
        part = rows or IndexRange(0, table.n_bars)
        values, network = _scaled(table, self.scaler), self.network
        device = torch.device(self.config.device)
        return predict_segments(network.encoder, network.head, values, part, device)

    def stream(self, n_symbols: int) -> NetworkStream:
        """See `FittedClassifier.stream`."""
        return NetworkStream(self.network.encoder, self.network.head, self.scaler, n_symbols)

    def write(self, path: Path) -> None:
        """Write weights and scaler as safetensors."""
        state = self.network.state_dict()
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        arrays |= {"scaler.centre": self.scaler.centre, "scaler.scale": self.scaler.scale}
        write_tensors(path, arrays, {k: str(v) for k, v in asdict(self.config).items()})


class _Windows:
    """The scaled table on the device, and windows gathered from it."""

    def __init__(
        self, table: ModelTable, labels: LabelArray, scaler: Scaler, config: NetworkConfig
    ) -> None:
        self.table, self.labels, self.config = table, labels, config
        self._values = torch.from_numpy(_scaled(table, scaler)).to(config.device)
        self._answers = torch.from_numpy(labels.astype(np.int64)).to(config.device)
        self._back = torch.arange(1 - config.lookback_bars, 1, device=config.device)

    def of(self, part: IndexRange) -> Tensor:
        """(K, 2) labelled symbols and bars of a part."""
        return torch.from_numpy(samples(self.table, self.labels, part)).to(self.config.device)

    def gather(self, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return windows (B, W, F), how many of their bars exist (B,), and answers (B,)."""
        symbol, bar = places[:, 0], places[:, 1]
        rows = (bar[:, None] + self._back).clamp(min=0)
        known = (bar + 1).clamp(max=self.config.lookback_bars)
        return self._values[symbol[:, None], rows], known, self._answers[symbol, bar]


def _train(
    network: MoveNetwork,
    windows: _Windows,
    rows: FitRows,
    generator: torch.Generator,
    progress: Progress,
) -> None:
    """Fit in place, and leave the weights that predicted the later bars best."""
    config = windows.config
    places, later = windows.of(rows.fit), windows.of(rows.stop)
    later = later[:: max(1, len(later) // config.stop_windows)]
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    best, best_loss, waited = _copy(network), _mean_loss(network, windows, later), 0
    for update in range(1, config.max_updates + 1):
        drawn = torch.randint(len(places), (config.batch_windows,), generator=generator)
        seen, known, answers = windows.gather(places[drawn.to(places.device)])
        loss = functional.cross_entropy(network(seen, known), answers)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if update % config.check_updates:
            continue
        progress(update, config.max_updates, "updates")
        now = _mean_loss(network, windows, later)
        if now < best_loss:
            best, best_loss, waited = _copy(network), now, 0
        else:
            waited += 1
        if waited >= config.patience:
            break
    network.load_state_dict(best)


def _mean_loss(network: MoveNetwork, windows: _Windows, places: Tensor) -> float:
    total = 0.0
    with torch.no_grad():
        for part in torch.split(places, 4_096):
            seen, known, answers = windows.gather(part)
            logits = network(seen, known)
            total += float(functional.cross_entropy(logits, answers, reduction="sum"))
    return total / len(places)


def _copy(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


def _scaled(table: ModelTable, scaler: Scaler) -> NDArray[np.float32]:
    scaled = scaler.transform(table.values, table.valid, feature_names=table.names)
    return scaled.astype(np.float32)
