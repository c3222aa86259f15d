from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import EncoderView, TableView

HEAD = HeadConfig(hidden=(8,))
SMALL = PPOConfig(
    actor=HEAD,
    critic=HEAD,
    rollout_steps=16,
    n_epochs=2,
    minibatch=16,
    learning_rate=constant(1e-2),
    segment_bars=8,
    kl_stop=0.0,
)


def pooled(kind: str) -> PPOConfig:
    return replace(
        SMALL, actor=HeadConfig((8,), pooling=kind), critic=HeadConfig((8,), pooling=kind)
    )


def learner(config: PPOConfig = SMALL, seed: int = 1, encoder: bool = False, **task) -> PPO:
    made = SignalTask(3, 4, **task)
    view = TableView(made.table)
    if encoder:
        built = build_encoder(ENCODER_PRESETS["tiny"], 3, make_generator(1))
        view = EncoderView(built, made.table)
    return PPO(made, view, config, seed=seed)


def same(first: dict, second: dict) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def weights(ppo: PPO) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in ppo.network.parameters()])


@pytest.mark.parametrize("kind", ["box", "discrete"])
@pytest.mark.parametrize("encoder", [False, True], ids=["table", "encoder"])
def test_resumed_learner_ends_with_the_same_bits(kind: str, encoder: bool) -> None:
    whole, resumed = (learner(kind=kind, encoder=encoder, seed=s) for s in (1, 2))
    whole.update()
    whole.set_entropy_scale(torch.tensor([1.0, 2.0, 3.0]))
    whole.set_learning_rate_scale(0.5)
    state = whole.state()
    whole.update()
    expected = whole.update()

    resumed.load_state(state)
    resumed.update()
    got = resumed.update()

    assert same(whole.state(), resumed.state())
    assert same(expected.metrics, got.metrics)
    assert all(map(torch.equal, expected.experience, got.experience))
    assert (resumed.updates, resumed.steps) == (3, 3 * 16 * 4)


def test_same_seed_gives_the_same_bits_and_another_seed_does_not() -> None:
    first, again, other = learner(), learner(), learner(seed=2)
    for ppo in (first, again, other):
        ppo.update()

    assert same(first.state(), again.state())
    assert not torch.equal(weights(first), weights(other))


def test_state_of_another_configuration_is_refused() -> None:
    state = learner(pooled("pooled")).state()

    with pytest.raises(ConfigError, match="must have the tensor 'heads/"):
        learner().load_state(state)


def test_learner_reports_what_documentation_explains() -> None:
    ppo: Learner = learner()

    made = ppo.update()

    per_agent = {name for name, figure in made.metrics.items() if figure.shape == (3,)}
    assert per_agent >= {
        *(
            "policy/normalised_entropy",
            "policy/kl",
            "policy/clip_share",
            "policy/entropy",
            "grad/norm",
        ),
        *("value/explained_variance", "loss/policy", "loss/value", "rollout/reward"),
        *("policy/update_share", "policy/entropy_weight", "policy/entropy_boost"),
    }
    assert all(torch.isfinite(figure).all() for figure in made.metrics.values())
    assert made.experience.selected.shape == (16, 3, 4)
    assert made.experience.terms.shape == (2, 3, 4)
    assert ppo.networks().keys() == {"heads"}


def test_forbidden_codes_are_never_chosen() -> None:
    ppo = learner(kind="discrete")
    for _ in range(3):
        ppo.update()
        rollout = ppo._rollout
        chosen = rollout.allowed.gather(-1, rollout.action[..., None])
        assert chosen.all()
    # Only the second code is left.
    _, seen = ppo.task.begin()
    only = torch.zeros_like(seen.allowed)
    only[..., 1] = True
    for choose in (ppo.act, ppo.sample):
        assert (choose(seen._replace(allowed=only)) == 1).all()


def test_independent_agents_learn_the_same_alone_and_together() -> None:
    """An agent's update depends on nobody else where nothing is shared: halve one's rewards."""
    first, second = learner(pooled("independent")), learner(pooled("independent"))
    second.task.next_return[2] *= -1.0
    for ppo in (first, second):
        ppo.update()

    mine, other = (dict(p.network.named_parameters()) for p in (first, second))
    assert all(torch.equal(mine[name][:2], other[name][:2]) for name in mine)
    assert not torch.equal(mine["actor.weights.0"][2], other["actor.weights.0"][2])


@pytest.mark.parametrize("kind", ["independent", "pooled"])
def test_agents_past_the_divergence_limit_stop_where_they_are(kind: str) -> None:
    eager = replace(pooled(kind), learning_rate=constant(0.3), weight_decay=0.1)
    ppo, free = learner(replace(eager, kl_stop=1e-6)), learner(eager)

    stopped, went_on = ppo.update().metrics, free.update().metrics

    # The first minibatch has no divergence yet; the second finds it above the limit.
    assert stopped["policy/update_share"].tolist() == pytest.approx([1 / 8] * 3)
    assert went_on["policy/update_share"].tolist() == [1.0] * 3
    assert not torch.equal(weights(ppo), weights(free))


