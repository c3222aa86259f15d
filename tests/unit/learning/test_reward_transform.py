"""Rewards on their way to value targets: curiosity, shaping, objectives, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.learner import Learner, Metrics
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.reward_transform import (
    CollectedSteps,
    InPlacePart,
    RewardTransform,
    steps_of_tasks,
    transform_rewards,
)
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.value_targets import generalized_advantage
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
CONFIGS: dict[str, Any] = {
    "ppo": PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=2, minibatch=16),
    "impala": IMPALAConfig(
        actor=HEAD, critic=HEAD, actors=2, in_processes=False, rollout_steps=8, minibatch=16
    ),
    "sac": SACConfig(
        actor=HEAD, critic=HEAD, buffer_size=256, warm_up=8, batch_size=8, steps_per_update=8
    ),
    "hierarchical_sac": HierarchicalSACConfig(
        actor=HEAD,
        critic=HEAD,
        controller=HEAD,
        buffer_size=256,
        warm_up=8,
        batch_size=8,
        steps_per_update=8,
    ),
}


class Identity:
    needs_terms = False

    def transform(self, steps: CollectedSteps) -> Tensor:
        return steps.reward

    def learn(self, steps: CollectedSteps) -> Metrics:
        return {}

    def parts(self) -> Mapping[str, InPlacePart]:
        return {}


class Curiosity(Identity):
    """Pays for what a small network cannot predict yet, in units of its running deviation."""

    def __init__(self, seed: int = 1) -> None:
        torch.manual_seed(seed)
        self.model = nn.Linear(2, 1)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.scale = nn.Module()
        self.scale.register_buffer("moments", torch.tensor([0.0, 0.0]))
        self.saw_gradients = False

    def transform(self, steps: CollectedSteps) -> Tensor:
        error = self._error(steps)
        self.saw_gradients |= error.requires_grad
        count, square = self.scale.moments
        self.scale.moments.copy_(
            torch.stack([count + error.numel(), square + error.square().sum()])
        )
        deviation = (self.scale.moments[1] / self.scale.moments[0]).sqrt().clamp_min(1e-6)
        return steps.reward + 0.1 * error / deviation

    def learn(self, steps: CollectedSteps) -> Metrics:
        loss = self._error(steps).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return {"curiosity/loss": loss.detach()}

    def parts(self) -> Mapping[str, InPlacePart]:
        return {"model": self.model, "optimiser": self.optimiser, "scale": self.scale}

    def _error(self, steps: CollectedSteps) -> Tensor:
        known = torch.stack([steps.private[..., 0], steps.action], dim=-1)
        return (self.model(known)[..., 0] - steps.final_private[..., 0]).square()


class Shaping(Identity):
    """Adds F = γ Φ(s′) − Φ(s); the potential of what follows a failure is 0."""

    def __init__(self, potential: Tensor, discount: float) -> None:
        self.potential, self.discount = potential, discount

    def transform(self, steps: CollectedSteps) -> Tensor:
        after = torch.where(steps.terminated, 0.0, self.potential[steps.final_row])
        return steps.reward + self.discount * after - self.potential[steps.row]


class OneObjective(Identity):
    """Learns from the first reward term alone."""

    needs_terms = True

    def transform(self, steps: CollectedSteps) -> Tensor:
        assert steps.terms is not None
        return steps.terms[:, 0]


def make(name: str, transform: RewardTransform | None, seed: int = 1, **options: Any) -> Learner:
    task = SignalTask(2, 4, **options)
    return learner_spec(name).build(
        task, TableView(task.table), CONFIGS[name], seed=seed, reward_transform=transform
    )


def trained(learner: Learner, updates: int = 4) -> Learner:
    for _ in range(updates):
        learner.update()
    return learner


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(t, other[k]) for k, t in one.items())


def test_learners_that_take_a_transform_are_those_that_are_tested_and_others_say_why_not() -> None:
    specs = [learner_spec(name) for name in known_learners()]
    assert {spec.name for spec in specs if spec.takes_reward_transform} == {*CONFIGS}
    assert all(spec.takes_reward_transform is not bool(spec.keeps_rewards) for spec in specs)


@pytest.mark.parametrize("name", CONFIGS)
def test_identity_changes_no_bit_and_no_name(name: str) -> None:
    plain, identity = (trained(make(name, transform)) for transform in (None, Identity()))
    assert same(plain.state(), identity.state())


@pytest.mark.parametrize("name", CONFIGS)
def test_curiosity_is_learned_from_and_free_of_gradients(name: str) -> None:
    curious = Curiosity()
    learner = make(name, curious)
    before = [p.detach().clone() for p in curious.model.parameters()]

    updates = [learner.update() for _ in range(4)]

    # It learned by its own optimiser, once per update, and was asked without gradients.
    after = [p.detach() for p in curious.model.parameters()]
    assert all(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert int(curious.optimiser.state[next(curious.model.parameters())]["step"]) == 4
    assert not curious.saw_gradients
    losses = [float(update.metrics["curiosity/loss"]) for update in updates]
    assert losses[-1] < losses[0]
    # Policy and transform share no weight; other rewards make another policy.
    owned = {id(p) for network in learner.networks().values() for p in network.parameters()}
    assert owned.isdisjoint(id(p) for p in curious.model.parameters())
    own = {k: t for k, t in learner.state().items() if not k.startswith("reward_transform/")}
    plain = trained(make(name, None)).state()
    assert own.keys() == plain.keys()
    assert not same(own, plain)
    # What the task paid is what is reported: its terms add up to it, the bonus is not in it.
    experience = updates[-1].experience
    torch.testing.assert_close(experience.reward.sum(0), experience.terms.sum(0))


@pytest.mark.parametrize("name", CONFIGS)
def test_policy_gets_no_gradient_from_a_transform_and_it_none_from_the_policy(name: str) -> None:
    class Tagged(Curiosity):
        """Returns rewards with a history, as a careless transform would."""

        def transform(self, steps: CollectedSteps) -> Tensor:
            with torch.enable_grad():
                return steps.reward + self._error(steps)

        def learn(self, steps: CollectedSteps) -> Metrics:
            assert not any(part.requires_grad for part in steps if part is not None)
            return {}

    careless = Tagged()
    trained(make(name, careless), 3)
    assert all(p.grad is None for p in careless.model.parameters())
    shape = (2, 1, 3)
    numbers, rows = torch.zeros(shape), torch.zeros(shape, dtype=torch.int64)
    private, never = torch.zeros(*shape, 1), torch.zeros(shape, dtype=torch.bool)
    steps = CollectedSteps(rows, private, numbers, numbers, rows, private, never, never)
    assert careless.transform(steps).requires_grad
    assert not transform_rewards(careless, steps).requires_grad


@pytest.mark.parametrize("name", CONFIGS)
def test_transform_resumes_with_its_learner_to_the_same_bits(name: str) -> None:
    whole = trained(make(name, Curiosity()), 3)
    resumed = make(name, Curiosity(seed=9), seed=9)

    resumed.load_state(whole.state())
    for learner in (whole, resumed):
        trained(learner, 2)

    assert same(whole.state(), resumed.state())
    assert "reward_transform/model/weight" in whole.state()
    assert any(key.startswith("reward_transform/optimiser/") for key in whole.state())
    with pytest.raises(ConfigError, match=r"must not have the tensor 'reward_transform/"):
        make(name, None).load_state(whole.state())


@pytest.mark.parametrize("name", CONFIGS)
def test_transform_reads_terms_where_it_needs_them(name: str) -> None:
    objective = trained(make(name, OneObjective(), cost=5.0))
    whole = trained(make(name, None, cost=5.0))
    free = trained(make(name, None, cost=0.0))

    def heads(learner: Learner) -> dict[str, Tensor]:
        network = next(iter(learner.networks().values()))
        return dict(network.state_dict())

    # The first term is what is earned: as if changes cost nothing.
    assert same(heads(objective), heads(free))
    assert not same(heads(objective), heads(whole))


def _chain_values(potential: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """Solve a walk on places 0 … 5 by value iteration with shaped rewards; return Q (6, 2)."""
    n = 6
    place = torch.arange(n).repeat_interleave(2).view(n, 2)
    after = (place + torch.tensor([-1, 1])).clamp(0, n - 1)
    terminated = after == n - 1
    paid = torch.where(after == n - 1, 1.0, 0.0) + torch.where(after == 0, 0.08, 0.0)
    steps = CollectedSteps(
        *(place, torch.zeros(n, 2, 1), torch.zeros(n, 2), paid, after, torch.zeros(n, 2, 1)),
        *(terminated, torch.zeros_like(terminated)),
    )
    reward = transform_rewards(Shaping(potential, gamma), steps)
    worth = torch.zeros(n, 2)
    for _ in range(300):
        value_tp1 = worth.amax(1)[after]
        never = torch.zeros_like(terminated)
        made = (reward, torch.zeros_like(reward), value_tp1, terminated, never)
        targets = generalized_advantage(*(x[None] for x in made), discount=gamma, decay=0.0)
        worth = targets[0]
    return worth, worth.argmax(1)


def test_shaping_moves_values_by_the_potential_and_no_policy() -> None:
    gamma = 0.9
    plain, best = _chain_values(torch.zeros(6), gamma)
    for seed in range(5):
        potential = 3.0 * torch.randn(6, generator=torch.Generator().manual_seed(seed))
        shaped, policy = _chain_values(potential, gamma)
        torch.testing.assert_close(shaped, plain - potential[:, None], rtol=1e-4, atol=1e-4)
        assert torch.equal(policy[:-1], best[:-1])
    assert set(best[:-1].tolist()) == {0, 1}  # both directions occur: there is something to spoil


def test_steps_say_what_followed_and_not_what_a_reset_shows() -> None:
    task, draws = SignalTask(2, 4, episode_bars=3), torch.Generator().manual_seed(1)
    state, seen = task.begin()
    made = []
    for _ in range(5):
        action = torch.rand(seen.row.shape, generator=draws)
        step = task.step(state, action)
        made.append((seen, action, step))
        state, seen = step.state, step.observation

    steps = steps_of_tasks(made, needs_terms=False, discount=0.9)

    ended = steps.truncated
    assert ended.any()
    assert torch.equal(steps.final_row, torch.stack([step.final_row for _, _, step in made]))
    assert (steps.final_row[ended] == steps.row[ended] + 1).all()
    # What the action made of the account, which a reset has emptied.
    torch.testing.assert_close(steps.final_private[..., 0], steps.action)


def test_transform_of_another_shape_is_refused() -> None:
    class Wrong(Identity):
        def transform(self, steps: CollectedSteps) -> Tensor:
            return steps.reward[:1]

    with pytest.raises(ConfigError, match=r"transformed rewards must have shape .*Wrong"):
        make("ppo", Wrong()).update()
