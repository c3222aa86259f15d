"""Densities of vectors are densities: they integrate to 1, and follow the change of variables."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.distributions import (
    SimplexGaussian,
    SquashedGaussian,
    VectorGaussian,
    round_weights,
    to_simplex,
)


def simplex(k: int, seed: int = 1) -> SimplexGaussian:
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(k - 1, generator=generator, dtype=torch.float64)
    return SimplexGaussian(mean, torch.full((k - 1,), -0.3, dtype=torch.float64))


def test_density_on_a_simplex_integrates_to_one() -> None:
    policy, n = simplex(3), 400
    place = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    first, second = torch.meshgrid(place, place, indexing="ij")
    inside = first + second < 1.0 - 1e-9
    third = torch.where(inside, 1.0 - first - second, 0.5)
    unsquashed = torch.stack([(first / third).log(), (second / third).log()], dim=-1)
    density = torch.where(inside, policy.log_prob(unsquashed).exp(), 0.0)
    assert float(density.sum()) / n**2 == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_density_on_a_simplex_follows_the_change_of_variables(k: int) -> None:
    policy = simplex(k)
    drawn = torch.linspace(-1.0, 1.0, k - 1, dtype=torch.float64)

    def first_weights(unsquashed: Tensor) -> Tensor:
        return to_simplex(unsquashed)[:-1]  # the others determine the last

    jacobian = torch.autograd.functional.jacobian(first_weights, drawn)
    normal = torch.distributions.Normal(policy.mean, policy.log_std.exp())
    expected = normal.log_prob(drawn).sum() - torch.linalg.slogdet(jacobian).logabsdet
    torch.testing.assert_close(policy.log_prob(drawn), expected)


@pytest.mark.parametrize("kind", ["simplex", "box"])
def test_entropy_is_the_mean_surprise_and_has_the_gradient_of_it(kind: str) -> None:
    n, k = 40_000, 3
    mean = torch.tensor([0.4, -0.2, 0.7])[: k - (kind == "simplex")].requires_grad_()
    log_std = torch.full_like(mean, -0.5)

    def policy() -> SimplexGaussian | VectorGaussian:
        many = mean.expand(n, -1)
        if kind == "simplex":
            return SimplexGaussian(many, log_std.expand(n, -1))
        return VectorGaussian(many, log_std.expand(n, -1), -1.0, 2.0)

    estimate = policy().entropy(torch.Generator().manual_seed(1)).mean()
    drawn = policy().sample(torch.Generator().manual_seed(2))
    surprise = -policy().log_prob(drawn).mean()

    torch.testing.assert_close(estimate, surprise, atol=0.02, rtol=0.0)
    own, other = (torch.autograd.grad(x, mean)[0] for x in (estimate, surprise))
    torch.testing.assert_close(own, other, atol=0.03, rtol=0.0)


def test_flat_spread_on_a_simplex_is_the_entropy_of_its_volume() -> None:
    # Weights of K exponential draws are uniform on the simplex, of volume 1 ÷ (K − 1)!.
    generator = torch.Generator().manual_seed(1)
    exponential = -torch.rand(20_000, 4, generator=generator, dtype=torch.float64).log()
    uniform = exponential / exponential.sum(-1, keepdim=True)
    assert float(uniform.mean()) == pytest.approx(0.25)
    wide = SimplexGaussian(torch.zeros(50_000, 3), torch.full((50_000, 3), 0.5))
    assert float(wide.entropy(generator).mean()) < -math.lgamma(4)  # nothing beats uniform


def test_weights_sum_to_one_and_the_mode_is_that_of_the_mean() -> None:
    policy = simplex(4)
    many = SimplexGaussian(policy.mean.expand(100, -1), policy.log_std.expand(100, -1))
    weights = many.squash(many.sample(torch.Generator().manual_seed(3)))
    assert weights.shape == (100, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(100, dtype=torch.float64))
    assert float(weights.min()) > 0.0
    torch.testing.assert_close(policy.mode(), to_simplex(policy.mean))
    squash = Squash("softmax", 1.0, 0.0, 1.0)
    torch.testing.assert_close(squash(policy.mean), policy.mode())


def test_vector_of_a_box_is_the_product_of_its_components() -> None:
    each = SquashedGaussian(torch.randn(5, 3), torch.full((5, 3), -0.2), -1.0, 1.0)
    drawn = torch.randn(5, 3)
    vector = VectorGaussian(*each)
    single = [
        SquashedGaussian(each.mean[:, k], each.log_std[:, k], -1.0, 1.0).log_prob(drawn[:, k])
        for k in range(3)
    ]
    torch.testing.assert_close(vector.log_prob(drawn), torch.stack(single).sum(0))
    assert torch.equal(vector.mode(), each.mode())


@given(
    parts=st.lists(st.floats(0.0, 1.0, width=32), min_size=2, max_size=6),
    levels=st.integers(2, 12),
)
def test_rounded_weights_are_levels_near_the_weights_and_sum_to_one(
    parts: list[float], levels: int
) -> None:
    weights = torch.softmax(3.0 * torch.tensor(parts, dtype=torch.float64), dim=-1)
    rounded = round_weights(weights, levels)
    units = rounded * (levels - 1)
    torch.testing.assert_close(units, units.round())
    assert float(units.round().sum()) == levels - 1
    assert float((rounded - weights).abs().max()) < 1.0 / (levels - 1)
    assert torch.equal(round_weights(weights, 0), weights)
