"""The row itself."""

from __future__ import annotations

import torch

from tradingbot.networks.encoders.row import RowEncoder


def test_row_is_its_own_embedding_in_every_pass(generator: torch.Generator):
    encoder, table = RowEncoder(5), torch.randn(2, 9, 5, generator=generator)

    _, streamed = encoder.stream(encoder.begin_stream(2), table[:, 3])

    assert (encoder.width, encoder.lookback_bars) == (5, 1)
    assert torch.equal(encoder(table), table)
    assert torch.equal(encoder.window(table[:, 3:4]), table[:, 3])
    assert torch.equal(streamed, table[:, 3])
    assert list(encoder.parameters()) == []
