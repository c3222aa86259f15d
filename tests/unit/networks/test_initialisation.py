"""Weights begin with the scale that their sources promise."""

from __future__ import annotations

import pytest
import torch

from tradingbot.networks.initialisation import draw_weight, drawn_linear


@pytest.mark.parametrize(("n_inputs", "n_outputs"), [(256, 128), (128, 256), (64, 64)])
@pytest.mark.parametrize("gain", [1.0, 0.1, 2.0**0.5])
def test_orthogonal_weight_has_singular_values_equal_to_the_gain(
    n_inputs: int, n_outputs: int, gain: float, generator: torch.Generator
):
    weight = draw_weight("orthogonal", n_inputs, n_outputs, generator, gain)

    singular = torch.linalg.svdvals(weight)

    assert weight.shape == (n_inputs, n_outputs)
    torch.testing.assert_close(singular, torch.full_like(singular, gain), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_xavier_weight_is_uniform_with_the_stated_variance(gain: float, generator: torch.Generator):
    weight = draw_weight("xavier", 300, 700, generator, gain)

    bound = gain * (6.0 / 1000.0) ** 0.5
    assert weight.var().item() == pytest.approx(2.0 * gain**2 / 1000.0, rel=0.02)
    assert 0.99 * bound < weight.abs().max() <= bound


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_he_weight_is_normal_with_the_stated_variance(gain: float, generator: torch.Generator):
    weight = draw_weight("he", 300, 700, generator, gain)

    scaled = weight / weight.std()
    assert weight.var().item() == pytest.approx(2.0 * gain**2 / 300.0, rel=0.02)
    assert scaled.pow(4).mean().item() == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("kind", ["orthogonal", "xavier", "he"])
def test_weights_depend_on_the_generator_and_on_nothing_else(kind: str):
    drawn = [draw_weight(kind, 9, 5, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]

    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_linear_layer_leaves_the_global_generator_alone(generator: torch.Generator):
    before = torch.get_rng_state()

    drawn_linear(8, 16, generator)

    assert torch.equal(torch.get_rng_state(), before)


def test_linear_layer_draws_blocks_each_for_itself(generator: torch.Generator):
    layer = drawn_linear(64, 128, generator, kind="orthogonal", blocks=2)

    for block in layer.weight.chunk(2):
        singular = torch.linalg.svdvals(block)
        torch.testing.assert_close(singular, torch.ones(64), rtol=1e-4, atol=1e-5)
    assert torch.count_nonzero(layer.bias) == 0
