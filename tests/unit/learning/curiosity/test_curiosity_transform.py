"""Curiosity pays for surprise: learned, bounded, without a gradient to or from the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.curiosity.model import CuriosityModel
from tradingbot.learning.curiosity.transform import Curiosity
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.reward_transform import CollectedSteps, transform_rewards
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
LEARNERS: dict[str, Any] = {
    "ppo": PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=2, minibatch=16),
    "sac": SACConfig(
        actor=HEAD, critic=HEAD, buffer_size=256, warm_up=8, batch_size=8, steps_per_update=8
    ),
}
SMALL = CuriosityConfig(mix=0.1, n_features=8, hidden=(8,), warm_up=16, batches=2, batch_size=16)


def build(name: str, config: CuriosityConfig = SMALL, **options: Any) -> tuple[Learner, Curiosity]:
    task = SignalTask(2, 4, **options)
    curious = Curiosity(task, config, seed=3)
    settings, view = LEARNERS[name], TableView(task.table)
    learner = learner_spec(name).build(task, view, settings, seed=1, reward_transform=curious)
    return learner, curious


def collected(task: SignalTask, n_steps: int = 16, scale: float = 1.0) -> CollectedSteps:
    """Steps of random actions."""
    generator = torch.Generator().manual_seed(5)
    state, seen = task.begin()
    made: list[tuple[Tensor, ...]] = []
    for _ in range(n_steps):
        action = torch.rand(seen.row.shape, generator=generator)
        step = task.step(state, action)
        parts = (step.final_row, step.final_private, step.terminated, step.truncated)
        made.append((seen.row, seen.private, action, scale * step.reward, *parts))
        state, seen = step.state, step.observation
    return CollectedSteps(*(torch.stack(column) for column in zip(*made, strict=True)))


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(t, other[k]) for k, t in one.items())


def test_models_learn_a_learnable_problem_within_a_thousand_batches() -> None:
    """A walk: where it goes follows from the action, and the action from where it went."""
    config, n_agents = CuriosityConfig(mix=0.1), 2
    model = CuriosityModel(n_agents, 2, ActionSpec("discrete", 3), config, make_generator(1, "m"))
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    draws = torch.Generator().manual_seed(2)

    def batch(size: int) -> tuple[Tensor, Tensor, Tensor]:
        before = 2.0 * torch.rand(n_agents, size, 2, generator=draws) - 1.0
        action = torch.randint(3, (n_agents, size), generator=draws)
        move = torch.stack([action - 1.0, (action == 1).float()], dim=-1)
        return before, action, before + move

    for _ in range(1_000):
        losses = model.losses(*batch(64))
        loss = 0.2 * losses.forward + 0.8 * losses.inverse
        optimiser.zero_grad()
        loss.sum().backward()
        optimiser.step()
    with torch.no_grad():
        held_out = model.losses(*batch(512))
        features = model.encoder(batch(512)[0])

    assert held_out.forward.max() < 0.01
    assert held_out.inverse.max() < 0.01
    # Not because features have shrunk to nothing.
    assert (held_out.forward / (0.5 * features.var((1, 2)))).max() < 0.05


@pytest.mark.parametrize("kind", ["box", "discrete"])
def test_no_gradient_flows_between_policy_and_curiosity(kind: Literal["box", "discrete"]) -> None:
    learner, curious = build("ppo", kind=kind)
    updates = [learner.update() for _ in range(3)]

    owned = {id(p) for part in learner.networks().values() for p in part.parameters()}
    assert owned.isdisjoint(id(p) for p in curious.model.parameters())
    for part in learner.networks().values():
        for weight in part.parameters():
            weight.grad = None
    for weight in curious.model.parameters():
        weight.grad = None
    steps = collected(SignalTask(2, 4))
    if kind == "discrete":
        steps = steps._replace(action=(steps.action * 4).long())
    steps = steps._replace(reward=steps.reward.requires_grad_())
    told = transform_rewards(curious, steps)
    assert not told.requires_grad
    curious.learn(steps)
    # What curiosity learns moves its own weights alone …
    assert all(w.grad is not None for w in curious.model.parameters())
    assert all(w.grad is None for p in learner.networks().values() for w in p.parameters())
    assert steps.reward.grad is None
    # … and what the policy learns none of curiosity's.
    before = {k: t.clone() for k, t in curious.model.state_dict().items()}
    curious.learn = lambda _: {}  # type: ignore[method-assign]
    learner.update()
    assert same(before, curious.model.state_dict())
    assert all("curiosity/share" in update.metrics for update in updates)


def test_forward_loss_does_not_teach_the_encoder() -> None:
    _, curious = build("ppo")
    curious.model.losses(*curious._inputs(collected(SignalTask(2, 4)))).forward.sum().backward()

    assert all(w.grad is None for w in curious.model.encoder.parameters())
    assert all(w.grad is not None for w in curious.model.forward_model.parameters())


def test_bonus_varies_and_begins_after_the_warm_up() -> None:
    _, curious = build("ppo", replace(SMALL, warm_up=128))
    steps = collected(SignalTask(2, 4))

    first, _ = transform_rewards(curious, steps), curious.learn(steps)
    assert torch.equal(first, 0.9 * steps.reward)
    transform_rewards(curious, steps)
    paid = transform_rewards(curious, steps)
    figures = curious.learn(steps)

    assert not torch.equal(paid, 0.9 * steps.reward)
    assert (figures["curiosity/variation"] > 0.3).all()
    assert (figures["curiosity/bonus"] > 0.0).all()


def test_batch_holds_no_more_than_was_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    _, curious = build("ppo", replace(SMALL, batch_size=1_000))
    steps, seen = collected(SignalTask(2, 4)), list[int]()
    losses = curious.model.losses

    def noted(before: Tensor, action: Tensor, after: Tensor) -> Any:
        seen.append(before.shape[1])
        return losses(before, action, after)

    monkeypatch.setattr(curious.model, "losses", noted)
    transform_rewards(curious, steps)
    curious.learn(steps)

    assert seen == [steps.reward.shape[0] * steps.reward.shape[2]] * SMALL.batches


def test_bonuses_are_at_most_the_share_of_all_that_was_paid() -> None:
    steps = collected(SignalTask(2, 4), n_steps=64)
    shares = {}
    for limit in (0.1, 0.9):
        config = replace(SMALL, mix=0.6, max_share=limit, warm_up=0)
        _, curious = build("ppo", config)
        for _ in range(4):
            transform_rewards(curious, steps)
            shares[limit] = curious.learn(steps)["curiosity/share"]

    # Of what is paid in all, 0.1 and not 0.1 of the rest.
    torch.testing.assert_close(shares[0.1], torch.full((2,), 0.1))
    assert (shares[0.9] > 0.2).all()


def test_bonuses_are_in_units_of_the_reward_and_clipped() -> None:
    rewards = {}
    for scale in (1.0, 1_000.0):
        _, curious = build("ppo", replace(SMALL, warm_up=0, max_share=0.9))
        rewards[scale] = transform_rewards(curious, collected(SignalTask(2, 4), scale=scale))
    torch.testing.assert_close(rewards[1_000.0] / 1_000.0, rewards[1.0])

    tight = replace(SMALL, warm_up=0, max_share=0.9, bonus_clip=0.1)
    steps = collected(SignalTask(2, 4))
    _, curious = build("ppo", tight)
    added = transform_rewards(curious, steps) - 0.9 * steps.reward
    largest = 0.1 * 0.1 * 0.9 * steps.reward.transpose(0, 1).flatten(1).std(1, correction=0)
    assert (added.abs().amax((0, 2)) <= largest * (1.0 + 1e-4)).all()


def test_bonus_fades_where_everything_is_known() -> None:
    _, curious = build("ppo", replace(SMALL, warm_up=0, max_share=0.9))
    _, faint = build("ppo", replace(SMALL, warm_up=0, max_share=0.9, error_scale=1e-8))
    steps = collected(SignalTask(2, 4))
    bonuses = []
    for each in (curious, faint):
        transform_rewards(each, steps)
        bonuses.append(each.learn(steps)["curiosity/bonus"])

    assert (bonuses[1] < 0.01 * bonuses[0]).all()


@pytest.mark.parametrize("name", ["ppo", "sac"])
def test_learner_with_curiosity_resumes_bit_for_bit(name: str) -> None:
    learner, _ = build(name)
    for _ in range(2):
        learner.update()
    stored = learner.state()
    for _ in range(2):
        learner.update()
    resumed, _ = build(name)
    resumed.load_state(stored)
    for _ in range(2):
        resumed.update()

    assert same(learner.state(), resumed.state())
    assert any(key.startswith("reward_transform/model/") for key in stored)
    assert any(key.startswith("reward_transform/optimiser/") for key in stored)


def test_agents_have_models_of_their_own() -> None:
    """What one agent meets moves nothing of another's, as where one has stopped."""
    _, curious = build("ppo")
    _, other = build("ppo")
    steps = collected(SignalTask(2, 4))
    private = steps.final_private.clone()
    private[:, 1] += 3.0
    for each, seen in ((curious, steps), (other, steps._replace(final_private=private))):
        transform_rewards(each, seen)
        each.learn(seen)

    pairs = zip(curious.model.parameters(), other.model.parameters(), strict=True)
    moved = [(torch.equal(a[0], b[0]), torch.equal(a[1], b[1])) for a, b in pairs]
    assert all(own for own, _ in moved)
    assert not all(others for _, others in moved)


