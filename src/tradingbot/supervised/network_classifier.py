"""Networks as classifiers: an encoder of the last W bars, and three logits.

The whole table lies on the device as one tensor; windows are gathered there. Training draws batches
of windows and stops when later bars are no longer predicted better.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import StorageError
from tradingbot.domain.seeding import stream
from tradingbot.features.scaling import Scaler, ScalerOptions, fit_scaler
from tradingbot.features.tensor_files import map_tensors, write_tensors
from tradingbot.networks.encoders.catalogue import build_encoder
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig
from tradingbot.networks.initialisation import drawn_linear
from tradingbot.supervised.classifier import FitRows, ProbabilityArray, Progress, samples
from tradingbot.supervised.gru import GatedEncoder
from tradingbot.supervised.labels import CLASSES, LabelArray
from tradingbot.supervised.network_prediction import NetworkStream, predict_segments
from tradingbot.supervised.table import ModelTable

NetworkKind = Literal["mlp", "lstm", "gru"]
_KINDS = ("mlp", "lstm", "gru")
FEATURE_BOUND = 10.0
"""Scaled features are cut here: beyond ten deviations only the sign matters."""


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a network and how it is fitted."""

    kind: NetworkKind = "mlp"
    """`mlp` sees the window flattened; `lstm` and `gru` bar by bar."""
    width: int = 32
    """Of every layer."""
    n_layers: int = 2
    """Hidden layers of the MLP, cells of the LSTM; the GRU has one."""
    lookback_bars: int = 8
    """W, bars a prediction depends on, its own included; features remember further back."""
    learning_rate: float = 5e-4
    """Of AdamW."""
    weight_decay: float = 1e-2
    """Of AdamW, per update ÷ learning rate."""
    batch_windows: int = 512
    """Windows per update."""
    check_updates: int = 20
    """Updates between two looks at the bars that say when to stop."""
    max_updates: int = 1_500
    """Updates at most."""
    patience: int = 6
    """Looks without a better log loss after which fitting stops; the best weights are kept."""
    stop_windows: int = 5_000
    """Windows per look, at most; evenly spread."""
    device: str = "cpu"
    """Where it is fitted and asked."""

    def __post_init__(self) -> None:
        """Refuse a network that cannot be."""
        require_kinds(self)
        require(self.kind in _KINDS, f"kind must be one of {', '.join(_KINDS)}", self)
        for name in (
            *("width", "n_layers", "lookback_bars", "batch_windows", "check_updates"),
            *("max_updates", "patience", "stop_windows"),
        ):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        require(0.0 < self.learning_rate <= 1.0, "learning_rate must be in (0, 1]", self)
        require(0.0 <= self.weight_decay <= 10.0, "weight_decay must be in [0, 10]", self)


class MoveNetwork(nn.Module):
    """Encoder and head: windows in, logits of down, flat, up out."""

    def __init__(self, config: NetworkConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator."""
        super().__init__()
        size = EncoderConfig(
            kind="lstm" if config.kind == "lstm" else "mlp",
            n_layers=config.n_layers,
            width=config.width,
            n_heads=1,
            lookback_bars=config.lookback_bars,
        )
        self.encoder: Encoder = (
            GatedEncoder(size, n_features, generator)
            if config.kind == "gru"
            else build_encoder(size, n_features, generator)
        )
        self.head = drawn_linear(config.width, len(CLASSES), generator)
        with torch.no_grad():
            self.head.weight *= 0.1  # begin near the base rates

    def forward(self, windows: Tensor, known: Tensor) -> Tensor:
        """Map windows (B, W, F) of which the last `known` (B,) bars exist to logits (B, 3)."""
        logits: Tensor = self.head(self.encoder.window(windows, known))
        return logits


@dataclass(frozen=True)
class NetworkClassifier:
    """Fits a `MoveNetwork`."""

    config: NetworkConfig = NetworkConfig()
    suffix: str = ".safetensors"

    def fit(
        self,
        table: ModelTable,
        labels: LabelArray,
        rows: FitRows,
        *,
        seed: int,
        progress: Progress | None = None,
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
        rates = np.bincount(_known(labels, table, rows.fit), minlength=len(CLASSES)) + 1.0
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
        scaler = _scaler(table_names, centre, scale)
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
    progress: Progress | None,
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
        if progress is not None:
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


def _known(labels: LabelArray, table: ModelTable, part: IndexRange) -> NDArray[np.int64]:
    places = samples(table, labels, part)
    return labels[places[:, 0], places[:, 1]].astype(np.int64)


def _scaled(table: ModelTable, scaler: Scaler) -> NDArray[np.float32]:
    scaled = scaler.transform(table.values, table.valid, feature_names=table.names)
    return scaled.astype(np.float32)


def _scaler(
    names: tuple[str, ...], centre: NDArray[np.float64], scale: NDArray[np.float64]
) -> Scaler:
    return Scaler(
        kind="standard",
        feature_names=names,
        symbols=None,
        centre=centre,
        scale=scale,
        rows=np.zeros(len(names)),
        train_first=0,
        train_last=0,
        clip=FEATURE_BOUND,
    )
