"""The row beside what an encoder makes of it."""

from __future__ import annotations

import torch

from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.encoders.row import FIRST_GAIN, SkipEncoder

N_FEATURES = 5


def encoder_and_table(generator: torch.Generator) -> tuple[SkipEncoder, torch.Tensor]:
    encoder: Encoder = build_encoder(encoder_preset("skip"), N_FEATURES, generator)
    assert isinstance(encoder, SkipEncoder)
    return encoder, torch.randn(3, 40, N_FEATURES, generator=generator)


@torch.no_grad()
def test_row_comes_first_and_is_not_touched(generator: torch.Generator):
    encoder, table = encoder_and_table(generator)

    embeddings = encoder(table)

    assert encoder.width == N_FEATURES + encoder.inner.width
    assert torch.equal(embeddings[..., :N_FEATURES], table)
    assert torch.equal(encoder(table, None, 7)[..., :N_FEATURES], table[:, -7:])


@torch.no_grad()
def test_learned_numbers_begin_near_nothing_and_follow_their_gains(generator: torch.Generator):
    encoder, table = encoder_and_table(generator)
    learned = encoder.inner(table)

    at_first = encoder(table)[..., N_FEATURES:]
    encoder.gain.copy_(torch.arange(encoder.inner.width))
    later = encoder(table)[..., N_FEATURES:]

    torch.testing.assert_close(at_first, FIRST_GAIN * learned)
    torch.testing.assert_close(later, torch.arange(encoder.inner.width) * learned)


def test_everything_learns_from_the_first_update_on(generator: torch.Generator):
    encoder, table = encoder_and_table(generator)
    target = torch.randn(3, 40, encoder.width, generator=generator)

    (encoder(table) * target).sum().backward()

    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0.0, name
