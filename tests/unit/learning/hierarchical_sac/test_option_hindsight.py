"""Options in hindsight: semi-Markov rewards of another goal by hand, other goals of the episode."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.compass_task import CompassTask
from fixtures.replay_pairs import drawn_pairs
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.ended_options import EndedOptions
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
from tradingbot.learning.hierarchical_sac.loss import option_target
from tradingbot.learning.hierarchical_sac.option_hindsight import OptionHindsight
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.replay import Transitions
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import TransitionExtras
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

GOALS = TransitionExtras(episode=True, n_goal=2, achieved=True)
HEAD = HeadConfig(hidden=(16,), activation="relu")
FUTURE = HindsightConfig("future")
SMALL = HierarchicalSACConfig(
    actor=HEAD,
    critic=HEAD,
    controller=HEAD,
    discount=0.5,
    warm_up=32,
    batch_size=64,
    steps_per_update=16,
    buffer_size=400,
    scale_rewards=False,
    hindsight=FUTURE,
)


def so_far(number: float, step: int, place: tuple[float, float], episode: int = 0) -> Transitions:
    """One lane's option after a step that reached a place; it aims for (0.9, 0.9)."""
    private = torch.tensor([[[0.0, 0.0, 0.9, 0.9]]])
    final = torch.tensor([[[*place, 0.9, 0.9]]])
    single = torch.full((1, 1), number)
    return Transitions(
        *(torch.zeros(1, 1, dtype=torch.int64), private, single, 0.0 * single, 1.0 + 0.0 * single),
        *(torch.zeros(1, 1, dtype=torch.int64), final),
        duration=torch.full((1, 1), float(step)),
        discount=torch.full((1, 1), 0.5**step),
        goal=torch.full((1, 1, 2), 0.9),
        episode=torch.full((1, 1), episode),
        achieved=torch.tensor([[list(place)]]),
    )


def test_reward_of_an_option_by_another_goal_equals_a_hand_made_example() -> None:
    # Four steps east, after an option that was longer in the same slot's place of the ring.
    kept = EndedOptions(1, 1, 4, capacity=1, longest=6, goals=GOALS)
    no, yes = torch.tensor([[False]]), torch.tensor([[True]])
    for _ in range(2):  # both slots of the ring have held six steps at the goal before
        for step in range(1, 7):
            kept.insert_where(so_far(9.0, step, (0.2, 0.0)), yes if step == 6 else no)
    for step, place in enumerate((0.1, 0.2, 0.3, 0.4), start=1):
        kept.insert_where(so_far(1.0, step, (place, 0.0), 1), yes if step == 4 else no)
    hindsight = OptionHindsight(CompassTask(1, 1, 1), SMALL)
    option = kept.sample(1, torch.Generator())
    assert option.action.item() == 1.0

    passed = torch.tensor([[[0.2, 0.0]]])
    assert hindsight.earned(option, passed).item() == -1.0 + 0.0 - 0.25 - 0.125
    reached = torch.tensor([[[0.4, 0.0]]])
    assert hindsight.earned(option, reached).item() == -1.0 - 0.5 - 0.25 + 0.0
    assert option.goal is not None
    assert hindsight.earned(option, option.goal).item() == -1.875  # its own, never reached

    # The target: what the goal pays, and 2⁻⁴ of what follows as one sees it with that goal.
    drawn = hindsight.options(kept, 5, torch.Generator().manual_seed(1))  # four of five get another
    assert drawn.reward.tolist() == [[-1.75] * 4 + [-1.875]]
    assert drawn.private[0, :, 2:].tolist() == [pytest.approx([0.4, 0.0])] * 4 + [
        pytest.approx([0.9, 0.9])
    ]
    assert torch.equal(drawn.final_private[..., 2:], drawn.private[..., 2:])
    assert drawn.discount is not None
    target = option_target(
        *(drawn.reward, drawn.continues, torch.full((2, 1, 5, 1), 8.0), torch.zeros(1, 5, 1)),
        temperature=torch.zeros(1),
        discount=drawn.discount,
    )
    assert target.tolist() == [[-1.75 + 0.5] * 4 + [-1.875 + 0.5]]


