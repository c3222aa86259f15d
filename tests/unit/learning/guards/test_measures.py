"""Measures against numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from tradingbot.learning.guards.history import names_of
from tradingbot.learning.guards.measures import (
    BOX_BINS,
    Runs,
    compare_counts,
    last_selections,
    measure_counts,
    measure_experience,
    measure_metrics,
    measure_played,
    measure_terms,
    n_bins,
    no_runs,
    run_lengths,
    unexecuted_share,
)
from tradingbot.learning.learner import Experience
from tradingbot.learning.playing import PlayResult, bins_of, count_actions
from tradingbot.learning.task import ActionSpec

CODES = ActionSpec("discrete", 3)
NUMBERS = ActionSpec("box", 0, -1.0, 1.0)
CPU = torch.device("cpu")


def experience(
    selected: list[list[float]], executed: list[list[int]], traded: list[list[int]] | None = None
) -> Experience:
    """Steps × environments of one agent."""
    chosen = torch.tensor(selected)[:, None]
    done = torch.tensor(executed)[:, None]
    moved = torch.tensor(traded)[:, None].bool() if traded is not None else done != 0
    reward = torch.zeros(chosen.shape)
    return Experience(chosen, done, moved, reward, torch.zeros(1, 1, chosen.shape[2]))


def test_actions_are_counted_per_agent() -> None:
    actions = torch.tensor([[[0, 0], [1, 2]], [[0, 2], [2, 2]]])  # (S, N, B)

    assert count_actions(actions, CODES, BOX_BINS).tolist() == [[3, 0, 1], [0, 1, 3]]


def test_numbers_fall_in_bins_of_equal_width_and_nan_in_the_first() -> None:
    numbers = torch.tensor([-1.0, -0.82, -0.81, 0.0, 1.0, 7.0, -7.0, math.nan, math.inf])

    assert bins_of(numbers, NUMBERS, BOX_BINS).tolist() == [0, 0, 1, 5, 10, 10, 0, 0, 10]


def test_window_is_made_of_whole_steps_from_the_end() -> None:
    selected = torch.arange(10)[:, None, None].expand(10, 1, 4)

    assert last_selections(selected, 9)[:, 0, 0].tolist() == [7, 8, 9]
    assert len(last_selections(selected, 1_000)) == 10


def test_runs_are_of_the_same_trade_and_end_where_nothing_is_traded() -> None:
    codes = [[1], [1], [2], [2], [2], [0], [2]]
    lengths, after = run_lengths(experience(codes, codes), CODES, no_runs(1, 1, CPU))

    assert lengths.flatten().tolist() == [1, 2, 1, 2, 3, 0, 1]
    assert (after.code.item(), after.length.item()) == (2, 1)


def test_runs_go_on_over_updates() -> None:
    before = Runs(torch.tensor([[1, 2]]), torch.tensor([[4, 6]]))
    codes = [[1, 1], [1, 1]]
    lengths, after = run_lengths(experience(codes, codes), CODES, before)

    assert lengths[:, 0, 0].tolist() == [5, 6]
    assert lengths[:, 0, 1].tolist() == [1, 2]
    again, _ = run_lengths(experience(codes, codes), CODES, after)
    assert again[:, 0, 0].tolist() == [7, 8]


def test_holding_the_same_code_without_a_trade_is_no_run() -> None:
    lengths, _ = run_lengths(
        experience([[1], [1]], [[1], [1]], [[0], [0]]), CODES, no_runs(1, 1, CPU)
    )

    assert lengths.flatten().tolist() == [0, 0]


def test_numbers_of_another_bin_are_another_trade() -> None:
    made = experience([[0.1], [0.1], [0.9], [0.9]], [[1]] * 4)
    lengths, _ = run_lengths(made, NUMBERS, no_runs(1, 1, CPU))

    assert lengths.flatten().tolist() == [1, 2, 1, 2]


def test_codes_not_carried_out_are_those_that_differ() -> None:
    made = experience([[1, 2], [0, 1]], [[1, 0], [0, 0]])

    assert unexecuted_share(made, CODES).tolist() == [0.5]


LOW_THEN_HIGH = [[-0.9], [-0.4], [-0.7], [0.0], [0.5], [0.9], [0.6]]
HIGH_THEN_LOW = [[-number] for (number,) in LOW_THEN_HIGH]


@pytest.mark.parametrize("course", [LOW_THEN_HIGH, HIGH_THEN_LOW])
def test_numbers_not_carried_out_are_reversals_without_a_deed(course: list[list[float]]) -> None:
    def share(deed_at: int | None) -> float:
        executed = [[int(step == deed_at)] for step in range(len(course))]
        return unexecuted_share(experience(course, executed), NUMBERS).item()

    assert share(None) == 1.0
    assert share(6) == 0.0
    assert share(3) == 0.0
    assert share(2) == 1.0  # what was done before the turn is no answer to it


def test_numbers_that_never_turn_around_tell_nothing_of_execution() -> None:
    only_low = experience([[-0.9], [-0.4], [-0.9], [-0.4], [-0.9]], [[0]] * 5)
    too_short = experience([[-0.9], [-0.9], [-0.9], [0.9], [0.9]], [[0]] * 5)

    assert unexecuted_share(only_low, NUMBERS).isnan().all()
    assert unexecuted_share(too_short, NUMBERS).isnan().all()


def test_side_that_is_carried_out_speaks_for_the_other() -> None:
    """Down to nothing held, and up again: an end of the episode may have emptied the account."""
    course = [[0.9]] * 3 + [[-0.9]] * 3 + [[0.9]] * 3
    made = experience(course, [[0]] * 8 + [[1]])

    assert unexecuted_share(made, NUMBERS).item() == 0.0


def test_terms_are_weighed_by_size_so_that_gain_and_loss_do_not_cancel() -> None:
    terms = torch.tensor([[[3.0, -3.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]])  # (K, N, B)
    which, share, count = measure_terms(terms)

    assert (which[0].item(), share[0].item(), count.tolist()) == (0.0, 0.75, [2.0, 0.0])
    assert share[1].isnan()


def test_experience_is_measured() -> None:
    made = experience([[1, 1], [0, 2]], [[1, 0], [0, 2]], [[1, 0], [0, 1]])
    made = made._replace(reward=torch.tensor([[[3.0, math.nan]], [[-1.0, 4.0]]]))
    lengths = torch.tensor([[[6, 0]], [[0, 5]]])
    found = measure_experience(made, CODES, lengths, repeats=5)

    assert found["rollout/idle_share"].item() == 0.5
    assert found["rollout/voluntary_share"].item() == 0.5
    stopped = made._replace(traded=torch.ones_like(made.traded))  # two steps that asked for nothing
    found = measure_experience(stopped, CODES, lengths, repeats=5)
    assert found["rollout/voluntary_share"].item() == 0.5
    assert found["rollout/longest_run"].item() == 6
    assert found["rollout/repeat_share"].item() == 0.25
    assert found["rollout/bad_rewards"].item() == 1
    assert found["rollout/bad_actions"].item() == 0
    assert found["rollout/reward_mean"].item() == pytest.approx(2.0)
    deviation = math.sqrt(26 / 3 - 4)
    assert found["rollout/reward_scale"].item() == pytest.approx(math.sqrt(26 / 3))
    assert found["rollout/reward_deviation"].item() == pytest.approx(deviation)
    assert found["rollout/reward_error"].item() == pytest.approx(deviation / math.sqrt(3))


def test_selected_nan_is_counted() -> None:
    made = experience([[math.nan, 0.0], [math.inf, 0.5]], [[0, 0], [0, 0]])
    found = measure_experience(made, NUMBERS, torch.zeros(2, 1, 2), repeats=5)

    assert found["rollout/bad_actions"].item() == 2


def test_play_is_measured() -> None:
    shape = (2, 1, 2)
    reward = torch.tensor([1.0, 2.0, 3.0, 6.0]).view(shape)
    played = PlayResult(
        reward,
        torch.ones(3, 1, 2),
        torch.zeros(shape),
        torch.tensor([0, 1, 0, 0]).view(shape),
        torch.tensor([False, True, False, False]).view(shape),
        torch.zeros(shape).bool(),
    )
    found = measure_played(played)

    assert found["eval/idle_share"].item() == 0.75
    assert found["eval/trade_share"].item() == 0.25
    assert found["eval/reward_mean"].item() == 3.0
    assert found["eval/reward_error"].item() == pytest.approx(math.sqrt(3.5 / 4))


def test_metrics_are_taken_over_and_the_rest_is_unknown() -> None:
    metrics = {
        "policy/normalised_entropy": torch.tensor([0.5, 0.6]),
        "loss/policy": torch.tensor([1.0, math.nan]),
        "loss/value": torch.tensor(math.inf),
        "grad/norm": torch.tensor([0.1, 2.0]),
        "loss/gradient_norm_actor": torch.tensor(0.7),
    }
    found = measure_metrics(metrics, 2, CPU)

    assert found["policy/normalised_entropy"].tolist() == pytest.approx([0.5, 0.6])
    assert found["loss/gradient_norm"].tolist() == pytest.approx([0.7, 2.0])
    assert found["loss/bad_losses"].tolist() == [1.0, 2.0]
    assert found["value/explained_variance"].isnan().all()
    assert found["update/skipped"].tolist() == [0.0, 0.0]
    assert all(number.shape == (2,) for number in found.values())


def test_histogram_is_told_by_its_largest_bin_and_entropy() -> None:
    found = measure_counts(torch.tensor([[0.0, 3.0, 1.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]), "x")

    assert found["x/largest_code"][:2].tolist() == [1.0, 0.0]
    assert found["x/largest_share"][:2].tolist() == pytest.approx([0.75, 1 / 3])
    assert found["x/entropy"][1].item() == pytest.approx(1.0)
    assert found["x/entropy"][0].item() == pytest.approx(0.5119, abs=1e-4)
    assert all(number[2].isnan() for number in found.values())


def test_codes_are_compared_code_by_code() -> None:
    found = compare_counts(
        torch.tensor([[97.0, 3.0, 0.0]]), torch.tensor([[41.0, 30.0, 29.0]]), CODES
    )

    assert found["eval/share_in_sampling"].item() == pytest.approx(0.41)
    assert found["eval/gap"].item() == pytest.approx(0.56)


def test_numbers_are_compared_by_thirds() -> None:
    middle, spread = torch.zeros(1, BOX_BINS), torch.ones(1, BOX_BINS)
    middle[0, 5] = 1.0
    found = compare_counts(middle, spread, NUMBERS)

    assert found["eval/share_in_sampling"].item() == pytest.approx(4 / 11)
    assert found["eval/gap"].item() == pytest.approx(7 / 11)


@pytest.mark.parametrize("action", [CODES, NUMBERS, ActionSpec.simplex(4)], ids=lambda a: a.kind)
def test_every_bin_has_a_name(action: ActionSpec) -> None:
    task = SimpleNamespace(action=action, agent_names=("A",), code_names=(), term_names=())

    assert len(names_of(cast(Any, task)).bins) == n_bins(action)
