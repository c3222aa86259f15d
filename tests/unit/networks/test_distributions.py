"""Distributions of actions against torch.distributions and against integrals."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical, Normal, TransformedDistribution
from torch.distributions.transforms import AffineTransform, TanhTransform

from tradingbot.networks.distributions import LOG_STD_BOUNDS, MaskedCategorical, SquashedGaussian

A = 7


def logits(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return 3.0 * torch.randn(*shape, A, generator=generator, dtype=torch.float64)


def test_categorical_equals_torch_where_everything_is_allowed(generator: torch.Generator):
    given = logits(generator, 4, 5)
    ours = MaskedCategorical.of(given, torch.ones_like(given, dtype=torch.bool))
    theirs = Categorical(logits=given)
    code = theirs.sample()

    torch.testing.assert_close(ours.log_prob(code), theirs.log_prob(code))
    torch.testing.assert_close(ours.entropy(), theirs.entropy())
    assert torch.equal(ours.mode(), given.argmax(-1))


def test_masked_categorical_equals_torch_over_what_is_allowed(generator: torch.Generator):
    given = logits(generator)
    allowed = torch.tensor([True, False, True, True, False, False, True])
    ours = MaskedCategorical.of(given, allowed)
    theirs = Categorical(logits=given[allowed])

    torch.testing.assert_close(ours.entropy(), theirs.entropy())
    torch.testing.assert_close(ours.log_probs[allowed], theirs.logits)
    assert ours.log_probs.exp().sum().item() == pytest.approx(1.0, abs=1e-12)


def test_masked_codes_are_never_drawn_however_likely(generator: torch.Generator):
    given = torch.tensor([0.0, 50.0, 0.0, -3.0, 80.0, 0.0, 0.0]).expand(20_000, A)
    allowed = torch.tensor([True, False, True, True, False, True, False])
    ours = MaskedCategorical.of(given, allowed)

    drawn = ours.sample(generator)

    assert set(drawn.unique().tolist()) == {0, 2, 3, 5}
    assert bool(allowed[ours.mode()].all())


def test_only_code_allowed_is_always_drawn_with_certainty(generator: torch.Generator):
    allowed = torch.zeros(1000, A, dtype=torch.bool)
    allowed[:, 3] = True
    ours = MaskedCategorical.of(logits(generator, 1000), allowed)

    assert torch.equal(ours.sample(generator), torch.full((1000,), 3))
    assert ours.entropy().abs().max() == 0.0
    assert ours.log_prob(torch.full((1000,), 3)).abs().max() == 0.0


def test_categorical_samples_follow_their_probabilities(generator: torch.Generator):
    given = torch.tensor([2.0, 1.0, 0.0, -1.0, 0.5, -4.0, 1.5])
    ours = MaskedCategorical.of(given.expand(200_000, A), torch.ones(A, dtype=torch.bool))

    shares = torch.bincount(ours.sample(generator), minlength=A) / 200_000

    torch.testing.assert_close(shares, torch.softmax(given, -1), rtol=0.0, atol=5e-3)


def test_spread_is_one_for_uniform_and_zero_for_certain():
    uniform = MaskedCategorical.of(torch.zeros(A), torch.ones(A, dtype=torch.bool))
    certain = MaskedCategorical.of(torch.eye(A)[0] * 1e4, torch.ones(A, dtype=torch.bool))

    assert uniform.entropy().item() == pytest.approx(math.log(uniform.log_probs.shape[-1]))
    assert certain.entropy().item() == pytest.approx(0.0)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4, 1e8])
def test_categorical_gradients_are_finite_at_extremes(scale: float, generator: torch.Generator):
    given = (scale * torch.randn(64, A, generator=generator)).requires_grad_(True)
    allowed = torch.rand(64, A, generator=generator) > 0.5
    allowed[:, 0] = True
    ours = MaskedCategorical.of(given, allowed)

    (ours.log_prob(torch.zeros(64, dtype=torch.int64)) + ours.entropy()).sum().backward()

    assert torch.isfinite(given.grad).all()
    assert torch.count_nonzero(given.grad[~allowed]) == 0


def gaussian(mean: float, log_std: float) -> SquashedGaussian:
    made = torch.tensor([mean, log_std], dtype=torch.float64)
    return SquashedGaussian(made[0], made[1], -0.5, 2.0)


@pytest.mark.parametrize("mean", [-1.5, 0.0, 0.7])
@pytest.mark.parametrize("log_std", [-2.0, 0.0, 0.5])
def test_squashed_density_equals_torch(mean: float, log_std: float):
    ours = gaussian(mean, log_std)
    theirs = TransformedDistribution(
        Normal(ours.mean, ours.log_std.exp()),
        [TanhTransform(), AffineTransform(0.75, 1.25)],
    )
    unsquashed = torch.linspace(-3.0, 3.0, 41, dtype=torch.float64)

    found = ours.log_prob(unsquashed)

    torch.testing.assert_close(
        found, theirs.log_prob(ours.squash(unsquashed)), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("mean", [-1.5, 0.0, 0.7])
@pytest.mark.parametrize("log_std", [-2.0, 0.0, 0.5])
def test_squashed_density_integrates_to_one_and_entropy_agrees(mean: float, log_std: float):
    ours = gaussian(mean, log_std)
    unsquashed = torch.linspace(mean - 14.0, mean + 14.0, 400_001, dtype=torch.float64)
    action, log_prob = ours.squash(unsquashed), ours.log_prob(unsquashed)

    total = torch.trapezoid(log_prob.exp(), action)
    entropy = torch.trapezoid(-log_prob * log_prob.exp(), action)
    drawn = ours._replace(
        mean=ours.mean.expand(400_000), log_std=ours.log_std.expand(400_000)
    ).sample(torch.Generator().manual_seed(0))

    assert total.item() == pytest.approx(1.0, abs=1e-5)
    assert -ours.log_prob(drawn).mean().item() == pytest.approx(entropy.item(), abs=0.01)


def test_squashed_actions_stay_within_their_range(generator: torch.Generator):
    ours = SquashedGaussian.of(torch.linspace(-50, 50, 999), torch.full((999,), 9.0), -0.5, 2.0)

    action = ours.squash(ours.sample(generator))

    assert action.min() >= -0.5
    assert action.max() <= 2.0
    assert ours.mode()[499].item() == pytest.approx(0.75)


def test_deviation_is_bounded_smoothly_and_has_gradients():
    raw = torch.tensor([-100.0, 0.0, 100.0], requires_grad=True)
    bounded = SquashedGaussian.of(torch.zeros(3), raw, -1.0, 1.0).log_std

    bounded.sum().backward()

    lowest, highest = LOG_STD_BOUNDS
    assert bounded.tolist() == pytest.approx([lowest, 0.5 * (lowest + highest), highest])
    assert raw.grad[1] > 1.0


@pytest.mark.parametrize("mean", [-1e4, -30.0, 30.0, 1e4])
@pytest.mark.parametrize("log_std", [-100.0, 100.0])
def test_gaussian_gradients_are_finite_at_extremes(mean: float, log_std: float):
    at = torch.tensor([mean, log_std], requires_grad=True)
    ours = SquashedGaussian.of(at[:1], at[1:], -1.0, 1.0)
    drawn = ours.sample(torch.Generator().manual_seed(1))

    (ours.log_prob(drawn) + ours.squash(drawn)).sum().backward()

    assert torch.isfinite(ours.log_prob(drawn)).all()
    assert torch.isfinite(at.grad).all()


def test_samples_repeat_with_their_generator():
    ours = SquashedGaussian(torch.zeros(9), torch.zeros(9), -1.0, 1.0)
    drawn = [ours.sample(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]

    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
