"""Objectives of direct gradients equal their definitions."""

from __future__ import annotations

import math

import pytest
import torch

from tradingbot.learning.direct.loss import log_growth, objective_of


def test_log_growth_is_that_of_wealth_and_nothing_where_time_is_up() -> None:
    before = torch.tensor([[1.0, 2.0, 0.5]])
    after = torch.tensor([[1.1, 1.0, 1.0]])
    ended = torch.tensor([[False, False, True]])
    found = log_growth(before, after, ended)
    torch.testing.assert_close(found, torch.tensor([[math.log(1.1), math.log(0.5), 0.0]]))


def test_ruin_gives_finite_growth_and_gradients() -> None:
    after = torch.tensor([[0.0, -0.3]], requires_grad=True)
    found = log_growth(torch.ones(1, 2), after, torch.zeros(1, 2, dtype=torch.bool))
    found.sum().backward()
    assert torch.isfinite(found).all()
    assert torch.isfinite(after.grad).all()


def test_objectives_equal_their_formulas() -> None:
    generator = torch.Generator().manual_seed(0)
    growth = 1e-3 * torch.randn(7, 2, 5, generator=generator, dtype=torch.float64)
    reward = torch.randn(7, 2, 5, generator=generator, dtype=torch.float64)
    for agent in range(2):
        own = growth[:, agent].flatten()
        sharpe = 100 * own.mean() / (own.var(unbiased=False) + 1e-12).sqrt()
        expected = {
            "log_growth": 1e4 * own.mean(),
            "sharpe": sharpe,
            "reward": reward[:, agent].mean(),
        }
        for kind, value in expected.items():
            assert objective_of(kind, growth, reward)[agent] == pytest.approx(float(value))


def test_sharpe_of_what_does_not_vary_has_finite_gradients() -> None:
    growth = torch.zeros(4, 1, 2, requires_grad=True)
    objective_of("sharpe", growth, growth).sum().backward()
    assert torch.isfinite(growth.grad).all()
