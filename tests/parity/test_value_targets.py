"""Readable and fast advantages agree with each other and with closed forms."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.value_targets import (
    generalized_advantage_by_loop,
    lambda_targets_by_loop,
)
from tradingbot.learning.generators import make_generator
from tradingbot.learning.value_targets import generalized_advantage

BOTH = pytest.mark.parametrize(
    "advantage", [generalized_advantage, generalized_advantage_by_loop], ids=["fast", "loop"]
)


def rollout(seed: int, n_steps: int, shape: tuple[int, ...] = (2, 3)) -> tuple[torch.Tensor, ...]:
    generator = make_generator(seed)

    def draw() -> torch.Tensor:
        return torch.randn(n_steps, *shape, generator=generator, dtype=torch.float64)

    reward, value, value_tp1, end = draw(), draw(), draw(), draw()
    return reward, value, value_tp1, end > 1.0, end < -1.0


cases = given(
    st.integers(0, 1000),
    st.integers(1, 70),
    st.sampled_from([0.0, 0.9, 0.99, 1.0]),
    st.floats(0, 1),
)


@cases
@settings(max_examples=40, deadline=None)
def test_fast_advantage_equals_the_loop(seed: int, n: int, discount: float, decay: float) -> None:
    made = rollout(seed, n)
    settings_ = {"discount": discount, "decay": decay}

    torch.testing.assert_close(
        generalized_advantage(*made, **settings_), generalized_advantage_by_loop(*made, **settings_)
    )


@cases
@settings(max_examples=40, deadline=None)
def test_advantage_and_value_are_the_lambda_target(
    seed: int, n: int, discount: float, decay: float
) -> None:
    reward, value, value_tp1, terminated, truncated = rollout(seed, n)
    # Within an episode the value of the successor is the value of the next step.
    goes_on = ~(terminated | truncated)[:-1]
    value_tp1[:-1] = torch.where(goes_on, value[1:], value_tp1[:-1])
    settings_ = {"discount": discount, "decay": decay}
    rest = (value_tp1, terminated, truncated)

    advantage = generalized_advantage(reward, value, *rest, **settings_)

    torch.testing.assert_close(
        advantage + value, lambda_targets_by_loop(reward, *rest, **settings_)
    )


def constant_rollout(n: int, end: str | None, at: int) -> tuple[torch.Tensor, ...]:
    """Reward 1 in every step, value 10 everywhere, one end."""
    never = torch.zeros(n, dtype=torch.bool)
    marked = never.clone()
    marked[at] = True
    ones, tens = torch.ones(n, dtype=torch.float64), torch.full((n,), 10.0, dtype=torch.float64)
    terminated = marked if end == "terminated" else never
    truncated = marked if end == "truncated" else never
    return ones, tens, tens, terminated, truncated


@BOTH
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        # γ = λ = 1: advantage is the sum of rewards to the end, plus 10 unless terminated, less 10.
        ("terminated", [3 - 10, 2 - 10, 1 - 10, 2, 1]),
        ("truncated", [3, 2, 1, 2, 1]),
        (None, [5, 4, 3, 2, 1]),
    ],
)
def test_advantage_at_an_end_inside_has_its_closed_form(advantage, end, expected) -> None:
    made = constant_rollout(5, end, at=2)

    got = advantage(*made, discount=1.0, decay=1.0)

    assert got.tolist() == pytest.approx(expected)


@BOTH
@pytest.mark.parametrize(
    ("end", "expected"), [("terminated", [2 - 10, 1 - 10]), ("truncated", [2, 1])]
)
def test_advantage_at_an_end_in_the_last_step_has_its_closed_form(advantage, end, expected) -> None:
    made = constant_rollout(2, end, at=1)

    assert advantage(*made, discount=1.0, decay=1.0).tolist() == pytest.approx(expected)


@BOTH
def test_advantage_is_zero_where_values_are_right(advantage) -> None:
    discount = 0.9
    value = torch.full((20,), 1.0 / (1.0 - discount), dtype=torch.float64)
    never = torch.zeros(20, dtype=torch.bool)
    truncated = torch.arange(20) % 7 == 0

    got = advantage(
        torch.ones_like(value), value, value, never, truncated, discount=discount, decay=0.95
    )

    torch.testing.assert_close(got, torch.zeros_like(got), atol=1e-12, rtol=0.0)


@BOTH
def test_rewards_after_an_end_do_not_flow_back(advantage) -> None:
    reward, *rest = rollout(1, 12, ())
    terminated, truncated = torch.arange(12) == 4, torch.arange(12) == 8
    changed = reward.clone()
    changed[9:] += 100.0
    rest = [*rest[:2], terminated, truncated]

    first = advantage(reward, *rest, discount=0.9, decay=0.9)
    second = advantage(changed, *rest, discount=0.9, decay=0.9)

    assert torch.equal(first[:9], second[:9])
    assert not torch.equal(first[9:], second[9:])


@BOTH
def test_tensors_that_would_broadcast_are_refused(advantage) -> None:
    reward, value, value_tp1, terminated, truncated = rollout(1, 4)

    with pytest.raises(ValueError, match="must share one shape"):
        advantage(reward, value[:, :1], value_tp1, terminated, truncated, discount=0.9, decay=0.9)
