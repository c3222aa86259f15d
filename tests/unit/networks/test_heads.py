"""Heads of many agents at once: three poolings and what each of them promises."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.heads import StackedHead

N, B, N_IN, N_OUT, H, K = 5, 7, 6, 3, 8, 4


def head(pooling: Pooling, **changed: object) -> StackedHead:
    config = HeadConfig(hidden=(H, H), pooling=pooling, n_directions=K, **changed)
    return StackedHead(N, N_IN, N_OUT, config, torch.Generator().manual_seed(2))


def inputs() -> Tensor:
    return torch.randn(N, B, N_IN, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_outputs_have_the_agent_axis_first(pooling: Pooling):
    assert head(pooling)(inputs()).shape == (N, B, N_OUT)


def test_pooled_agents_that_see_the_same_answer_the_same():
    same = inputs()[:1].expand(N, B, N_IN)

    outputs = head("pooled")(same)

    assert torch.equal(outputs, outputs[:1].expand_as(outputs))


@pytest.mark.parametrize("pooling", ["partial", "independent"])
def test_other_agents_that_see_the_same_answer_differently(pooling: Pooling):
    same = inputs()[:1].expand(N, B, N_IN)

    outputs = head(pooling)(same)

    assert (outputs[0] - outputs[1]).abs().max() > 1e-4


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_independent_heads_equal_a_loop_over_single_heads(activation: str):
    stacked, x = head("independent", activation=activation), inputs()
    wanted = torch.randn(N, B, N_OUT, generator=torch.Generator().manual_seed(4))

    (stacked(x) * wanted).sum().backward()

    for agent in range(N):
        config = HeadConfig(hidden=(H, H), pooling="independent", activation=activation)
        single = StackedHead(1, N_IN, N_OUT, config, torch.Generator())
        with torch.no_grad():
            for mine, all_of_them in zip(single.parameters(), stacked.parameters(), strict=True):
                mine.copy_(all_of_them[agent : agent + 1])
        output = single(x[agent : agent + 1])
        (output * wanted[agent : agent + 1]).sum().backward()
        torch.testing.assert_close(output[0], stacked(x)[agent])
        for mine, all_of_them in zip(single.parameters(), stacked.parameters(), strict=True):
            torch.testing.assert_close(mine.grad[0], all_of_them.grad[agent])


def test_independent_heads_begin_different_and_orthogonal_each():
    weight = head("independent").weights[1]

    for own in weight:
        singular = torch.linalg.svdvals(own)
        torch.testing.assert_close(singular, torch.full_like(singular, 2.0**0.5))
    assert not torch.equal(weight[0], weight[1])


def test_independent_agent_moves_none_of_the_others():
    stacked = head("independent")

    stacked(inputs())[2].sum().backward()

    for parameter in stacked.parameters():
        moved = parameter.grad.flatten(1).abs().amax(-1) > 0.0
        assert moved.nonzero().flatten().tolist() == [2]


def test_partially_pooled_head_without_deviation_equals_the_pooled_one():
    partial, pooled = head("partial"), head("pooled")
    with torch.no_grad():
        partial.deviations.zero_()
        for name, parameter in pooled.named_parameters():
            parameter.copy_(partial.get_parameter(name))

    torch.testing.assert_close(partial(inputs()), pooled(inputs()), rtol=0.0, atol=0.0)


def test_partially_pooled_agents_can_begin_to_differ():
    partial = head("partial")
    with torch.no_grad():
        partial.deviations.zero_()

    partial(inputs())[1].sum().backward()

    moved = partial.deviations.grad.abs().amax(-1) > 0.0
    assert moved.tolist() == [False, True, False, False, False]


def test_partial_output_follows_its_formula():
    partial, x = head("partial"), inputs()

    hidden = partial.features(x)
    shared = hidden @ partial.weights[-1] + partial.biases[-1]
    directions = partial.directions.view(H, K, N_OUT)
    mixed = sum(
        partial.deviations[:, k, None, None] * (hidden @ directions[:, k]) for k in range(K)
    )

    torch.testing.assert_close(partial(x), shared + mixed)
    torch.testing.assert_close(partial.deviation(x), mixed)


@pytest.mark.parametrize("pooling", ["pooled", "independent"])
def test_heads_that_are_not_partial_have_no_deviation_and_no_penalty(pooling: Pooling):
    stacked = head(pooling)

    assert torch.count_nonzero(stacked.deviation(inputs())) == 0
    assert stacked.deviation(inputs()).shape == (N, B, N_OUT)
    assert torch.equal(stacked.penalty(), torch.zeros(N))


def test_penalty_is_the_squared_length_of_each_agents_deviation():
    partial = head("partial")
    with torch.no_grad():
        partial.deviations.copy_(torch.arange(N)[:, None].expand(N, K))

    assert partial.penalty().tolist() == [K * n * n for n in range(N)]


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_own_names_are_exactly_the_parameters_with_an_agent_axis(pooling: Pooling):
    stacked = head(pooling)

    # N differs from every other size, so that a first axis of N is the agents'.
    leading = {name for name, p in stacked.named_parameters() if p.dim() > 1 and p.shape[0] == N}

    assert set(stacked.own_names) == leading
    assert bool(leading) == (pooling != "pooled")


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_policies_begin_undecided(pooling: Pooling):
    config = HeadConfig(pooling=pooling)
    stacked = StackedHead(64, 256, 7, config, torch.Generator().manual_seed(0))
    x = torch.randn(64, 32, 256, generator=torch.Generator().manual_seed(1))

    logits = stacked(x)

    probabilities = torch.softmax(logits, dim=-1)
    entropy = -(probabilities * probabilities.log()).sum(-1)
    assert entropy.mean() / torch.tensor(7.0).log() > 0.9


@pytest.mark.parametrize(
    "broken",
    [
        {"hidden": ()},
        {"hidden": (0,)},
        {"activation": "sigmoid"},
        {"pooling": "some"},
        {"n_directions": 0},
        {"deviation_scale": 0.0},
        {"output_gain": 0.0},
        {"n_directions": 2.5},
    ],
)
def test_head_that_cannot_be_is_refused_by_the_name_of_its_field(broken: dict[str, object]):
    with pytest.raises(ConfigError, match=next(iter(broken))):
        HeadConfig(**broken)
