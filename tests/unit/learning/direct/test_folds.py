"""Deviations in two folds: what repeats is kept, luck is not; what moves which weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.learning.direct.folds import FoldedDeviations, pool_folds
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

N, K = 60, 4


def generator(seed: int = 0) -> torch.Generator:
    """Return a stream."""
    return torch.Generator().manual_seed(seed)


def folds_of(truth: Tensor, error: float, seed: int = 0) -> Tensor:
    """Return two noisy measurements (2, N, K) of the truth (N, K)."""
    noise = torch.randn(2, *truth.shape, generator=generator(seed), dtype=torch.float64)
    return truth + error * noise


def test_folds_that_agree_are_kept_and_folds_that_do_not_become_the_mean() -> None:
    z = torch.randn(N, K, generator=generator(), dtype=torch.float64)

    halves, whole = pool_folds(torch.stack([z, z]))
    torch.testing.assert_close(whole, z)
    torch.testing.assert_close(halves, torch.stack([z, z]))

    halves, whole = pool_folds(torch.stack([z, 2.0 * z.mean(0) - z]))  # opposite around the mean
    torch.testing.assert_close(whole, z.mean(0).expand(N, K))
    torch.testing.assert_close(halves, z.mean(0).expand(2, N, K))


def test_agents_are_let_differ_along_the_one_direction_in_which_they_do() -> None:
    oblique = torch.tensor([0.5, -0.5, 0.5, 0.5], dtype=torch.float64)
    strength = torch.randn(400, generator=generator(1), dtype=torch.float64)
    truth = 0.3 + strength[:, None] * oblique
    z = folds_of(truth, error=1.0)

    halves, whole = pool_folds(z)

    along = (whole - whole.mean(0)) @ oblique
    across = (whole - whole.mean(0)) - along[:, None] * oblique
    # ρ is 1 ÷ (1 + 1) along, of both folds together 2/3; across all is luck.
    assert float(along.var() / ((z.mean(0) @ oblique).var())) == pytest.approx(4 / 9, abs=0.12)
    assert float(across.square().sum(1).mean()) < 0.1 * float(z.mean(0).var(0).sum())
    assert (whole - truth).square().mean() < 0.35 * (z.mean(0) - truth).square().mean()
    assert (halves[0] - truth).square().mean() < 0.35 * (z[0] - truth).square().mean()


def test_pooling_does_not_depend_on_how_directions_are_written() -> None:
    z = folds_of(torch.randn(N, K, generator=generator(3), dtype=torch.float64), error=0.7)
    turn = torch.randn(K, K, generator=generator(4), dtype=torch.float64)

    plain, turned = pool_folds(z), pool_folds(z @ turn)

    for ours, theirs in zip(plain, turned, strict=True):
        torch.testing.assert_close(ours @ turn, theirs)


def test_few_agents_and_agents_all_alike_are_left_as_they_are() -> None:
    for z in (torch.randn(2, 2, K, generator=generator()).double(), torch.ones(2, N, K).double()):
        halves, whole = pool_folds(z)
        torch.testing.assert_close(halves, z)
        torch.testing.assert_close(whole, z.mean(0))


def head(n_agents: int = 5, n_inputs: int = 6) -> StackedHead:
    """Return a small partially pooled head."""
    return StackedHead(n_agents, n_inputs, 1, HeadConfig(hidden=(8,)), generator(7))


def test_lanes_that_fit_move_their_fold_and_lanes_that_test_move_what_is_shared() -> None:
    actor = head()
    folds = FoldedDeviations(actor, n_envs=2, fold_bars=10, generator=generator())
    folds.begin_update(actor, updates=0)
    assert folds.is_fitting.tolist() == [True, False]
    x = torch.randn(5, 2, 6, generator=generator(1))
    even, odd = torch.full((5, 2), 29), torch.full((5, 2), 30)
    for bar, own in ((even, 0), (odd, 1)):
        output = folds.output(actor, x, bar)
        shared = (actor.directions, actor.weights[0], actor.biases[-1])
        by_fit, *others = torch.autograd.grad(
            output[:, 0].sum(), (folds.z, *shared), retain_graph=True, materialize_grads=True
        )
        assert (by_fit[own] != 0.0).all()
        assert not by_fit[1 - own].any()
        assert not any(moved.any() for moved in others)
        by_test, *others = torch.autograd.grad(
            output[:, 1].sum(), (folds.z, *shared), materialize_grads=True
        )
        assert not by_test.any()
        assert all(moved.any() for moved in others)
        # Both are outputs of the head with those deviations: of the fold, and of the other pooled.
        for lane, z, softness in ((0, folds.z[own], 0.25), (1, folds.pooled[1 - own], 1.0)):
            with torch.no_grad():
                actor.deviations.copy_(z)
                torch.testing.assert_close(output[:, lane], softness * actor(x)[:, lane])
    folds.begin_update(actor, updates=1)
    assert folds.is_fitting.tolist() == [False, True]


@pytest.mark.parametrize("agents_differ", [True, False])
def test_what_agents_learn_of_noisy_bars_holds_on_others(agents_differ: bool) -> None:
    """One of twelve columns pays, by agent or for all: fitted to 240 bars, tested on others."""
    n_agents, n_columns, n_bars, fold_bars = 40, 12, 240, 20
    draw = generator(11)
    x = torch.randn(n_agents, n_bars + 500, n_columns, generator=draw)
    differ = torch.randn(n_agents, 1, generator=draw) if agents_differ else 0.0
    paid = 0.2 * (0.5 + differ) * x[..., 0]
    earned = paid + torch.randn(x.shape[:2], generator=draw)
    bar = torch.arange(n_bars)
    found = {}
    for is_folded in (True, False):
        actor = StackedHead(n_agents, n_columns, 1, HeadConfig(hidden=(16,)), generator(2))
        folds = FoldedDeviations(actor, n_bars, fold_bars, generator(3))
        own = folds.z if is_folded else actor.deviations
        shared = [p for name, p in actor.named_parameters() if name != "deviations"]
        groups = [{"params": shared}, {"params": [own], "lr": 3e-2}]
        optimiser = torch.optim.Adam(groups, lr=1e-2)
        for update in range(80):
            if is_folded:
                folds.begin_update(actor, update)
            seen = x[:, :n_bars]
            output = (
                folds.output(actor, seen, bar.expand(n_agents, -1)) if is_folded else actor(seen)
            )
            loss = -(torch.tanh(output[..., 0]) * earned[:, :n_bars]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if is_folded:
                folds.end_update(actor)
        with torch.no_grad():
            found[is_folded] = float(
                (torch.tanh(actor(x[:, n_bars:])[..., 0]) * paid[:, n_bars:]).mean()
            )
    best = float(paid[:, n_bars:].abs().mean())
    assert found[True] > 0.7 * best
    assert found[True] > found[False] + 0.05 * best
