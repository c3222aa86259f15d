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
from tradingbot.learning.hierarchical_sac.controller import Controller, OptionBatch
from tradingbot.learning.hierarchical_sac.course import OptionCourse
from tradingbot.learning.hierarchical_sac.ended_options import EndedOptions
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
from tradingbot.learning.hierarchical_sac.loss import (
    controller_loss,
    controller_temperature_loss,
    option_critic_loss,
    option_target,
)
from tradingbot.learning.hierarchical_sac.usage import OptionUsage
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


NOTHING = torch.zeros(1, 1, 1)


def seen(place: int) -> Observation:
    return Observation(torch.tensor([[place]]), NOTHING, NOTHING)


def walked(start: int, option: int, course: OptionCourse | None = None) -> Transitions:
    """Follow an option from a place by `OptionCourse`, step by step, until it ends."""
    nothing, place = NOTHING, start
    course = course or OptionCourse(seen(start))
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


def test_options_that_follow_others_are_as_if_they_were_the_first() -> None:
    course = OptionCourse(seen(0))
    walked(0, 1, course)

    for after, alone in zip(walked(2, 2, course), walked(2, 2), strict=True):
        assert (after is None and alone is None) or torch.equal(after, alone)


def test_controller_counts_nothing_that_is_not_available() -> None:
    made = Controller(1, 4, 3, replace(SMALL, temperature=1.0), torch.Generator().manual_seed(1))
    with torch.no_grad():
        for head in (made.actor, *made.critics, *made.target_critics):
            for parameter in head.parameters():
                parameter.normal_(generator=torch.Generator().manual_seed(2))
    x, final_x = torch.randn(2, 1, 6, 4, generator=torch.Generator().manual_seed(3))
    alone = (torch.arange(3) == 1).expand(1, 6, 3)
    single = torch.ones(1, 6)
    batch = OptionBatch(
        *(x, alone, single.long(), single, single, 0.5 * single, final_x, alone, torch.ones(1))
    )

    found = made.losses(batch, torch.tensor([0.5]))

    following = torch.stack([critic(final_x) for critic in made.target_critics]).amin(0)[..., 1]
    torch.testing.assert_close(found.value, (1.0 + 0.5 * following).mean(-1))
    worth = torch.stack([critic(x) for critic in made.critics]).amin(0)[..., 1]
    torch.testing.assert_close(found.actor, -worth.mean(-1))
    assert found.entropy.item() == 0.0  # one to choose from


def test_batches_hold_what_was_available_and_count_what_follows_by_its_duration() -> None:
    task = SignalTask(2, 4, episode_bars=100)
    made = learner(replace(SMALL, discount=GAMMA, batch_size=128), task)
    for _ in range(3):
        made.update()
    state = made._draws.get_state()
    batch = made._option_batch()
    made._draws.set_state(state)
    kept = made._ended.sample(128, made._draws)

    for found, row, private in (
        (batch.available, kept.row, kept.private),
        (batch.final_available, kept.final_row, kept.final_private),
    ):
        assert torch.equal(found, task.options.available(row, private))
    assert not torch.equal(batch.available, batch.final_available)
    assert bool(batch.available.gather(-1, batch.option[..., None]).all())
    assert kept.duration is not None
    # Option i lasts i + 1 bars, four at most; no episode ended yet.
    assert torch.equal(kept.duration, (batch.option + 1).clamp(max=4).float())
    torch.testing.assert_close(batch.discount, GAMMA**kept.duration)


def test_steps_are_followed_by_the_same_option_one_bar_later_until_it_ends() -> None:
    made = learner(replace(SMALL, batch_size=128), SignalTask(2, 4, episode_bars=100))
    for _ in range(3):
        made.update()
    batch = made._step_batch()
    first, elapsed = batch.x[..., -7:-2], 4.0 * batch.x[..., -2]
    second, later = batch.final_x[..., -7:-2], 4.0 * batch.final_x[..., -2]
    ended = elapsed + 1.0 >= (first.argmax(-1) + 1.0).clamp(max=4.0)

    assert 0.1 < float(ended.float().mean()) < 0.9
    assert torch.equal(later, torch.where(ended, 0.0, elapsed + 1.0))
    assert torch.equal(first[~ended], second[~ended])
    assert not torch.equal(first[ended], second[ended])


def test_aims_are_counted_of_options_that_ended_and_where_they_ended() -> None:
    before, after, reset = (torch.tensor([[[x], [x]]]) for x in (0.0, 0.5, -9.0))
    row, no = torch.zeros(1, 2, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.bool)
    nothing = torch.zeros(1, 2)
    at, then = (Observation(row, private, nothing) for private in (before, reset))
    made = TaskStep((), then, row, after, nothing, nothing, nothing[None], no, no, row, no)
    run = OptionRun(torch.tensor([[1, 3]]), torch.tensor([[2, 4]]), torch.tensor([[0.4, 0.6]]))
    usage = OptionUsage(ToyOptions.names, 1, torch.device("cpu"))

    usage.count(ToyOptions(), at, made, run, torch.tensor([[True, True]]))
    usage.count(ToyOptions(), at, made, run, torch.tensor([[False, False]]))
    found = usage.metrics()

    told = {name: found[f"options/{name}"].item() for name in ("success", "duration")}
    assert told == {"success": 0.5, "duration": 3.0}
    assert found["options/close_position_success"].item() == 1.0  # 0.5 from 0.4
    assert found["options/scalp_success"].item() == 0.0  # 0.5 from 0.6
    assert found["options/close_position_share"].item() == 0.5


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
