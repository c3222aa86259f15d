"""V-trace against numbers by hand, a plain loop, and n-step returns where none is behind."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tradingbot.learning.impala.loss import policy_gradient_loss
from tradingbot.learning.value_targets import generalized_advantage, vtrace

NEVER = torch.zeros(2, 1, dtype=torch.bool)


def test_two_steps_by_hand() -> None:
    log_ratio = torch.tensor([[math.log(0.5)], [math.log(3.0)]])
    reward = torch.tensor([[1.0], [2.0]])
    value_t, value_tp1 = torch.tensor([[0.5], [1.0]]), torch.tensor([[1.0], [4.0]])

    found = vtrace(log_ratio, reward, value_t, value_tp1, NEVER, NEVER, discount=0.9)

    # δ₁ = min(1, 3) (2 + 0.9 · 4 − 1) = 4.6, v₁ = 1 + 4.6; δ₀ = ½ (1 + 0.9 · 1 − ½) = 0.7,
    # v₀ = ½ + 0.7 + 0.9 · ½ · 4.6 = 3.27; advantages r + 0.9 v′ − V.
    torch.testing.assert_close(found.target[:, 0], torch.tensor([3.27, 5.6]))
    advantage = torch.tensor([1.0 + 0.9 * 5.6 - 0.5, 2.0 + 0.9 * 4.0 - 1.0])
    torch.testing.assert_close(found.advantage[:, 0], advantage)


@pytest.mark.parametrize(
    ("decay", "ratio_clip", "trace_clip"), [(1.0, 1.0, 1.0), (1.0, 1.5, 0.7), (0.8, 1.5, 0.7)]
)
def test_whole_tensors_are_a_plain_loop(decay: float, ratio_clip: float, trace_clip: float) -> None:
    parts = steps(13)
    discount = torch.rand(13, 2, 3, generator=torch.Generator().manual_seed(9)).double()

    found = vtrace(
        *parts, discount=discount, decay=decay, ratio_clip=ratio_clip, trace_clip=trace_clip
    )

    target, advantage = by_loop(parts, discount, decay, ratio_clip, trace_clip)
    torch.testing.assert_close(found.target, target)
    torch.testing.assert_close(found.advantage, advantage)


@pytest.mark.parametrize("decay", [1.0, 0.7, 0.0])
def test_without_lag_advantages_are_those_of_ppo_and_targets_its_returns(decay: float) -> None:
    _, *rest = steps(11)
    reward, value_t, *_ = rest

    found = vtrace(torch.zeros_like(reward), *rest, discount=0.9, decay=decay)

    advantage = generalized_advantage(*rest, discount=0.9, decay=decay)
    torch.testing.assert_close(found.advantage, advantage)
    torch.testing.assert_close(found.target, value_t + advantage)


def test_shapes_that_differ_are_refused() -> None:
    log_ratio, *rest = steps(5)

    with pytest.raises(ValueError, match="one shape"):
        vtrace(log_ratio[:-1], *rest, discount=0.9)


def steps(count: int) -> tuple[Tensor, ...]:
    draw = torch.Generator().manual_seed(3)
    numbers = [torch.randn(count, 2, 3, generator=draw).double() for _ in range(4)]
    ends = torch.rand(count, 2, 3, generator=draw)
    log_ratio, reward, value_t, value_tp1 = numbers
    terminated, truncated = ends < 0.1, ends > 0.85
    within = ~(terminated | truncated)[:-1]
    value_tp1[:-1] = torch.where(within, value_t[1:], value_tp1[:-1])
    return log_ratio, reward, value_t, value_tp1, terminated, truncated


def by_loop(
    parts: tuple[Tensor, ...],
    discount: Tensor,
    decay: float,
    ratio_clip: float,
    trace_clip: float,
) -> tuple[Tensor, Tensor]:
    log_ratio, reward, value, following, terminated, truncated = parts
    target, advantage = torch.zeros_like(value), torch.zeros_like(value)
    for n in range(2):
        for b in range(3):
            after, is_last = 0.0, True
            for t in range(len(value) - 1, -1, -1):
                at = (t, n, b)
                ratio = math.exp(log_ratio[at])
                rho, c = min(ratio, ratio_clip), decay * min(ratio, trace_clip)
                successor = 0.0 if terminated[at] else float(following[at])
                ended = is_last or bool(terminated[at] | truncated[at])
                delta = rho * (reward[at] + discount[at] * successor - value[at])
                carried = 0.0 if ended else discount[at] * c * (after - successor_value(value, at))
                next_target = successor if ended else after
                target[at] = value[at] + delta + carried
                mixed = decay * next_target + (1.0 - decay) * successor
                advantage[at] = reward[at] + discount[at] * mixed - value[at]
                after, is_last = float(target[at]), False
    return target, advantage


def successor_value(value: Tensor, at: tuple[int, int, int]) -> float:
    """Value of the next step of the same episode."""
    return float(value[at[0] + 1, at[1], at[2]])


def test_what_the_policy_gave_up_pushes_it_no_further() -> None:
    log_prob = torch.tensor([[-1.0, -9.0, 2.0]], requires_grad=True)
    behaviour, advantage = torch.tensor([[-1.0, -1.0, -1.0]]), torch.tensor([[2.0, -2.0, 1.0]])

    policy_gradient_loss(log_prob, behaviour, advantage, ratio_clip=1.0).sum().backward()

    expected = torch.tensor([[-2.0, 2.0 * math.exp(-8.0), -1.0]]) / 3.0
    torch.testing.assert_close(log_prob.grad, expected)
