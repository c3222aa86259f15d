"""Embeddings of whole tables in pieces, and hashes of weights."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from tradingbot.networks.embedding import embed_table, weights_hash
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, EncoderConfig, build_encoder
from tradingbot.networks.encoders.encoder import Encoder


def encoder_of(name: str = "tiny") -> Encoder:
    return build_encoder(ENCODER_PRESETS[name], 5, torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ["tiny", "lstm", "mlp", "row"])
@pytest.mark.parametrize("chunk_bars", [1, 7, 24, 50, 101, 10_000, None])
def test_embeddings_do_not_depend_on_how_the_table_is_cut(
    name: str, chunk_bars: int | None, generator: torch.Generator
):
    encoder = encoder_of(name).double()
    table = torch.randn(3, 50, 5, generator=generator, dtype=torch.float64)

    embeddings = embed_table(encoder, table, chunk_bars=chunk_bars)

    assert not embeddings.requires_grad
    torch.testing.assert_close(embeddings, encoder(table).detach(), rtol=0.0, atol=1e-12)


def test_chunks_bound_how_many_bars_are_encoded_at_once(generator: torch.Generator):
    encoder, sizes = encoder_of(), []
    encoder.project.register_forward_hook(
        lambda _m, given, _o: sizes.append(given[0].shape[0] * given[0].shape[1])
    )

    embed_table(encoder, torch.randn(9, 200, 5, generator=generator), chunk_bars=100)
    embed_table(encoder, torch.randn(9, 20, 5, generator=generator), chunk_bars=100)

    assert max(sizes) <= encoder.padded_bars(100) + encoder.lookback_bars - 1


def test_embeddings_are_written_where_they_are_wanted(generator: torch.Generator):
    table, out = torch.randn(2, 9, 5, generator=generator), torch.zeros(2, 9, 32)

    assert embed_table(encoder_of(), table, out=out) is out
    assert torch.count_nonzero(out) > 0


def test_bfloat16_products_give_float32_embeddings_nearby(generator: torch.Generator):
    encoder, table = encoder_of(), torch.randn(2, 40, 5, generator=generator)

    exact = embed_table(encoder, table)
    rounded = embed_table(encoder, table, precision="bfloat16")

    assert rounded.dtype == torch.float32
    assert 0.0 < (rounded - exact).abs().mean() < 0.02


def test_hash_of_weights_follows_every_tensor():
    encoder = encoder_of()
    expected = weights_hash(encoder)

    assert weights_hash(copy.deepcopy(encoder)) == expected
    for name, _ in encoder.named_parameters():
        other = copy.deepcopy(encoder)
        with torch.no_grad():
            parameter = other.get_parameter(name).view(-1)
            parameter[-1] = torch.nextafter(parameter[-1], parameter[-1] + 1.0)
        assert weights_hash(other) != expected, name


def test_hash_of_weights_follows_what_weights_do_not_tell():
    made = [
        build_encoder(
            EncoderConfig(kind="lstm", n_layers=1, width=8, lookback_bars=bars),
            5,
            torch.Generator().manual_seed(1),
        )
        for bars in (6, 7)
    ]

    assert torch.equal(made[0].cells[0].again, made[1].cells[0].again)
    assert weights_hash(made[0]) != weights_hash(made[1])


def test_hash_of_weights_follows_names_types_and_shapes():
    layers = [nn.Linear(4, 6), nn.Linear(6, 4), nn.Linear(4, 6).half()]
    for layer in layers:
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)

    assert len({weights_hash(layer) for layer in layers}) == 3
    assert len(weights_hash(layers[0])) == 64
