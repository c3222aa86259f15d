"""The transformer: spans, size, beginnings, and what attention may see."""

from __future__ import annotations

import pytest
import torch

from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.networks.encoders.transformer import TransformerEncoder, layer_spans


@pytest.mark.parametrize("lookback_bars", [1, 2, 5, 24, 25, 96, 500])
@pytest.mark.parametrize("n_layers", [1, 2, 3, 4, 7])
def test_spans_add_up_to_the_lookback(lookback_bars: int, n_layers: int):
    spans = layer_spans(lookback_bars, n_layers)

    assert len(spans) == n_layers
    assert sum(span - 1 for span in spans) + 1 == lookback_bars
    assert max(spans) - min(spans) <= 1


def test_full_preset_keeps_the_budget_of_the_specification(generator: torch.Generator):
    encoder = TransformerEncoder(ENCODER_PRESETS["full"], 33, generator)

    count = sum(parameter.numel() for parameter in encoder.parameters())

    assert (len(encoder.blocks), encoder.width, encoder.lookback_bars) == (4, 256, 24)
    assert 3.1e6 < count < 3.3e6


def test_weights_begin_as_xavier_says(generator: torch.Generator):
    encoder = TransformerEncoder(ENCODER_PRESETS["full"], 33, generator)

    for block in encoder.blocks:
        for layer, fan_out in ((block.query, 256), (block.output, 256), (block.inner, 1024)):
            expected = 2.0 / (256 + fan_out)
            assert layer.weight.var().item() == pytest.approx(expected, rel=0.03)
        for drawn in block.key_value.weight.chunk(2):
            assert drawn.var().item() == pytest.approx(2.0 / 512, rel=0.03)
        assert block.outer.weight.var().item() == pytest.approx(2.0 / 1280, rel=0.03)


def test_hidden_layers_neither_vanish_nor_explode_at_first(generator: torch.Generator):
    encoder = TransformerEncoder(ENCODER_PRESETS["full"], 33, generator)
    scales: list[float] = []
    for block in encoder.blocks:
        block.register_forward_hook(lambda _m, _i, out: scales.append(out.std().item()))

    encoder(torch.randn(2, 64, 33, generator=generator))

    assert len(scales) == 4
    assert all(0.3 < scale < 5.0 for scale in scales)


def test_every_parameter_gets_a_gradient(generator: torch.Generator):
    encoder = TransformerEncoder(small(), 5, generator)

    encoder(torch.randn(2, 40, 5, generator=generator))[:, -1].square().mul(
        torch.rand(16, generator=generator)
    ).sum().backward()

    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0.0, name


def test_stream_keeps_memory_of_constant_size(generator: torch.Generator):
    encoder = TransformerEncoder(small(), 5, generator)
    memory = encoder.begin_stream(3)
    before = [part.shape for part in memory]

    for _ in range(50):
        memory, _embedding = encoder.stream(memory, torch.randn(3, 5, generator=generator))

    assert [part.shape for part in memory] == before
    assert all(part.shape[0] == 3 for part in memory)


def test_series_that_began_later_streams_beside_the_others(generator: torch.Generator):
    encoder = TransformerEncoder(small(), 5, generator).double()
    rows = torch.randn(2, 20, 5, generator=generator, dtype=torch.float64)
    memory = encoder.begin_stream(2)
    fresh = encoder.begin_stream(1)
    for t in range(20):
        if t == 6:  # series 1 starts anew: its memory alone is replaced
            memory = tuple(
                torch.cat([old[:1], new]) for old, new in zip(memory, fresh, strict=True)
            )
        memory, embedding = encoder.stream(memory, rows[:, t])

    torch.testing.assert_close(embedding[0], encoder(rows[:1])[0, -1])
    torch.testing.assert_close(embedding[1], encoder(rows[1:, 6:])[0, -1])


def test_embedding_does_not_depend_on_where_the_bar_stands(generator: torch.Generator):
    encoder = TransformerEncoder(small(), 5, generator).double()
    window = torch.randn(1, 12, 5, generator=generator, dtype=torch.float64)
    before = torch.randn(1, 33, 5, generator=generator, dtype=torch.float64)

    shifted = encoder(torch.cat([before, window], dim=1))

    torch.testing.assert_close(shifted[0, -1], encoder(window)[0, -1])


def test_order_of_bars_matters(generator: torch.Generator):
    encoder = TransformerEncoder(small(), 5, generator)
    window = torch.randn(1, 12, 5, generator=generator)
    swapped = window.clone()
    swapped[0, [3, 7]] = window[0, [7, 3]]

    assert (encoder.window(window) - encoder.window(swapped)).abs().max() > 1e-3