def test_bonuses_are_errors_beside_their_own_mean() -> None:
    """What is known better than usual costs; a constant error earns nothing."""
    _, curious = build("ppo", replace(SMALL, warm_up=0, max_share=0.9, normalisation_rate=1.0))
    steps = collected(SignalTask(2, 4), n_steps=64)

    added = transform_rewards(curious, steps) - 0.9 * steps.reward

    assert (added.amin((0, 2)) < 0.0).all()
    assert (added.mean((0, 2)).abs() < 0.5 * added.abs().mean((0, 2))).all()


@pytest.mark.parametrize("share", [1e-9, 1.0 - 1e-9])
def test_forward_weight_is_of_the_forward_model_and_the_rest_of_the_inverse_one(
    share: float,
) -> None:
    _, curious = build("ppo", replace(SMALL, forward_weight=share, weight_decay=0.0))

    curious.learn(transformed(curious))

    gradients = {name: float(w.grad.norm()) for name, w in curious.model.named_parameters()}
    size = {
        part: sum(each for name, each in gradients.items() if name.startswith(part))
        for part in ("forward_model", "inverse_model")
    }
    unheard = "forward_model" if share < 0.5 else "inverse_model"
    assert size[unheard] < 1e-6 * sum(size.values())


def transformed(curious: Curiosity) -> CollectedSteps:
    steps = collected(SignalTask(2, 4))
    transform_rewards(curious, steps)
    return steps
