"""Whole history, window by window and bar by bar: the same embedding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, EncoderConfig, build_encoder
from tradingbot.networks.encoders.encoder import Encoder

N_SERIES, N_BARS, N_FEATURES = 3, 61, 5
SLACK = {torch.float32: 1e-5, torch.float64: 1e-10}
CONFIGS = {
    **ENCODER_PRESETS,
    "one layer": EncoderConfig(n_layers=1, width=16, n_heads=2, lookback_bars=9),
    "uneven spans": EncoderConfig(n_layers=3, width=16, n_heads=4, lookback_bars=5),
    "more layers than bars": EncoderConfig(n_layers=4, width=16, n_heads=1, lookback_bars=2),
    "longer than a block": EncoderConfig(n_layers=2, width=16, n_heads=2, lookback_bars=50),
    "deep lstm": EncoderConfig(kind="lstm", n_layers=3, width=8, lookback_bars=7),
    "skip transformer": EncoderConfig(n_layers=2, width=8, n_heads=2, lookback_bars=5, skip=True),
    "deep mlp": EncoderConfig(kind="mlp", n_layers=3, width=8, lookback_bars=7),
}


def perturbed(config: EncoderConfig, dtype: torch.dtype) -> Encoder:
    """Build an encoder whose parameters are nowhere zero or one, so that each of them counts."""
    generator = torch.Generator().manual_seed(11)
    encoder = build_encoder(config, N_FEATURES, generator)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return encoder.to(dtype)


def history(dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(N_SERIES, N_BARS, N_FEATURES, generator=generator, dtype=dtype)


@pytest.fixture(params=CONFIGS, ids=lambda name: name.replace(" ", "_"))
def config(request: pytest.FixtureRequest) -> EncoderConfig:
    return CONFIGS[request.param]


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@torch.no_grad()
def test_window_of_every_bar_equals_whole_history(config: EncoderConfig, dtype: torch.dtype):
    encoder, table = perturbed(config, dtype), history(dtype)

    whole = encoder(table)
    back = encoder.lookback_bars - 1
    windows = [encoder.window(table[:, max(0, t - back) : t + 1]) for t in range(N_BARS)]

    assert (torch.stack(windows, dim=1) - whole).abs().max() <= SLACK[dtype]


@torch.no_grad()
def test_stream_of_every_bar_equals_whole_history(config: EncoderConfig, dtype: torch.dtype):
    encoder, table = perturbed(config, dtype), history(dtype)

    whole = encoder(table)
    memory, streamed = encoder.begin_stream(N_SERIES), []
    for t in range(N_BARS):
        memory, embedding = encoder.stream(memory, table[:, t])
        streamed.append(embedding)

    assert (torch.stack(streamed, dim=1) - whole).abs().max() <= SLACK[dtype]


@torch.no_grad()
def test_bars_that_do_not_exist_leave_no_trace(config: EncoderConfig, dtype: torch.dtype):
    encoder, table = perturbed(config, dtype), history(dtype)
    first = torch.tensor([0, 4, 37])

    masked = encoder(table, first)

    for series, begin in enumerate(first.tolist()):
        alone = encoder(table[series : series + 1, begin:])
        assert (masked[series : series + 1, begin:] - alone).abs().max() <= SLACK[dtype]
    assert torch.isfinite(masked).all()


@torch.no_grad()
@pytest.mark.parametrize("n_last", [1, 2, 17, N_BARS])
def test_last_bars_only_equal_those_of_the_whole(config: EncoderConfig, n_last: int):
    encoder, table = perturbed(config, torch.float64), history(torch.float64)
    first = torch.tensor([0, 4, 37])

    last = encoder(table, first, n_last)

    there = torch.arange(N_BARS - n_last, N_BARS) >= first[:, None]
    difference = (last - encoder(table, first)[:, -n_last:]).abs().amax(-1)
    assert last.shape == (N_SERIES, n_last, encoder.width)
    assert difference[there].max() <= SLACK[torch.float64]


@torch.no_grad()
def test_window_told_how_many_bars_it_knows_equals_the_shorter_window(config: EncoderConfig):
    encoder, table = perturbed(config, torch.float64), history(torch.float64)
    window = table[:, : encoder.lookback_bars]
    size = window.shape[1]
    known = torch.tensor([1, max(1, size // 2), size])

    told = encoder.window(window, known)

    for series, count in enumerate(known.tolist()):
        shorter = encoder.window(window[series : series + 1, size - count :])
        assert (told[series] - shorter[0]).abs().max() <= SLACK[torch.float64]


@pytest.mark.parametrize(
    "preset", ["tiny", "uneven spans", "longer than a block", "lstm", "mlp", "skip"]
)
def test_gradients_of_the_passes_are_equal(preset: str):
    encoder, table = perturbed(CONFIGS[preset], torch.float64), history(torch.float64)
    back = encoder.lookback_bars - 1
    weights = torch.randn(
        N_SERIES, N_BARS, encoder.width, generator=torch.Generator().manual_seed(1)
    ).double()

    (encoder(table) * weights).sum().backward()
    whole = [parameter.grad.clone() for parameter in encoder.parameters()]
    encoder.zero_grad()
    for t in range(N_BARS):
        (encoder.window(table[:, max(0, t - back) : t + 1]) * weights[:, t]).sum().backward()

    for expected, parameter in zip(whole, encoder.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-9, atol=1e-9)


def test_embedding_depends_on_its_lookback_and_on_nothing_else(config: EncoderConfig):
    encoder = perturbed(config, torch.float64)
    table = history(torch.float64)[:1].requires_grad_(True)
    bar = N_BARS - 3

    encoder(table)[0, bar].square().sum().backward()

    touched = table.grad[0].abs().amax(-1) > 0.0
    expected = torch.zeros(N_BARS, dtype=torch.bool)
    expected[max(0, bar - encoder.lookback_bars + 1) : bar + 1] = True
    assert torch.equal(touched, expected)


@torch.no_grad()
@pytest.mark.parametrize("preset", ["full", "small", "lstm", "mlp"])
def test_bfloat16_stays_near_float32(preset: str):
    generator = torch.Generator().manual_seed(3)
    encoder = build_encoder(ENCODER_PRESETS[preset], N_FEATURES, generator)
    table = history(torch.float32)

    exact = encoder(table)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = encoder(table)

    # Products of 8 bits of mantissa, through a few layers, of embeddings of unit scale.
    assert (rounded.float() - exact).abs().mean() < 0.02
    assert (rounded.float() - exact).abs().max() < 0.2
