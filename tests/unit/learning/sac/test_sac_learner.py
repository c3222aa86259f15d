"""SAC as a learner: resuming bit for bit, rounding, entropy targets, what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from fixtures.toy_tasks import ClockTask, SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.sac.networks import weights_of
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView, View

HEAD = HeadConfig(hidden=(8, 8), activation="relu")
SMALL = SACConfig(
    actor=HEAD,
    critic=HEAD,
    learning_rate=Schedule("linear", 3e-3, 1e-3, over=200),
    buffer_size=64,
    warm_up=16,
    batch_size=8,
    steps_per_update=6,
)


def learner(config: SACConfig = SMALL, *, seed: int = 0, kind: str = "box") -> SAC:
    task = SignalTask(3, 4, kind=kind)
    return SAC(task, TableView(task.table), config, seed=seed)


def weights(sac: SAC) -> Tensor:
    return nn.utils.parameters_to_vector(sac.networks()["actor"].parameters()).detach().clone()


def test_discrete_actions_are_refused():
    with pytest.raises(ConfigError, match="numbers"):
        learner(kind="discrete")


def test_warm_up_acts_at_random_and_learns_nothing():
    sac = learner(replace(SMALL, warm_up=25))
    before = weights(sac)
    update = sac.update()
    assert sac.steps == 24
    assert torch.equal(weights(sac), before)
    assert "loss/value" not in update.metrics
    assert update.experience.selected.std() > 0.2
    sac.update()
    assert not torch.equal(weights(sac), before)


def test_update_reports_every_metric_per_agent():
    sac = learner()
    sac.update()
    update = sac.update()
    assert all(value.shape == (3,) for value in update.metrics.values())
    assert all(value.isfinite().all() for value in update.metrics.values())
    assert update.experience.selected.shape == (6, 3, 4)
    assert update.experience.terms.shape == (2, 3, 4)
    torch.testing.assert_close(
        update.experience.terms.sum((0, 2)), update.experience.reward.sum((0, 2))
    )


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
@pytest.mark.parametrize("done", [0, 1, 3])
def test_state_resumes_bit_for_bit(pooling: str, done: int):
    head = replace(HEAD, pooling=pooling)
    config = replace(SMALL, actor=head, critic=head)
    whole, broken = learner(config), learner(config)
    for _ in range(done):
        broken.update()
    broken.set_entropy_scale(torch.tensor([1.0, 1.5, 2.0]))
    broken.set_learning_rate_scale(0.5)
    resumed = learner(config, seed=9)
    resumed.load_state(broken.state())
    for _ in range(done):
        whole.update()
    whole.set_entropy_scale(torch.tensor([1.0, 1.5, 2.0]))
    whole.set_learning_rate_scale(0.5)
    for _ in range(2):
        expected, found = whole.update().metrics, resumed.update().metrics
    ours, theirs = whole.state(), resumed.state()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_state_of_another_size_is_refused_and_changes_nothing():
    sac = learner()
    sac.update()
    before = sac.state()
    other = learner(replace(SMALL, buffer_size=128)).state()
    with pytest.raises(ConfigError, match="replay"):
        sac.load_state(other)
    assert all(torch.equal(before[name], now) for name, now in sac.state().items())


def test_seeds_differ_and_the_same_seed_repeats():
    one, same, other = learner(seed=1), learner(seed=1), learner(seed=2)
    for sac in (one, same, other):
        sac.update()
        sac.update()
    assert torch.equal(weights(one), weights(same))
    assert not torch.equal(weights(one), weights(other))


@pytest.mark.parametrize(("levels", "allowed"), [(2, {0.0, 1.0}), (5, {0, 0.25, 0.5, 0.75, 1})])
def test_deterministic_actions_are_rounded_to_levels(levels: int, allowed: set[float]):
    head = replace(HEAD, output_gain=3.0)
    sac = learner(replace(SMALL, act_levels=levels, actor=head))
    smooth = learner(replace(SMALL, actor=head))
    _, seen = sac.task.begin()
    rounded, exact = sac.act(seen), smooth.act(seen)
    assert set(rounded.flatten().tolist()) <= allowed
    assert ((rounded - exact).abs() <= 0.5 / (levels - 1) + 1e-6).all()
    assert not set(exact.flatten().tolist()) <= allowed


def test_sampled_actions_are_not_rounded_and_stay_in_range():
    sac = learner(replace(SMALL, act_levels=2))
    _, seen = sac.task.begin()
    drawn = sac.sample(seen)
    assert drawn.ge(0).all()
    assert drawn.le(1).all()
    assert drawn.unique().numel() > 2


def test_entropy_scale_raises_temperature_of_that_agent_only():
    config = replace(
        SMALL, target_normalised_entropy=0.3, temperature_rate=0.05, steps_per_update=40
    )
    sac = learner(config)
    sac.set_entropy_scale(torch.tensor([1.0, 3.0, 1.0]))
    update = sac.update()
    temperature = update.metrics["policy/temperature"]
    assert temperature[1] > 1.2 * temperature[0]
    assert temperature[1] > 1.2 * temperature[2]


def test_entropy_scale_multiplies_a_fixed_temperature():
    config = replace(SMALL, tune_temperature=False, temperature=0.2)
    calm, hot = learner(config), learner(config)
    hot.set_entropy_scale(torch.full((3,), 10.0))
    for sac in (calm, hot):
        last = sac.update().metrics
        assert last["policy/temperature"].tolist() == pytest.approx([0.2] * 3)
    assert not torch.equal(weights(calm), weights(hot))


def test_learning_rate_scale_of_zero_keeps_every_weight():
    sac = learner(replace(SMALL, warm_up=0))
    sac.set_learning_rate_scale(0.0)
    before = weights(sac)
    sac.update()
    assert torch.equal(weights(sac), before)


def test_independent_agents_do_not_disturb_each_other():
    """What one agent learns does not change when another's rewards are others."""
    head = replace(HEAD, pooling="independent")
    learned = []
    for factor in (1.0, -50.0):
        task = SignalTask(2, 4)
        task.next_return[1] *= factor
        sac = SAC(task, TableView(task.table), replace(SMALL, actor=head, critic=head), seed=0)
        sac.update()
        sac.update()
        learned.append([parameter[0].clone() for parameter in sac.networks()["actor"].parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*learned, strict=True))


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_values_bootstrap_through_truncation_and_stop_at_failures(end: str):
    """A reward of 1 per step is worth 1 ÷ (1 − γ) where only time ends, else what is left."""
    task = ClockTask(end, length=4)
    head = HeadConfig(hidden=(16,), activation="tanh", pooling="pooled")
    config = SACConfig(
        actor=head,
        critic=head,
        learning_rate=constant(0.02),
        warm_up=4,
        batch_size=32,
        discount=0.5,
        target_rate=0.1,
        tune_temperature=False,
        temperature=1e-6,
        scale_rewards=False,
        steps_per_update=200,
    )
    sac = SAC(task, TableView(task.table), config, seed=0)
    for _ in range(2):
        sac.update()
    age = torch.arange(4)[None]
    x = torch.cat([sac.view.look(age), torch.zeros(1, 4, 1)], -1)
    values = sac._networks.critic(x, torch.zeros(1, 4)).mean(0).flatten()
    expected = [2.0] * 4 if end == "truncated" else [1.875, 1.75, 1.5, 1.0]
    assert values.tolist() == pytest.approx(expected, abs=0.06)


