"""The LSTM: torch's own cells, run over windows."""

from __future__ import annotations

import torch
from torch import nn

from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.networks.encoders.recurrent import RecurrentEncoder


def encoder_of(n_layers: int, generator: torch.Generator) -> RecurrentEncoder:
    config = EncoderConfig(kind="lstm", n_layers=n_layers, width=8, lookback_bars=6)
    return RecurrentEncoder(config, 5, generator).double()


@torch.no_grad()
def test_window_equals_torch_lstm_from_a_zero_state(generator: torch.Generator):
    encoder = encoder_of(2, generator)
    theirs = nn.LSTM(5, 8, num_layers=2, batch_first=True).double()
    for layer, cell in enumerate(encoder.cells):
        getattr(theirs, f"weight_ih_l{layer}").copy_(cell.enter.weight)
        getattr(theirs, f"weight_hh_l{layer}").copy_(cell.again)
        getattr(theirs, f"bias_ih_l{layer}").copy_(cell.enter.bias)
        getattr(theirs, f"bias_hh_l{layer}").zero_()
    window = torch.randn(4, 6, 5, generator=generator, dtype=torch.float64)

    expected = encoder.norm(theirs(window)[0][:, -1])

    torch.testing.assert_close(encoder.window(window), expected)


def test_forget_gate_begins_open_and_recurrence_orthogonal(generator: torch.Generator):
    cell = encoder_of(1, generator).cells[0]

    assert cell.enter.bias.view(4, 8)[1].tolist() == [1.0] * 8
    assert torch.count_nonzero(cell.enter.bias) == 8
    for gate in cell.again.chunk(4):
        eye = gate @ gate.t()
        torch.testing.assert_close(eye, torch.eye(8).double(), rtol=0, atol=1e-5)
