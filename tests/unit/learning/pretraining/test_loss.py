"""Losses are relative to the best constant answer."""

from __future__ import annotations

import math

import pytest
import torch

from tradingbot.domain.errors import DataError
from tradingbot.learning.pretraining.loss import (
    TaskHeads,
    constant_of,
    point_losses,
    relative_loss,
)
from tradingbot.learning.pretraining.targets import AuxiliaryTarget


def numbers() -> AuxiliaryTarget:
    values = torch.tensor([[1.0, 3.0, 100.0], [1.0, 3.0, 5.0]])
    valid = torch.tensor([[True, True, False], [True, True, True]])
    return AuxiliaryTarget(torch.where(valid, values, 0.0), valid, horizon_bars=1)


def classes() -> AuxiliaryTarget:
    values = torch.tensor([[0, 1, 1], [1, 2, 2]])
    return AuxiliaryTarget(values, torch.ones(2, 3, dtype=torch.bool), 1, n_classes=3)


def test_constant_of_numbers_is_their_mean_and_costs_their_variance() -> None:
    target = numbers()

    constant = constant_of(target, target.valid)

    assert constant.answer.item() == pytest.approx(2.6)
    assert constant.loss.item() == pytest.approx(2.24)


def test_constant_of_classes_is_their_frequency_and_costs_their_entropy() -> None:
    target = classes()

    constant = constant_of(target, target.valid)

    entropy = -sum(share * math.log(share) for share in (1 / 6, 1 / 2, 1 / 3))
    assert constant.answer.exp().tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 3])
    assert constant.loss.item() == pytest.approx(entropy, rel=1e-6)


@pytest.mark.parametrize("make", [numbers, classes])
def test_relative_loss_of_the_constant_is_one(make: object) -> None:
    target = make()  # type: ignore[operator]
    constant = constant_of(target, target.valid)
    shape = (*target.values.shape, 3) if target.n_classes else target.values.shape
    points = point_losses(constant.answer.expand(shape), target.values, n_classes=target.n_classes)

    assert relative_loss(points, target.valid, constant).item() == pytest.approx(1.0, rel=1e-5)


def test_relative_loss_without_a_bar_that_counts_is_zero() -> None:
    target = numbers()
    constant = constant_of(target, target.valid)

    loss = relative_loss(torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bool), constant)

    assert loss.item() == 0.0


def test_bars_that_do_not_count_give_no_gradient() -> None:
    target = numbers()
    constant = constant_of(target, target.valid)
    answer = torch.zeros(2, 3, requires_grad=True)

    points = point_losses(answer, target.values, n_classes=0)
    relative_loss(points, target.valid, constant).backward()

    assert answer.grad is not None
    assert answer.grad[0, 2] == 0.0
    assert (answer.grad[target.valid] != 0.0).all()


@pytest.mark.parametrize("counted", [0, 1])
def test_task_whose_answers_do_not_vary_is_refused(counted: int) -> None:
    target = numbers()
    counts = torch.zeros(2, 3, dtype=torch.bool)
    counts[0, :counted] = True

    with pytest.raises(DataError, match="answers that vary"):
        constant_of(target, counts)


def test_heads_begin_near_the_constant_and_have_one_output_per_class() -> None:
    targets = {"a": numbers(), "b": classes()}
    constants = {name: constant_of(target, target.valid) for name, target in targets.items()}
    heads = TaskHeads(8, targets, torch.Generator().manual_seed(0))

    answers = heads(torch.zeros(2, 5, 8), constants)

    assert answers["a"].shape == (2, 5)
    assert answers["b"].shape == (2, 5, 3)
    assert torch.allclose(answers["a"], torch.tensor(2.6))
    assert torch.allclose(answers["b"], constants["b"].answer)


def test_answers_and_mask_of_different_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="share one"):
        AuxiliaryTarget(torch.zeros(2, 3), torch.ones(2, 2, dtype=torch.bool), 1)


def test_classes_that_are_not_whole_are_refused() -> None:
    with pytest.raises(DataError, match="whole numbers"):
        AuxiliaryTarget(torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool), 1, n_classes=3)
