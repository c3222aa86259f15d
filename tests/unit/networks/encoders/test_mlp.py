"""The plain network over a flattened window."""

from __future__ import annotations

import torch
from torch.nn import functional

from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.networks.encoders.mlp import WindowMLP


def encoder_of(generator: torch.Generator) -> WindowMLP:
    config = EncoderConfig(kind="mlp", n_layers=2, width=8, lookback_bars=6)
    return WindowMLP(config, 5, generator).double()


@torch.no_grad()
def test_window_equals_its_flattened_rows_through_linear_layers(generator: torch.Generator):
    encoder = encoder_of(generator)
    window = torch.randn(4, 6, 5, generator=generator, dtype=torch.float64)

    flat = functional.pad(window, (0, 1), value=1.0).flatten(1)
    hidden = functional.gelu(encoder.flatten(flat))
    hidden = functional.gelu(encoder.layers[0](hidden))

    torch.testing.assert_close(encoder.window(window), encoder.norm(hidden))


@torch.no_grad()
def test_bar_that_does_not_exist_is_told_from_a_row_of_zeros(generator: torch.Generator):
    encoder = encoder_of(generator)
    window = torch.zeros(1, 6, 5, dtype=torch.float64)
    window[:, -1] = 1.0

    known = encoder.window(window)
    unknown = encoder.window(window, torch.tensor([1]))

    assert (known - unknown).abs().max() > 1e-3
