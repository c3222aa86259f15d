"""What both levels of hierarchical SAC learn from, gradient step by gradient step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.compass_task import CompassTask
from fixtures.toy_options import ToyOptions
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.course import OptionCourse
from tradingbot.learning.hierarchical_sac.kept_steps import step_of
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.learner import Metrics
from tradingbot.learning.reward_transform import CollectedSteps, InPlacePart
from tradingbot.learning.task import Observation, TaskStep
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.options import OptionRun
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(6,), activation="relu")
SMALL = HierarchicalSACConfig(
    actor=HEAD,
    critic=HEAD,
    controller=HEAD,
    warm_up=8,
    batch_size=32,
    steps_per_update=8,
    buffer_size=200,
)


def learner(
    config: HierarchicalSACConfig = SMALL, options: ToyOptions | None = None
) -> HierarchicalSAC:
    task = SignalTask(2, 4)
    task.options = options or ToyOptions()  # type: ignore[misc]
    made = HierarchicalSAC(task, TableView(task.table), config, seed=1)
    made.update()
    return made


def test_slow_critics_of_both_levels_follow_by_the_target_rate() -> None:
    made = learner(replace(SMALL, target_rate=0.25))
    pairs = (
        (made._controller.target_critics, made._controller.critics),
        (made._low.target_critic, made._low.critic),
    )
    before = [[weight.clone() for weight in slow.parameters()] for slow, _ in pairs]

    made._learn()

    for kept, (slow, fast) in zip(before, pairs, strict=True):
        for old, now, leader in zip(kept, slow.parameters(), fast.parameters(), strict=True):
            torch.testing.assert_close(now, 0.75 * old + 0.25 * leader)
            assert not torch.equal(now, old)


@pytest.mark.parametrize(("end", "continues"), [("terminated", 0.0), ("truncated", 1.0)])
def test_what_follows_counts_after_a_truncation_and_not_after_a_failure(
    end: str, continues: float
) -> None:
    row, private, nothing = torch.tensor([[3]]), torch.zeros(1, 1, 1), torch.zeros(1, 1)
    seen, yes = Observation(row, private, nothing), torch.tensor([[True]])
    ends = {"terminated": ~yes, "truncated": ~yes} | {end: yes}
    made = TaskStep(
        *((), seen, row, private, nothing, nothing, nothing[None]),
        *(ends["terminated"], ends["truncated"], row, yes),
    )
    run, course = OptionRun(torch.tensor([[2]]), torch.tensor([[1]]), nothing), OptionCourse(seen)
    course.begin(seen, run)

    assert course.advance(ToyOptions(), made, 0.9, yes).item()
    assert course.transitions(made).continues.item() == continues
    assert step_of(seen, run, nothing, made, yes).continues.item() == continues


class OneByRow(ToyOptions):
    """At every row of the table one option may begin, another one at the next."""

    def available(self, row: Tensor, private: Tensor) -> Tensor:
        return torch.arange(5) == (row % 5)[..., None]


def test_option_that_follows_is_chosen_where_the_old_one_ended() -> None:
    made = learner(options=OneByRow())
    state = made._draws.get_state()
    batch = made._step_batch()
    made._draws.set_state(state)
    drawn = made._draws_of.steps(made._steps_kept, SMALL.batch_size, made._draws)
    ended = drawn.private[..., -1] > 0

    following = batch.final_x[..., -7:-2].argmax(-1)

    assert 4 < int(ended.sum()) < ended.numel()
    assert torch.equal(following[ended], drawn.final_row[ended] % 5)
    assert not bool((drawn.final_row[ended] % 5 == drawn.row[ended] % 5).any())


class Potential:
    """Adds γ Φ(s′) − Φ(s) of a potential that is the row's number; nothing follows a failure."""

    needs_terms = False

    def __init__(self) -> None:
        self.learned: list[CollectedSteps] = []

    def transform(self, steps: CollectedSteps) -> Tensor:
        after = torch.where(steps.terminated, 0.0, steps.final_row)
        return steps.reward + 0.5 * after - steps.row

    def learn(self, steps: CollectedSteps) -> Metrics:
        self.learned.append(steps)
        return {"potential/steps": torch.tensor(float(len(steps.reward)))}

    def parts(self) -> Mapping[str, InPlacePart]:
        return {}


def test_changed_rewards_are_summed_over_options_and_learned_from_by_both_levels() -> None:
    config = replace(SMALL, discount=0.5, warm_up=100, steps_per_update=12, scale_rewards=False)
    task = SignalTask(2, 4, episode_bars=100)
    plain, changed = (
        HierarchicalSAC(task, TableView(task.table), config, seed=1, reward_transform=each)
        for each in (None, Potential())
    )
    told = [made.update() for made in (plain, changed)]

    # What the task paid is what is reported, and random choices do not know the rewards.
    assert torch.equal(told[0].experience.reward, told[1].experience.reward)
    for drawn in ("_steps_kept", "_ended"):
        one, other = (
            getattr(made, drawn).sample(64, torch.Generator().manual_seed(2))
            for made in (plain, changed)
        )
        assert torch.equal(one.row, other.row)
        # Over an option of k bars the changes add up to γᵏ Φ(its end) − Φ(its beginning).
        counts = 0.5 if one.discount is None else one.discount
        expected = one.reward + counts * one.final_row - one.row
        torch.testing.assert_close(other.reward, expected, rtol=1e-4, atol=1e-2)
    own = torch.stack([made._reward_scale.sums[1] for made in (plain, changed)])
    assert not torch.allclose(own[0], own[1])
    assert float(told[1].metrics["potential/steps"]) == 12.0
    (steps,) = changed._rewards._transform.learned  # type: ignore[union-attr]
    assert torch.equal(steps.reward, told[1].experience.reward)


def test_changed_rewards_are_refused_where_goals_are_relabelled() -> None:
    task, config = CompassTask(1, 2, 1), replace(SMALL, hindsight=HindsightConfig("future"))
    with pytest.raises(ConfigError, match="learned from as they are paid"):
        HierarchicalSAC(task, TableView(task.table), config, seed=1, reward_transform=Potential())


def test_boost_of_an_agent_reaches_the_entropy_that_its_controller_aims_at() -> None:
    usual, boosted, capped = (learner() for _ in range(3))
    boosted.set_entropy_scale(torch.tensor([1.2, 1.0]))
    capped.set_entropy_scale(torch.tensor([9.0, 1.0]))

    gradient = {}
    for made in (usual, boosted, capped):
        made._learn()
        gradient[made] = made._controller.log_temperature.grad
    state = usual._draws.get_state()
    assert torch.equal(state, boosted._draws.get_state())  # they drew the same options

    again = learner()
    available = again._option_batch().available
    mean = available.sum(-1).double().log().mean(-1).float()
    # Of log α: entropy − share · ln(number available); shares 0.7, 0.84, and 0.99 at the most.
    for made, more in ((boosted, 0.84 - 0.7), (capped, 0.99 - 0.7)):
        assert made._controller.log_temperature.grad is not None
        lower = gradient[usual] - gradient[made]
        torch.testing.assert_close(lower, torch.tensor([more, 0.0]) * mean, rtol=1e-4, atol=1e-5)
