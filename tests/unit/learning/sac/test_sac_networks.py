"""All losses of a gradient step at once: each moves its own weights and no others."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.learning.generators import make_generator
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.networks import Aim, Losses, ReplayBatch, SoftNetworks
from tradingbot.networks.head_config import HeadConfig

N, M, WIDTH = 2, 16, 4
HEAD = HeadConfig(hidden=(8, 6), activation="relu", output_gain=1.0)


def make() -> tuple[SoftNetworks, ReplayBatch]:
    generator = make_generator(0, "networks")

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    networks = SoftNetworks(N, WIDTH, SACConfig(actor=HEAD, critic=HEAD), generator)
    action, continues = torch.tanh(normal(N, M)), torch.ones(N, M)
    batch = ReplayBatch(
        normal(N, M, WIDTH), action, normal(N, M), continues, normal(N, M, WIDTH), normal(2, N, M)
    )
    return networks, batch


def losses_of(networks: SoftNetworks, batch: ReplayBatch) -> Losses:
    return networks.losses(batch, Aim(torch.full((N,), -1.0), torch.ones(N)))


@pytest.mark.parametrize(
    ("loss", "own"),
    [("critic", "critic."), ("actor", "actor."), ("temperature", "log_temperature")],
)
def test_each_loss_has_gradients_in_its_own_weights_and_no_others(loss: str, own: str):
    networks, batch = make()
    getattr(losses_of(networks, batch), loss).sum().backward()
    moved = {name for name, weight in networks.named_parameters() if weight.grad is not None}
    assert moved == {name for name, _ in networks.named_parameters() if name.startswith(own)}


def test_log_density_of_new_actions_is_that_of_their_distribution():
    networks, batch = make()
    policy = networks.policy(batch.x)
    unsquashed = policy.mean + policy.log_std.exp() * batch.noise[0]
    expected = policy.log_prob(unsquashed)
    torch.testing.assert_close(losses_of(networks, batch).log_prob, expected.detach())