class LearningView(View):
    """A table of which a single factor is learned."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.width = table.shape[-1]
        self.inner, self.factor = TableView(table), nn.Parameter(torch.ones(()))
        self.refreshed = 0

    def look(self, row: Tensor) -> Tensor:
        return self.inner.look(row) * self.factor.detach()

    def forward(self, row: Tensor) -> Tensor:
        return self.inner.look(row) * self.factor

    def segments(self, first: Tensor, length: int) -> Tensor:
        return self.inner.segments(first, length) * self.factor

    def refresh(self) -> None:
        self.refreshed += 1


def test_view_that_can_learn_learns_with_the_critics_and_is_part_of_the_state():
    task = SignalTask(2, 4)
    view = LearningView(task.table)
    sac = SAC(task, view, SMALL, seed=0)
    for _ in range(2):
        sac.update()
    assert view.factor.item() != 1.0
    assert view.refreshed == 2
    assert "view" in sac.networks()
    assert torch.equal(sac.state()["view/factor"], view.factor.detach())


def test_view_that_is_frozen_is_only_looked_at():
    task = SignalTask(2, 4)
    view = LearningView(task.table).requires_grad_(False)
    sac = SAC(task, view, SMALL, seed=0)
    for _ in range(2):
        sac.update()
    assert view.factor.item() == 1.0


def test_mixed_precision_learns_with_float32_weights():
    sac = learner(replace(SMALL, precision="bfloat16"))
    plain = learner()
    for _ in range(2):
        mixed, exact = sac.update().metrics, plain.update().metrics
    assert weights(sac).dtype == torch.float32
    assert not torch.equal(weights(sac), weights(plain))
    torch.testing.assert_close(mixed["loss/value"], exact["loss/value"], rtol=0.1, atol=0.1)


def test_gradients_are_clipped_after_they_are_measured():
    sac = learner(replace(SMALL, gradient_clip=1e-3))
    for _ in range(2):
        norm = sac.update().metrics["loss/gradient_norm"]
    clipped = [weight.grad for weight in weights_of(sac._optimiser, "actor")]
    assert norm.min() > 1e-3
    assert nn.utils.get_total_norm(clipped) <= 1.001e-3
