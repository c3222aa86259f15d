"""What both levels of hierarchical SAC learn from, gradient step by gradient step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.toy_options import ToyOptions
from fixtures.toy_tasks import SignalTask
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.course import OptionCourse
from tradingbot.learning.hierarchical_sac.kept_steps import step_of
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
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