@torch.no_grad()
def test_attention_equals_the_same_written_out_bar_by_bar(generator: torch.Generator):
    config = EncoderConfig(n_layers=1, width=8, n_heads=2, lookback_bars=5)
    encoder = TransformerEncoder(config, 3, generator).double()
    block, table = encoder.blocks[0], torch.randn(1, 40, 3, generator=generator).double()
    block.distance_bias.copy_(torch.randn(2, 5, generator=generator))
    hidden = encoder.project(table)[0]
    normed = block.attention_norm(hidden)
    query, (key, value) = block.query(normed), block.key_value(normed).chunk(2, dim=-1)

    rows = []
    for t in range(40):
        heads = []
        for head, part in enumerate((slice(0, 4), slice(4, 8))):
            seen = range(max(0, t - 4), t + 1)
            scores = [
                query[t, part] @ key[s, part] / 2.0 + block.distance_bias[head, t - s] for s in seen
            ]
            weights = torch.softmax(torch.stack(scores), dim=0)
            heads.append(sum(w * value[s, part] for w, s in zip(weights, seen, strict=True)))
        rows.append(torch.cat(heads))
    attended = hidden + block.output(torch.stack(rows))
    inner = torch.nn.functional.gelu(block.inner(block.inner_norm(attended)))
    expected = encoder.norm(attended + block.outer(inner))

    torch.testing.assert_close(encoder(table)[0], expected)


def test_heads_begin_with_different_rates_of_forgetting(generator: torch.Generator):
    block = TransformerEncoder(ENCODER_PRESETS["full"], 33, generator).blocks[0]

    per_bar = block.distance_bias.diff(dim=-1)

    assert torch.count_nonzero(block.distance_bias[:, 0]) == 0
    assert per_bar[0].tolist() == pytest.approx([-0.5] * 6)
    assert per_bar[-1].tolist() == pytest.approx([-(2.0**-8)] * 6)
    assert (per_bar[1:] > per_bar[:-1]).all()


def small() -> EncoderConfig:
    return EncoderConfig(n_layers=2, width=16, n_heads=4, lookback_bars=12)


def _encoder_and_table(n_layers: int, n_bars: int = 40) -> tuple[TransformerEncoder, torch.Tensor]:
    config = EncoderConfig(width=16, n_heads=2, n_layers=n_layers, lookback_bars=9)
    encoder = TransformerEncoder(config, 3, torch.Generator().manual_seed(4))
    table = torch.randn(2, n_bars, 3, generator=torch.Generator().manual_seed(5))
    return encoder.requires_grad_(False), table


def test_attention_sums_to_one_and_gives_absent_bars_nothing() -> None:
    encoder, table = _encoder_and_table(n_layers=2)
    weights = encoder.attention(table, last_bars=40)

    assert weights.shape == (2, 40, encoder.spans[-1])
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 40))
    # Bar 1 has one bar before it: lags 2 and more do not exist.
    assert (weights[:, 1, 2:] == 0.0).all()
    assert (weights[:, 1, :2] > 0.0).all()


def test_attention_of_a_bar_does_not_move_with_later_bars() -> None:
    encoder, table = _encoder_and_table(n_layers=2)
    before = encoder.attention(table, last_bars=40)
    other = table.clone()
    other[:, 25:] += 10.0
    after = encoder.attention(other, last_bars=40)

    assert torch.equal(before[:, :25], after[:, :25])
    assert not torch.equal(before[:, 25:], after[:, 25:])


def test_attention_of_the_last_bars_is_that_of_the_whole() -> None:
    encoder, table = _encoder_and_table(n_layers=2)
    whole = encoder.attention(table, last_bars=40)
    torch.testing.assert_close(encoder.attention(table, last_bars=7), whole[:, -7:])


def test_attention_equals_softmax_of_scores_by_hand() -> None:
    encoder, table = _encoder_and_table(n_layers=1, n_bars=20)
    block = encoder._each_block()[0]
    normed = block.attention_norm(encoder.project(table))
    query = block.query(normed).view(2, 20, 2, 8)
    key = block.key_value(normed)[..., :16].view(2, 20, 2, 8)
    bar = 17
    lags = torch.arange(encoder.spans[0])
    scores = torch.einsum("mhd,mlhd->mhl", query[:, bar], key[:, bar - lags]) / 8**0.5
    by_hand = torch.softmax(scores + block.distance_bias, dim=-1).mean(1)
    torch.testing.assert_close(encoder.attention(table, last_bars=20)[:, bar], by_hand)
