"""Hierarchical SAC: semi-Markov targets by hand and by a table, options that ended, one for all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.toy_options import ToyOptions
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.guards import AlarmLevel, FlightRecorder, GuardConfig
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.course import OptionCourse
from tradingbot.learning.hierarchical_sac.ended_options import EndedOptions
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
from tradingbot.learning.hierarchical_sac.loss import (
    controller_loss,
    controller_temperature_loss,
    option_critic_loss,
    option_target,
)
from tradingbot.learning.replay import Transitions
from tradingbot.learning.task import Observation, TaskStep
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.options import OptionRun
from tradingbot.networks.view import TableView

GAMMA = 0.9
HEAD = HeadConfig(hidden=(16,), activation="relu")
SMALL = HierarchicalSACConfig(
    actor=HEAD,
    critic=HEAD,
    controller=HEAD,
    warm_up=32,
    batch_size=16,
    steps_per_update=16,
    buffer_size=400,
)


def test_target_of_an_option_equals_a_hand_made_example() -> None:
    # Three steps that paid 1, 2, 4 with γ = ½: 1 + 1 + 1 = 3, what follows counts ⅛.
    final_value = torch.tensor([[[[8.0, 4.0, 99.0]]], [[[10.0, 2.0, 99.0]]]])  # (2, 1, 1, 3)
    log_prob = torch.tensor([[[math.log(0.75), math.log(0.25), -1e9]]])  # the third is not there
    given = (torch.tensor([[3.0]]), torch.ones(1, 1), final_value, log_prob)

    cold = option_target(*given, temperature=torch.zeros(1), discount=torch.tensor([[0.125]]))
    assert cold.item() == pytest.approx(3.0 + 0.125 * (0.75 * 8.0 + 0.25 * 2.0))
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    warm = option_target(*given, temperature=torch.ones(1), discount=torch.tensor([[0.125]]))
    assert warm.item() == pytest.approx(cold.item() + 0.125 * entropy)
    failed = (given[0], torch.zeros(1, 1), final_value, log_prob)
    ruined = option_target(*failed, temperature=torch.ones(1), discount=torch.tensor([[0.125]]))
    assert ruined.item() == 3.0

    value = torch.tensor([[[[1.0, 5.0, 0.0]]], [[[3.0, 4.0, 0.0]]]])
    one = torch.ones(1)
    loss = option_critic_loss(value, torch.tensor([[1]]), torch.tensor([[2.0]]), one)
    assert loss.item() == pytest.approx(0.5 * 9.0 + 0.5 * 4.0)
    cost = controller_loss(log_prob, value, temperature=one, weight=one)
    assert cost.item() == pytest.approx(-entropy - (0.75 * 1.0 + 0.25 * 4.0))
    assert controller_loss(log_prob, value, temperature=one, weight=0.0 * one).item() == 0.0
    log_alpha = torch.zeros(1, requires_grad=True)
    low, wanted = torch.full((1, 2), 0.1), torch.full((1, 2), 0.5)
    controller_temperature_loss(log_alpha, low, wanted, one).backward()
    assert log_alpha.grad is not None
    assert log_alpha.grad.item() < 0.0  # too decided: the temperature rises


class Strides:
    """Option i walks i + 1 places to the right on a chain; it ends early at the exit."""

    names = ("one", "two", "three")
    timeout = 20

    def available(self, row: Tensor, private: Tensor) -> Tensor:
        return torch.ones(*row.shape, 3, dtype=torch.bool)

    def propose(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        return torch.ones(row.shape)

    def ends(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        return run.elapsed > run.option

    def mark(self, row: Tensor, private: Tensor) -> Tensor:
        return torch.zeros(row.shape)

    def succeeds(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        return torch.ones(row.shape, dtype=torch.bool)


PAYS = torch.tensor([0.0, -1.0, 3.0, -2.0, 0.5, 1.0])
"""Reward for leaving each place of the chain, less 0.4 per number of the option; then the exit."""


def walked(start: int, option: int) -> Transitions:
    """Follow an option from a place by `OptionCourse`, step by step, until it ends."""
    nothing, place = torch.zeros(1, 1, 1), start

    def seen(at: int) -> Observation:
        return Observation(torch.tensor([[at]]), nothing, nothing)

    course = OptionCourse(seen(start))
    course.begin(seen(start), OptionRun(*(torch.tensor([[x]]) for x in (option, 0)), nothing[0]))
    while True:
        reward = (PAYS[place] - 0.4 * option).view(1, 1)
        leaves = torch.tensor([[place == 5]])
        place += 1
        made = TaskStep(
            *((), seen(place), torch.tensor([[place]]), nothing, nothing[0]),
            *(reward, reward[None], leaves, torch.zeros_like(leaves), leaves.long(), leaves),
        )
        ended = course.advance(Strides(), made, GAMMA, leaves)
        course.finish(ended)
        if ended.item():
            return course.transitions(made)


def test_targets_find_the_option_values_of_a_table() -> None:
    # By a table: Q(s, o) = R(s, o) + γ^k max Q(s', ·), iterated until it stands still.
    exact = torch.zeros(7, 3)
    for _ in range(40):
        for start in range(6):
            for option in range(3):
                steps = min(option + 1, 6 - start)
                paid = sum(GAMMA**i * (float(PAYS[start + i]) - 0.4 * option) for i in range(steps))
                after = start + steps
                following = 0.0 if after == 6 else float(exact[after].max())
                exact[start, option] = paid + GAMMA**steps * following

    # By our targets, of transitions that the course made; the controller is all but greedy.
    made = [walked(start, option) for start in range(6) for option in range(3)]
    parts = [
        torch.cat([getattr(each, name) for each in made], 1) for name in Transitions._fields[3:6]
    ]
    reward, continues, after = parts
    discount = torch.cat([each.discount for each in made if each.discount is not None], 1)
    durations = [int(each.duration.item()) for each in made if each.duration is not None]
    assert durations == [min(o + 1, 6 - s) for s in range(6) for o in range(3)]
    table = torch.zeros(7, 3)
    for _ in range(40):
        final = table[after.clamp(max=6)]
        greedy = torch.where(final == final.amax(-1, keepdim=True), 0.0, -1e9).log_softmax(-1)
        found = option_target(
            *(reward, continues, final.expand(2, *final.shape), greedy),
            temperature=torch.zeros(1),
            discount=discount,
        )
        table[:6] = found.view(6, 3)
    torch.testing.assert_close(table, exact)
    assert float(exact[:5].std(1).min()) > 0.1  # it matters which is chosen


def test_options_that_ended_are_kept_lane_by_lane_and_drawn_alike() -> None:
    kept = EndedOptions(2, 3, 1, capacity=12)
    marks, expected = (
        torch.Generator().manual_seed(1),
        {(n, b): [] for n in range(2) for b in range(3)},
    )
    for step in range(60):
        ended = torch.rand(2, 3, generator=marks) < torch.tensor([0.1, 0.5, 0.9])
        number = 100.0 * torch.arange(6).view(2, 3) + step
        whole = number.long()
        step_made = Transitions(
            *(whole, number[..., None], number, number, number, whole, number[..., None]),
            duration=number,
            discount=number,
        )
        kept.insert_where(step_made, ended)
        for lane in expected:
            if ended[lane]:
                expected[lane] = [*expected[lane], float(number[lane])][-4:]
        if step == 0:
            assert kept.has_any.tolist() == ended.any(1).tolist()

    drawn = kept.sample(4_000, torch.Generator().manual_seed(2))

    for agent in range(2):
        wanted = sorted(x for (n, _), each in expected.items() if n == agent for x in each)
        found, counts = drawn.reward[agent].unique(return_counts=True)
        assert found.tolist() == wanted
        assert float((counts / 4_000 - 1.0 / len(wanted)).abs().max()) < 0.03
    assert torch.equal(drawn.action, drawn.reward)
    assert drawn.discount is not None
    assert torch.equal(drawn.discount, drawn.reward)


def learner(
    config: HierarchicalSACConfig = SMALL, task: SignalTask | None = None
) -> HierarchicalSAC:
    task = task or SignalTask(2, 4)
    return HierarchicalSAC(task, TableView(task.table), config, seed=1)


def test_controller_learns_which_option_pays() -> None:
    class PaysFull(SignalTask):
        """Pays for holding all, whatever the market does."""

        def _advance(self, state, action):  # type: ignore[no-untyped-def]
            made = super()._advance(state, action)
            paid = self._shape(action.reshape(-1)) - 0.5
            return made._replace(reward=paid, terms=torch.stack([paid, 0.0 * paid]))

    config = replace(
        SMALL, controller_rate=0.02, controller_entropy=0.05, temperature_rate=0.02, reach=0.05
    )
    made = learner(config, PaysFull(2, 4))
    first = made.update().metrics
    for _ in range(16):
        last = made.update().metrics

    assert float(first["options/wait_share"].mean()) < 0.55
    assert float(last["options/wait_share"].min()) > 0.75  # option 4 wants all of the range
    assert float(last["rollout/reward"].min()) > 0.3


def test_one_option_for_everything_is_told_with_a_remedy() -> None:
    class WaitAlone(ToyOptions):
        def available(self, row: Tensor, private: Tensor) -> Tensor:
            return torch.arange(5).expand(*row.shape, 5) == 4

    def watched(options: ToyOptions) -> list[str]:
        task = SignalTask(2, 4)
        task.options = options  # type: ignore[misc]
        made = learner(SMALL, task)
        guards = GuardConfig(warm_up_steps=0, warm_up_updates=0, probe_every=0)
        recorder = FlightRecorder(task, guards)
        for _ in range(4):
            report = recorder.watch(made, made.update())
        found = [each for each in report.verdicts if each.code == "ONE_OPTION"]
        assert all(each.severity is AlarmLevel.CRITICAL for each in found)
        return [each.words for each in found]

    assert watched(ToyOptions()) == []
    told = watched(WaitAlone())
    assert len(told) == 2
    assert "100 % of its steps are made under the option wait" in told[0]


def test_task_without_options_is_refused() -> None:
    task = SignalTask(2, 4)
    task.options = None  # type: ignore[misc, assignment]
    with pytest.raises(ConfigError, match="must have options in a task"):
        learner(SMALL, task)
    with pytest.raises(ConfigError, match="must have options in a task"):
        learner(SMALL, SignalTask(2, 4, kind="discrete"))


def test_no_reach_means_options_as_they_are() -> None:
    made = learner(replace(SMALL, reach=0.0))
    made.update()
    before = [weight.clone() for weight in made.networks()["low_level"].parameters()]
    selected = made.update().experience.selected
    assert {round(float(x) * 4.0, 6) for x in selected.unique()} <= {0.0, 1.0, 2.0, 3.0, 4.0}
    after = list(made.networks()["low_level"].parameters())
    assert all(torch.equal(x, y) for x, y in zip(before, after, strict=True))
