"""From discrete to continuous heads: hidden layers bit for bit, preferences in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tradingbot.agents.migration import (
    REQUIRED_RANK_CORRELATION,
    MigrationProbe,
    MigrationProof,
    continuous_head,
    preferences,
    prove_migration,
    require_proof,
    scale_mean,
    signed_sizes,
)
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.market.params import ActionRules
from tradingbot.networks.distributions import SquashedGaussian
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

AGENTS, STATES, INPUTS = 3, 600, 10
RULES = ActionRules(space="discrete")
SIZES = signed_sizes(RULES)
FLAT = torch.tensor([True, True, True, True, False, False, False])
LONG = torch.tensor([True, False, False, False, True, True, True])


def make_head(
    pooling: str, *, gain: float = 1.0, hidden: tuple[int, ...] = (32, 16)
) -> StackedHead:
    config = HeadConfig(hidden=hidden, pooling=pooling, deviation_scale=0.2, output_gain=gain)
    return StackedHead(AGENTS, INPUTS, 7, config, torch.Generator().manual_seed(2))


def make_probe(seed: int, *, masked: bool = False) -> MigrationProbe:
    draws = torch.Generator().manual_seed(seed)
    inputs = torch.randn(AGENTS, STATES, INPUTS, generator=draws)
    allowed = torch.ones(AGENTS, STATES, 7, dtype=torch.bool)
    if masked:  # the first input tells whether anything is held
        allowed = torch.where(inputs[..., :1] > 0.0, LONG, FLAT)
    return MigrationProbe(inputs, allowed)


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
@pytest.mark.parametrize("hidden", [(32,), (32, 16)])
@pytest.mark.parametrize("masked", [False, True])
def test_hidden_layers_are_kept_and_preferences_followed(
    pooling: str, hidden: tuple[int, ...], masked: bool
) -> None:
    head = make_head(pooling, gain=0.4, hidden=hidden)

    made = continuous_head(head, make_probe(1, masked=masked), SIZES)
    proof = prove_migration(head, made, make_probe(2, masked=masked), RULES)

    assert proof.hidden_is_equal
    # Logits drawn at random are the worst case: what is allowed decides more than they do.
    assert proof.rank_correlation > (0.4 if masked else 0.9)
    if not masked:
        require_proof(proof)
    assert proof.lowest_rank_correlation > (0.3 if masked else 0.85)
    assert proof.states == AGENTS * STATES
    for ours, theirs in zip(
        [*made.weights[:-1], *made.biases[:-1]],
        [*head.weights[:-1], *head.biases[:-1]],
        strict=True,
    ):
        assert torch.equal(ours, theirs)
    if pooling == "partial":
        assert torch.equal(made.deviations, head.deviations)


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_factor_enlarges_the_mean_and_leaves_deviation_and_hidden_layers(pooling: str) -> None:
    fitted, inputs = continuous_head(make_head(pooling), make_probe(1), SIZES), make_probe(2).inputs
    before = {name: tensor.clone() for name, tensor in fitted.state_dict().items()}

    scaled = scale_mean(fitted, 8.0)

    (mean, raw), (larger, same) = (head(inputs).unbind(-1) for head in (fitted, scaled))
    torch.testing.assert_close(larger, 8.0 * mean)
    assert torch.equal(raw, same)
    assert torch.equal(fitted.features(inputs), scaled.features(inputs))
    assert all(torch.equal(before[name], t) for name, t in fitted.state_dict().items())


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_discrete_head_is_not_touched(pooling: str) -> None:
    head = make_head(pooling)
    before = {name: tensor.clone() for name, tensor in head.state_dict().items()}

    continuous_head(head, make_probe(1), SIZES)

    assert all(torch.equal(before[name], t) for name, t in head.state_dict().items())


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_without_states_it_is_the_first_order_expansion(pooling: str) -> None:
    head, probe = make_head(pooling, gain=0.3), make_probe(1)
    nothing = MigrationProbe(probe.inputs[:, :0], probe.allowed[:, :0])

    made = continuous_head(head, nothing, SIZES)

    with torch.no_grad():
        expected = head(probe.inputs) @ ((SIZES - SIZES.mean()) / 7)
        torch.testing.assert_close(made(probe.inputs)[..., 0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_undecided_agent_holds_and_explores_as_widely_as_before(pooling: str) -> None:
    head = make_head(pooling)
    with torch.no_grad():
        for parameter in (head.weights[-1], head.biases[-1]):
            parameter.zero_()
        if pooling == "partial":
            head.directions.zero_()

    made = continuous_head(head, make_probe(1, masked=True), SIZES)

    mean, raw = made(make_probe(2).inputs).unbind(-1)
    policy = SquashedGaussian.of(mean, raw, -1.0, 1.0)
    assert mean.abs().max() < 1e-5
    torch.testing.assert_close(policy.log_std.exp(), SIZES.std(correction=0).expand_as(mean))


@pytest.mark.parametrize(
    ("code", "mask", "sign"),
    [(3, FLAT, 1), (0, FLAT, -1), (5, LONG, -1), (0, LONG, 1), (6, LONG, 1), (4, LONG, -1)],
)
def test_preference_is_what_is_beyond_an_undecided_policy(code: int, mask, sign: int) -> None:
    head = make_head("pooled")
    with torch.no_grad():
        head.weights[-1].zero_()
        head.biases[-1].zero_()
        head.biases[-1][code] = 3.0
    probe = make_probe(1)._replace(allowed=mask.expand(AGENTS, STATES, 7))

    found = preferences(head, probe, SIZES)

    assert (torch.sign(found) == sign).all()


def test_sizes_are_those_of_the_rules() -> None:
    rules = ActionRules(entry_fracs=(0.1, 0.2, 0.3), sell_partial_frac=0.4, add_frac=0.05)

    assert signed_sizes(rules).tolist() == pytest.approx([0, 0.1, 0.2, 0.3, -0.4, -1.0, 0.05])


def test_head_that_is_continuous_already_is_refused() -> None:
    head = StackedHead(2, 4, 2, HeadConfig(), torch.Generator().manual_seed(1))
    probe = MigrationProbe(torch.zeros(2, 3, 4), torch.ones(2, 3, 7, dtype=torch.bool))

    with pytest.raises(ConfigError, match="must have 7 outputs"):
        continuous_head(head, probe, SIZES)


def test_proof_finds_changed_layers_and_lost_order() -> None:
    head, probe = make_head("pooled"), make_probe(1)
    made = continuous_head(head, probe, SIZES)
    good = prove_migration(head, made, make_probe(2), RULES)

    with torch.no_grad():
        made.weights[-1].neg_()
    with pytest.raises(DataError, match=f"must be {REQUIRED_RANK_CORRELATION} or more"):
        require_proof(prove_migration(head, made, make_probe(2), RULES))
    with torch.no_grad():
        made.weights[-1].neg_()
        made.weights[0].mul_(1.0 + 1e-6)
    with pytest.raises(DataError, match="bit for bit"):
        require_proof(prove_migration(head, made, make_probe(2), RULES))
    assert good.hidden_is_equal


def test_output_that_does_not_vary_proves_nothing() -> None:
    head, probe = make_head("pooled"), make_probe(1)
    made = continuous_head(head, probe, SIZES)
    with torch.no_grad():
        made.weights[-1].zero_()

    assert prove_migration(head, made, probe, RULES).rank_correlation == 0.0


def test_agent_that_is_nearly_undecided_may_migrate_where_its_actions_are_close() -> None:
    proof = MigrationProof(
        states=100,
        decided_frac=0.4,
        hidden_is_equal=True,
        rank_correlation=0.44,  # an agent at 1.2 of 1.95 nats was refused as too decided
        lowest_rank_correlation=0.3,
        same_side_frac=0.82,
        mean_gap=0.075,
    )

    require_proof(proof)
    for change in ({"mean_gap": 0.11}, {"same_side_frac": 0.7}):
        with pytest.raises(DataError, match=r"was 0\.440, .*One linear layer"):
            require_proof(replace(proof, **change))