def test_stopping_after_one_step_equals_making_one_step() -> None:
    config = replace(pooled("independent"), learning_rate=constant(0.3), weight_decay=0.1)
    stopped = learner(replace(config, kl_stop=1e-6, n_epochs=3, minibatch=64))
    single = learner(replace(config, n_epochs=1, minibatch=64))

    stopped.update()
    single.update()

    torch.testing.assert_close(weights(stopped), weights(single), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("accumulation", [2, 3, 4])
def test_divergence_stop_is_the_same_in_one_part_or_several(accumulation: int) -> None:
    # Shared weights: what a stopped agent left of its gradient would move the others.
    config = replace(pooled("pooled"), learning_rate=constant(0.03), n_epochs=4, kl_stop=3e-3)
    config = replace(config, actor=HEAD)
    whole, parts = (learner(config), learner(replace(config, accumulation=accumulation)))
    # Numbers are drawn for the entropy of a box alone; here it weighs nothing.
    for ppo in (whole, parts):
        ppo.set_entropy_scale(torch.zeros(3))

    expected, got = whole.update().metrics, parts.update().metrics

    share = expected["policy/update_share"]
    assert ((share > 0.0) & (share < 1.0)).any()  # some are stopped on the way
    assert torch.equal(got["policy/update_share"], share)
    torch.testing.assert_close(weights(parts), weights(whole), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("normalised", ["rollout", "minibatch"])
def test_accumulated_parts_give_the_gradient_of_the_whole(normalised: str) -> None:
    config = replace(SMALL, n_epochs=1, minibatch=64, normalise_advantages=normalised)
    config = replace(config, gradient_clip=1e9)
    whole, parts = (
        learner(config, kind="discrete"),
        learner(replace(config, accumulation=4), kind="discrete"),
    )

    expected, got = whole.update().metrics, parts.update().metrics

    torch.testing.assert_close(weights(parts), weights(whole), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(got["grad/norm"], expected["grad/norm"], rtol=1e-4, atol=1e-6)


def test_bfloat16_learns_nearly_the_same() -> None:
    exact, reduced = learner(), learner(replace(SMALL, precision="bfloat16"))

    first, second = exact.update().metrics, reduced.update().metrics

    assert exact.network.actor.weights[0].dtype == torch.float32
    torch.testing.assert_close(first["loss/value"], second["loss/value"], rtol=0.1, atol=0.05)
    assert not torch.equal(weights(exact), weights(reduced))


def test_learning_encoder_moves_and_its_embeddings_follow() -> None:
    ppo = learner(encoder=True)
    row = torch.arange(20)
    before = ppo.view.look(row).clone()

    ppo.update()

    assert not torch.equal(ppo.view.look(row), before)
    torch.testing.assert_close(ppo.view.look(row), ppo.view(row).detach(), rtol=1e-4, atol=1e-5)
    assert ppo.networks().keys() == {"heads", "view"}


def test_frozen_encoder_does_not_move() -> None:
    ppo = learner(encoder=True)
    ppo.view.requires_grad_(False)
    frozen = PPO(ppo.task, ppo.view, SMALL, seed=1)
    before = [p.clone() for p in ppo.view.parameters()]

    frozen.update()

    assert all(map(torch.equal, before, ppo.view.parameters()))


def test_deterministic_numbers_are_rounded_to_levels() -> None:
    ppo = learner()
    ends, halves = learner(replace(SMALL, act_levels=2)), learner(replace(SMALL, act_levels=3))
    _, seen = ppo.task.begin()
    seen = seen._replace(private=torch.randn(3, 4, 1, generator=make_generator(1)) * 30.0)

    exact = ppo.act(seen)

    assert torch.equal(ends.act(seen), torch.round(exact))
    assert torch.equal(halves.act(seen), torch.round(exact * 2.0) / 2.0)
    assert torch.equal(ppo.act(seen), exact)


def test_entropy_scale_keeps_policies_wide() -> None:
    plain, pushed = (learner(replace(SMALL, n_epochs=8)) for _ in "ab")
    pushed.set_entropy_scale(torch.tensor([1.0, 1.0, 50.0]))
    for _ in range(4):
        first, second = plain.update().metrics, pushed.update().metrics

    assert second["policy/entropy_weight"][2] > 10.0 * first["policy/entropy_weight"][2]
    assert second["policy/normalised_entropy"][2] > first["policy/normalised_entropy"][2]


def test_learning_rate_scale_of_zero_stops_learning() -> None:
    ppo = learner()
    ppo.set_learning_rate_scale(0.0)
    before = weights(ppo)

    ppo.update()

    assert torch.equal(weights(ppo), before)


@pytest.mark.parametrize(
    "fields",
    [
        {"minibatch": 0},
        {"discount": 1.1},
        {"act_levels": 1},
        {"precision": "int8"},
        {"kl_stop": -1.0},
        {"normalise_advantages": "no"},
        {"initial_std": 0.0},
        {"rollout_steps": 2.5},
    ],
)
def test_settings_that_cannot_work_are_refused(fields: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(fields))):
        PPOConfig(**fields)


def test_clip_range_follows_its_schedule() -> None:
    task = SignalTask(2, 4)
    steps = 3 * 8 * 4
    config = PPOConfig(
        actor=HeadConfig(hidden=(8,)),
        critic=HeadConfig(hidden=(8,)),
        rollout_steps=8,
        minibatch=16,
        n_epochs=1,
        clip=Schedule("linear", 0.3, 0.1, over=steps),
    )
    learner = PPO(task, TableView(task.table), config, seed=1)

    told = [float(learner.update().metrics["policy/clip_range"]) for _ in range(3)]

    # The steps of the update are counted before its clip is read.
    assert told == pytest.approx([0.3 - 0.2 / 3, 0.3 - 0.4 / 3, 0.1])
