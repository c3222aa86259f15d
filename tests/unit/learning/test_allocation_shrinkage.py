"""A master that is not sure keeps its sleeves in equal weight, and does not go to cash for it."""

from __future__ import annotations

import math
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from tradingbot.learning.allocation_shrinkage import (
    EQUAL_CASH_FRAC,
    _of_each,
    decide_allocation,
    keep_allocation,
    towards_equal_weight,
)
from tradingbot.learning.shrinkage import FORMS, Earned, Shrinkage, ShrinkageConfig
from tradingbot.networks.distributions import to_simplex
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.set_head import SetHead

N, INPUTS, GAIN = 3, 13, 2.0
SEEN = torch.randn(1, 7, INPUTS, generator=torch.Generator().manual_seed(3))
EQUAL = torch.tensor([(1.0 - EQUAL_CASH_FRAC) / N] * N + [EQUAL_CASH_FRAC])
BP = 1e-4


def head(n_outputs: int = 1, *, pooled: bool = False) -> SetHead:
    """Return a head over three sleeves whose answers are far from equal."""
    config, generator = HeadConfig(hidden=(6,), output_gain=3.0), torch.Generator().manual_seed(0)
    inputs = MemberInputs.beside(N, width=2, shared=1, own=1)
    return SetHead(inputs, INPUTS, n_outputs, config, generator, pooled=pooled)


def learner(actor: SetHead, critic: SetHead | None = None) -> Any:
    """Return what has networks, a task of one agent and the gain of its squash."""
    networks = {"actor": actor} | ({} if critic is None else {"critic": critic})
    return SimpleNamespace(
        networks=lambda: networks,
        task=SimpleNamespace(agent_names=("portfolio",)),
        act=lambda _: weights(actor),
        config=SimpleNamespace(squash_gain=GAIN),
    )


@torch.no_grad()
def weights(actor: SetHead) -> Tensor:
    """Return the weights of the sleeves and of cash (1, 7, 4) that a head gives to `SEEN`."""
    return to_simplex(GAIN * actor(SEEN)[..., :N])


def earned(mean_bp: float, error_bp: float) -> Tensor:
    """Return returns (S, 1) with this mean and standard error, of twenty blocks."""
    blocks = torch.linspace(-1.0, 1.0, 20).double()
    unit = blocks / (blocks.std() / math.sqrt(len(blocks)))
    return BP * (mean_bp + error_bp * unit).repeat_interleave(24)[:, None]


def decided(shared: Tensor, half: Tensor, full: Tensor) -> Shrinkage:
    play = iter([Earned(each, each) for each in (shared, half, full)])
    return decide_allocation(learner(head()), lambda _: next(play), ShrinkageConfig())


def test_without_what_was_learned_it_is_equal_weight_with_a_little_cash() -> None:
    actor = head()
    before, bits = weights(actor), {k: v.clone() for k, v in actor.state_dict().items()}
    assert float((before - EQUAL).abs().max()) > 0.05

    with towards_equal_weight(learner(actor), 0.0):
        torch.testing.assert_close(weights(actor), EQUAL.expand(1, 7, -1))

    assert all(torch.equal(bits[name], tensor) for name, tensor in actor.state_dict().items())
    with pytest.raises(RuntimeError, match="way"), towards_equal_weight(learner(actor), 0.0):
        raise RuntimeError("on the way")
    assert torch.equal(weights(actor), before)


def test_half_way_is_the_geometric_mean_of_both() -> None:
    actor = head()
    between = (weights(actor) * EQUAL).sqrt()

    with towards_equal_weight(learner(actor), 0.5):
        torch.testing.assert_close(weights(actor), between / between.sum(-1, keepdim=True))


def test_what_it_explores_by_and_its_critic_stay() -> None:
    actor, critic = head(n_outputs=2), head(pooled=True)
    explored, worth = actor(SEEN)[..., N:].detach(), critic(SEEN).detach()

    with towards_equal_weight(learner(actor, critic), 0.0):
        torch.testing.assert_close(weights(actor), EQUAL.expand(1, 7, -1))
        assert torch.equal(actor(SEEN)[..., N:], explored)
        assert torch.equal(critic(SEEN), worth)


@pytest.mark.parametrize(
    ("shared", "half", "full", "form"),
    [
        ((0.8, 0.2), (1.7, 0.9), (2.7, 1.5), "shared"),  # only equal weight is sure
        ((0.8, 0.2), (1.7, 0.6), (2.7, 1.5), "half"),
        ((0.8, 0.2), (1.7, 0.6), (9.0, 1.5), "full"),
        ((2.0, 0.2), (1.7, 0.6), (1.5, 0.6), "shared"),  # what was learned costs
        ((0.3, 0.2), (0.7, 0.6), (2.7, 1.5), "flat"),
    ],
)
def test_of_the_forms_that_are_sure_the_one_that_earns_most_is_kept(
    shared: tuple[float, float], half: tuple[float, float], full: tuple[float, float], form: str
) -> None:
    found = decided(earned(*shared), earned(*half), earned(*full))

    assert found.default == form
    assert bool(found.trades) == (form != "flat")
    assert float(found.scale) == FORMS.get(form, 0.0)
    assert [*found.gain] == [*found.error] == [*found.net] == [*FORMS]


def test_what_was_decided_stays_and_says_what_it_is() -> None:
    found, actor = decided(earned(0.8, 0.2), earned(1.7, 0.9), earned(2.7, 1.5)), head()
    keep_allocation(learner(actor), found)

    torch.testing.assert_close(weights(actor), EQUAL.expand(1, 7, -1))
    assert found.words.startswith("the agent trades, in equal weight of all sleeves, with 1 % in c")
    out = decided(earned(0.1, 0.2), earned(0.2, 0.6), earned(0.3, 1.5))
    assert "stays out: at best (as learned)" in out.words


def test_each_of_three_tries_must_be_surer_than_one() -> None:
    one, each = 0.02275, 1.0 - NormalDist().cdf(_of_each(2.0, 3))

    assert _of_each(2.0, 3) == pytest.approx(2.428, abs=1e-3)
    assert 3 * each == pytest.approx(one, rel=1e-3)
    assert _of_each(2.0, 1) == pytest.approx(2.0)
    assert _of_each(10.0, 3) > 10.0  # far out the upper tail has no digits left
    assert _of_each(50.0, 3) == 50.0
