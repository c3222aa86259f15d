"""A live view that takes one bar at a time sees what a table has, bit for bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.embedding import embed_table
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.view import LiveView

N_SYMBOLS, N_BARS, N_FEATURES = 143, 2_000, 33
PRESETS = ("row", "skip", "mlp", "lstm", "tiny", "small")


def perturbed(preset: str) -> Encoder:
    """Build an encoder whose parameters are nowhere zero or one, so that each of them counts."""
    generator = torch.Generator().manual_seed(11)
    encoder = build_encoder(encoder_preset(preset), N_FEATURES, generator).requires_grad_(False)
    for parameter in encoder.parameters():
        parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return encoder


def history(n_series: int, n_bars: int) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(n_series, n_bars, N_FEATURES, generator=generator)


def first_difference(view: LiveView, table: Tensor, embeddings: Tensor) -> int | None:
    """Return the first bar from `view.bar` on whose embedding has other bits; None if none has."""
    for bar in range(view.bar, table.shape[1]):
        if not torch.equal(bits(view.take(table[:, bar])), bits(embeddings[:, bar])):
            return bar
    return None


def bits(values: Tensor) -> Tensor:
    """See float32 as int32: 0 is not −0, and NaN is itself."""
    assert values.dtype == torch.float32
    return values.contiguous().view(torch.int32)


@pytest.mark.parametrize(
    "preset",
    [
        "tiny",
        *(pytest.param(preset, marks=pytest.mark.slow) for preset in PRESETS if preset != "tiny"),
    ],
)
def test_143_symbols_over_2000_bars(preset: str):
    encoder, table = perturbed(preset), history(N_SYMBOLS, N_BARS)

    live = LiveView(encoder, N_SYMBOLS)

    assert first_difference(live, table, embed_table(encoder, table)) is None


@pytest.mark.slow
def test_full_encoder_of_143_symbols():
    encoder, table = perturbed("full"), history(N_SYMBOLS, 200)

    live = LiveView(encoder, N_SYMBOLS)

    assert first_difference(live, table, embed_table(encoder, table)) is None


@pytest.mark.parametrize("preset", [*PRESETS, pytest.param("full", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("n_series", "chunk"), [(1, 64), (3, 40), (17, 64)])
def test_every_kind_across_chunks_of_a_long_table(preset: str, n_series: int, chunk: int):
    encoder = perturbed(preset)
    table = history(n_series, 2 * chunk + 5)  # the last chunk is a short one

    live = LiveView(encoder, n_series, chunk_bars=chunk)

    embeddings = embed_table(encoder, table, chunk_bars=chunk)
    assert first_difference(live, table, embeddings) is None
    assert live.bar == table.shape[1]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("begin", [1, 7, 30, 37, 40, 55, 64])
def test_view_that_begins_in_the_middle_is_the_tables_after_its_lookback(preset: str, begin: int):
    encoder, chunk = perturbed(preset), 40
    table = history(3, 100)
    embeddings = embed_table(encoder, table, chunk_bars=chunk)

    live = LiveView(encoder, 3, bar=begin, chunk_bars=chunk)
    for bar in range(begin, begin + live.lookback_bars - 1):
        live.take(table[:, bar])

    assert first_difference(live, table, embeddings) is None


@pytest.mark.parametrize("n_series", [1, 2, 5])
@pytest.mark.parametrize("preset", [*PRESETS, "full"])
def test_bits_of_a_table_do_not_depend_on_bars_that_follow(preset: str, n_series: int):
    encoder, chunk = perturbed(preset), 40
    table = history(n_series, 2 * chunk)
    whole = embed_table(encoder, table, chunk_bars=chunk)

    for n_bars in (1, 9, 25, chunk, chunk + 1, chunk + 9, 2 * chunk - 3):
        shorter = embed_table(encoder, table[:, :n_bars], chunk_bars=chunk)
        assert torch.equal(bits(shorter), bits(whole[:, :n_bars]))


def test_look_gives_the_newest_bar_by_series():
    encoder, table = perturbed("tiny"), history(4, 3)
    live = LiveView(encoder, 4)
    for bar in range(3):
        newest = live.take(table[:, bar])

    assert live.width == encoder.width
    assert torch.equal(live.look(torch.tensor([[2, 0], [3, 3]]))[0, 0], newest[2])


def test_bar_of_other_series_or_features_is_refused():
    live = LiveView(perturbed("tiny"), 4)

    with pytest.raises(ConfigError, match=r"one row of features for every series, was shape \(5"):
        live.take(torch.zeros(5, N_FEATURES))
    with pytest.raises(ConfigError, match="live view of 4 series and 33 features"):
        live.take(torch.zeros(4, N_FEATURES - 1))
