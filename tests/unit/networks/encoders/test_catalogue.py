"""Encoders by name."""

from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.encoders.catalogue import (
    ENCODER_PRESETS,
    EncoderConfig,
    build_encoder,
    encoder_preset,
)


@pytest.mark.parametrize("name", ENCODER_PRESETS)
def test_preset_builds_an_encoder_of_unit_scale(name: str, generator: torch.Generator):
    encoder = build_encoder(encoder_preset(name), 33, generator)
    table = torch.randn(4, 80, 33, generator=generator)

    embeddings = encoder(table)

    assert embeddings.shape == (4, 80, encoder.width)
    embeddings = embeddings[..., :33] if name == "skip" else embeddings  # the rest begins silent
    assert embeddings.mean().item() == pytest.approx(0.0, abs=0.05)
    assert embeddings.std().item() == pytest.approx(1.0, rel=0.05)
    # Bars differ: an encoder that says the same of all of them has unit scale too.
    assert embeddings.std(dim=(0, 1)).mean() > 0.3


@pytest.mark.parametrize("name", ENCODER_PRESETS)
def test_weights_depend_on_the_seed_and_not_on_the_global_generator(name: str):
    before = torch.get_rng_state()
    built = [
        build_encoder(ENCODER_PRESETS[name], 9, torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    ]
    first, again, other = (
        torch.cat([p.flatten() for p in e.parameters()] + [torch.zeros(0)]) for e in built
    )

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert name == "row" or not torch.equal(first, other)


def test_processors_have_presets_a_tenth_of_the_full_size(generator: torch.Generator):
    counts = {
        name: sum(p.numel() for p in build_encoder(config, 33, generator).parameters())
        for name, config in ENCODER_PRESETS.items()
    }

    assert counts["row"] == 0
    assert counts["tiny"] < counts["small"] < counts["full"] / 10


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "cnn"},
        {"n_layers": 0},
        {"width": 0},
        {"width": 30},
        {"n_heads": 0},
        {"lookback_bars": 0},
        {"lookback_bars": 1.5},
        {"feedforward_factor": 0},
        {"skip": True, "kind": "row"},
    ],
)
def test_encoder_that_cannot_be_is_refused_by_the_name_of_its_field(broken: dict[str, object]):
    with pytest.raises(ConfigError, match=next(iter(broken))):
        EncoderConfig(**broken)


def test_unknown_preset_is_refused_with_a_suggestion():
    with pytest.raises(ConfigError, match="Did you mean 'small'"):
        encoder_preset("smal")
