from __future__ import annotations

import pytest
import torch
from torch import nn

from tradingbot.learning.ppo.improvement import Parameters, forget_momentum, prepare_gradients


def parameter(gradient: list) -> nn.Parameter:
    made = nn.Parameter(torch.ones_like(torch.tensor(gradient)))
    made.grad = torch.tensor(gradient)
    return made


def test_own_gradients_are_clipped_agent_by_agent() -> None:
    first, second = parameter([[3.0, 0.0], [0.3, 0.0]]), parameter([[4.0], [0.4]])
    parameters = Parameters({"weights.0": first, "biases.0": second}, {})

    norm = prepare_gradients(parameters, torch.ones(2), limit=1.0, weight_decay=0.0)

    assert norm.tolist() == pytest.approx([5.0, 0.5])
    torch.testing.assert_close(first.grad, torch.tensor([[0.6, 0.0], [0.3, 0.0]]))
    torch.testing.assert_close(second.grad, torch.tensor([[0.8], [0.4]]))


def test_shared_gradients_become_means_and_are_clipped_together() -> None:
    shared = parameter([6.0, 8.0])

    norm = prepare_gradients(
        Parameters({}, {"biases.0": shared}), torch.ones(2), limit=1.0, weight_decay=0.0
    )

    assert norm.tolist() == pytest.approx([5.0, 5.0])
    torch.testing.assert_close(shared.grad, torch.tensor([0.6, 0.8]))


def test_weights_decay_but_biases_deviations_and_stopped_agents_do_not() -> None:
    own = {"actor.weights.0": parameter([[0.0], [0.0]]), "actor.deviations": parameter([[0.0]] * 2)}
    shared = {"critic.weights.0": parameter([[0.0]]), "critic.biases.0": parameter([0.0])}

    prepare_gradients(
        Parameters(own, shared), torch.tensor([1.0, 0.0]), limit=9.0, weight_decay=0.1
    )

    assert own["actor.weights.0"].grad.flatten().tolist() == pytest.approx([0.1, 0.0])
    assert own["actor.deviations"].grad.flatten().tolist() == [0.0, 0.0]
    assert shared["critic.weights.0"].grad.item() == pytest.approx(0.1)
    assert shared["critic.biases.0"].grad.item() == 0.0


def test_agent_without_momentum_and_gradient_stands_still() -> None:
    own = nn.Parameter(torch.ones(2, 3))
    parameters = Parameters({"weights.0": own}, {})
    optimiser = torch.optim.Adam([own], lr=0.1, fused=True)
    for _ in range(3):
        own.grad = torch.ones(2, 3)
        optimiser.step()
    before, active = own.detach().clone(), torch.tensor([1.0, 0.0])

    own.grad = torch.ones(2, 3) * active[:, None]
    forget_momentum(optimiser, parameters, active)
    optimiser.step()

    assert torch.equal(own[1], before[1])
    assert not torch.equal(own[0], before[0])
