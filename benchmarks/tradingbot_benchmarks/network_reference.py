"""The same network of torch's own layers, for one window: what the fast ways must equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.mlp import WindowMLP
from tradingbot.networks.encoders.recurrent import RecurrentEncoder
from tradingbot.supervised.move_network import GatedEncoder
from tradingbot.supervised.network_classifier import FittedNetwork

Window = NDArray[np.float32]


def reference_network(model: FittedNetwork) -> Callable[[Window], Window]:
    """Return a function of one whole window (W, F), unscaled → probabilities (3,)."""
    encoder = model.network.encoder
    if isinstance(encoder, WindowMLP):
        embed = _layers(encoder)
    elif isinstance(encoder, GatedEncoder):
        embed = _cells(_gru(encoder), encoder.norm)
    else:
        assert isinstance(encoder, RecurrentEncoder)  # `NetworkConfig` knows no other
        embed = _cells(_lstm(encoder), encoder.norm)
    names, head = model.scaler.feature_names, model.network.head

    def ask(window: Window) -> Window:
        scaled = model.scaler.transform(window, feature_names=names).astype(np.float32)
        with torch.inference_mode():
            logits = head(embed(torch.from_numpy(scaled)[None]))
            chance: Window = torch.softmax(logits, dim=-1)[0].numpy()
        return chance

    return ask


def _layers(encoder: WindowMLP) -> Callable[[Tensor], Tensor]:
    def embed(window: Tensor) -> Tensor:
        hidden = functional.pad(window, (0, 1), value=1.0).flatten(1)  # every bar exists
        for layer in (encoder.flatten, *encoder.layers):
            hidden = functional.gelu(layer(hidden))
        found: Tensor = encoder.norm(hidden)
        return found

    return embed


def _cells(recurrent: nn.Module, norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    def embed(window: Tensor) -> Tensor:
        found: Tensor = norm(recurrent(window)[0][:, -1])
        return found

    return embed


def _gru(encoder: GatedEncoder) -> nn.GRU:
    made = nn.GRU(encoder.n_features, encoder.width, batch_first=True)
    enter, again = encoder.enter, encoder.again
    _fill(made, 0, (enter.weight, again.weight, enter.bias, again.bias))
    return made


def _lstm(encoder: RecurrentEncoder) -> nn.LSTM:
    made = nn.LSTM(encoder.n_features, encoder.width, len(encoder.cells), batch_first=True)
    weights = dict(encoder.cells.named_parameters())
    for layer in range(len(encoder.cells)):
        enter, bias = weights[f"{layer}.enter.weight"], weights[f"{layer}.enter.bias"]
        _fill(made, layer, (enter, weights[f"{layer}.again"], bias, torch.zeros_like(bias)))
    return made


def _fill(made: nn.RNNBase, layer: int, tensors: tuple[Tensor, ...]) -> None:
    """Set weights and biases of one layer: of the inputs, then of the hidden state."""
    with torch.no_grad():
        for kind, tensor in zip(
            ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), tensors, strict=True
        ):
            getattr(made, f"{kind}_l{layer}").copy_(tensor)