@pytest.mark.parametrize("strategy", ["future", "episode", "random"])
def test_other_goals_are_of_options_that_are_kept_and_may_be_aimed_for(strategy: str) -> None:
    kept = EndedOptions(2, 3, 4, capacity=12, longest=4, goals=GOALS)
    marks = torch.Generator().manual_seed(1)
    episode, elapsed = torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3)
    expected: dict[tuple[int, int], list[tuple[int, int]]] = {
        (n, b): [] for n in range(2) for b in range(3)
    }
    for step in range(90):
        elapsed = elapsed + 1
        done = torch.rand(2, 3, generator=marks) < 0.15  # episodes of some options each
        ended = done | (elapsed >= torch.tensor([4.0, 2.0, 1.0]))
        number = 1_000 * torch.arange(6).view(2, 3) + step
        value = number.float()
        pair = torch.stack([value, value], -1)
        kept.insert_where(
            Transitions(
                *(number, torch.cat([pair, pair], -1), value, value, value),
                *(number, torch.cat([pair, pair], -1)),
                duration=elapsed,
                discount=value,
                goal=pair,
                episode=episode,
                achieved=pair,
            ),
            ended,
        )
        for lane, each in expected.items():
            if ended[lane]:
                each.append((int(episode[lane]), int(number[lane])))
        elapsed, episode = torch.where(ended, 0.0, elapsed), episode + done

    generator = torch.Generator().manual_seed(2)
    now, other = drawn_pairs(kept, 4_000, generator, strategy=strategy)  # type: ignore[arg-type]

    for agent in range(2):
        whole = [each for (n, _), made in expected.items() if n == agent for each in made[-4:]]
        of = {row: number for number, row in whole}
        pairs = set(zip(now.row[agent].tolist(), other.row[agent].tolist(), strict=True))
        wanted = {
            (row, later)
            for row in of
            for later in of
            if strategy == "random" or (row // 1_000, of[row]) == (later // 1_000, of[later])
            if strategy != "future" or later >= row
        }
        assert pairs == wanted


def learner(config: HierarchicalSACConfig, task: CompassTask | None = None) -> HierarchicalSAC:
    task = task or CompassTask(2, 4, 1)
    return HierarchicalSAC(task, TableView(task.table), config, seed=1)


def test_both_levels_see_and_are_paid_by_the_goal_that_counts() -> None:
    made = learner(SMALL)
    for _ in range(4):
        made.update()
    n = made.task.n_private
    steps = made._draws_of.steps(made._steps_kept, 200, torch.Generator().manual_seed(1))
    options = made._draws_of.options(made._ended, 200, torch.Generator().manual_seed(1))

    for drawn in (steps, options):
        assert drawn.goal is not None
        for seen in (drawn.private, drawn.final_private):
            assert torch.equal(seen[..., 2:n], drawn.goal)
        assert drawn.achieved is not None
    near = made.task.goal_reward(steps.achieved, steps.goal)  # type: ignore[attr-defined]
    assert torch.equal(steps.reward, near)
    assert 0.2 < float((near[:, :160] == 0.0).float().mean()) < 1.0  # of goals reached later
    assert float((near[:, 160:] == 0.0).float().mean()) < 0.1  # of those that were asked for
    # What is kept of options stays beside the other goal.
    assert set(steps.private[..., n].unique().tolist()) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert torch.equal(steps.private[..., n:], steps.final_private[..., n:])


def test_update_tells_the_share_with_another_goal_where_goals_are_relabelled() -> None:
    share = "hindsight/relabelled_share"
    made, plain = learner(SMALL), learner(replace(SMALL, hindsight=HindsightConfig()))
    told = [made.update().metrics.get(share) for _ in range(4)]
    assert told[-1] is not None
    assert told[-1].shape == (2,)
    assert bool(((told[-1] > 0.3) & (told[-1] <= 0.8)).all())  # 0.8 are drawn with others
    assert all(share not in plain.update().metrics for _ in range(4))


def test_training_in_hindsight_resumes_bit_for_bit_in_the_middle_of_options() -> None:
    odd = replace(SMALL, steps_per_update=17)  # options take two steps
    made, twin = learner(odd), learner(odd)
    for _ in range(3):
        made.update()
    assert bool((~made._course.is_new).any())  # options are under way
    twin.load_state({name: each.clone() for name, each in made.state().items()})
    for _ in range(2):
        one, other = made.update(), twin.update()
        for name, each in one.metrics.items():
            assert torch.equal(each, other.metrics[name]), name
    state = twin.state()
    assert all(torch.equal(each, state[name]) for name, each in made.state().items())


def test_hindsight_without_goals_is_refused() -> None:
    task = SignalTask(2, 4)
    with pytest.raises(ConfigError, match="hindsight must have goals to relabel"):
        HierarchicalSAC(task, TableView(task.table), SMALL, seed=1)


@pytest.mark.slow
def test_goals_are_reached_more_often_with_hindsight_than_without() -> None:
    head = HeadConfig(hidden=(64, 64), activation="relu", pooling="independent")
    config = replace(
        SMALL,
        **dict.fromkeys(("actor", "critic", "controller"), head),
        **dict.fromkeys(("controller_rate", "temperature_rate"), 1e-3),
        learning_rate=constant(1e-3),
        temperature=0.2,
        controller_entropy=0.3,
        target_normalised_entropy=0.2,
        discount=0.95,
        reach=0.3,
        buffer_size=50_000,
        warm_up=500,
        batch_size=128,
        gradient_steps=4,
        steps_per_update=50,
    )

    def success(hindsight: HindsightConfig) -> float:
        made = learner(replace(config, hindsight=hindsight), CompassTask(3, 4, 1))
        while made.steps < 3_000:
            made.update()
        task = CompassTask(3, 256, 1_001)
        state, seen = task.begin()
        for _ in range(30):
            step = task.step(state, made.act(seen))
            state, seen = step.state, step.observation
        return float((step.reward == 0.0).double().mean())

    assert success(FUTURE) - success(HindsightConfig("off")) > 0.3
