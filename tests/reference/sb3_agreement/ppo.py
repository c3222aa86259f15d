"""Our PPO and Stable-Baselines3's compute the same losses and gradients from the same numbers."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.errors import MissingExtraError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.ppo.improvement import PolicyImprover
from tradingbot.learning.ppo.loss import normalise
from tradingbot.learning.ppo.samples import Minibatch
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.ppo.reference import PPOSetting

try:
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.type_aliases import RolloutBufferSamples
    from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e

_WIDTH, _CODES = 6, 4


class Agreement(NamedTuple):
    """Largest difference between ours and SB3's, of the largest number in SB3's tensor."""

    losses: float
    """Of policy loss, value loss and entropy."""
    gradients: float
    """After clipping, of all weights and biases of actor and critic."""


def compare_losses(setting: PPOSetting, *, seed: int = 0) -> Agreement:
    """Run one minibatch of SB3's own `train`, and ours with its weights and batch.

    Codes, none of them forbidden: SB3's distribution of numbers is another one than ours.
    """
    config = setting.ours("pooled")
    action = ActionSpec("discrete", _CODES)
    weights = make_generator(seed, "reference", "weights")
    network = ActorCritic(1, _WIDTH, action, config, weights)
    view = TableView(torch.zeros(1, 1, _WIDTH))
    improver = PolicyImprover(network, view, config, seed=seed)
    model = setting.sb3(DummyVecEnv([_Spaces]), seed)
    _give_weights(network, model)
    batch = _draw_batch(network, setting.minibatch, make_generator(seed, "reference", "batch"))
    scaled = batch._replace(advantage=normalise(batch.advantage))
    loss, figures = improver.loss(scaled, torch.tensor([setting.entropy_weight]), setting.clip)
    torch.autograd.backward(loss.sum())
    torch.nn.utils.clip_grad_norm_(network.parameters(), config.gradient_clip)
    theirs = _train_once(model, batch)
    gradients = _named(network.actor, network.critic, gradients=True)
    return Agreement(
        max(abs(float(figures[i, 0]) - theirs.losses[i]) for i in range(3)),
        max(_difference(gradients[name], other) for name, other in theirs.gradients.items()),
    )


class _Spaces(gym.Env[Any, Any]):
    """Nothing but spaces."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (_WIDTH,), np.float32)
    action_space = gym.spaces.Discrete(_CODES)


class _Trained(NamedTuple):
    losses: list[float]
    gradients: dict[str, Tensor]


def _train_once(model: Any, batch: Minibatch) -> _Trained:
    """Call SB3's `train` with a batch of ours, and take its gradients instead of applying them."""
    taken: dict[str, Tensor] = {}
    model.n_epochs = 1
    model.policy.optimizer.step = partial(_take_gradients, taken, model.policy)
    value = torch.zeros_like(batch.target[0])
    samples = RolloutBufferSamples(
        batch.inputs[0],
        batch.drawn[0],
        value,
        batch.log_prob[0],
        batch.advantage[0],
        batch.target[0],
    )
    model.rollout_buffer.get = lambda _: [samples]
    model.rollout_buffer.returns[:], model.rollout_buffer.values[:] = 1.0, 1.0
    model.set_logger(Logger(folder=None, output_formats=[]))
    with np.errstate(all="ignore"):
        model.train()
    told = model.logger.name_to_value
    names = ("train/policy_gradient_loss", "train/value_loss", "train/entropy_loss")
    policy, error, entropy = (float(told[name]) for name in names)
    return _Trained([policy, error, -entropy], taken)


def _take_gradients(taken: dict[str, Tensor], policy: Any) -> None:
    taken |= {name: x.grad.clone() for name, x in policy.named_parameters()}


def _draw_batch(network: ActorCritic, count: int, generator: torch.Generator) -> Minibatch:
    inputs = torch.randn(1, count, _WIDTH, generator=generator)
    allowed = torch.ones(1, count, _CODES, dtype=torch.bool)
    codes = torch.randint(_CODES, (1, count), generator=generator)
    with torch.no_grad():
        log_prob = network.policy(inputs, allowed).log_prob(codes)
    # Old probabilities around the new ones, so that some ratios are clipped.
    moved = log_prob + 0.3 * torch.randn(1, count, generator=generator)
    advantage, target = torch.randn(2, 1, count, generator=generator)
    return Minibatch(inputs, allowed, codes, moved, advantage, target)


def _give_weights(network: ActorCritic, model: Any) -> None:
    model.policy.load_state_dict(_named(network.actor, network.critic, gradients=False))


def _named(actor: StackedHead, critic: StackedHead, *, gradients: bool) -> dict[str, Tensor]:
    """Lay pooled heads out as SB3 names them."""
    named: dict[str, Tensor] = {}
    heads = ((actor, "policy_net", "action_net"), (critic, "value_net", "value_net"))
    for head, body, last in heads:
        for place, pair in enumerate(zip(head.weights, head.biases, strict=True)):
            weight, bias = (_gradient(p) if gradients else p.detach() for p in pair)
            hidden = place < len(head.weights) - 1
            name = f"mlp_extractor.{body}.{2 * place}" if hidden else last
            named |= {f"{name}.weight": weight.T.contiguous(), f"{name}.bias": bias}
    return named


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def _difference(mine: Tensor, other: Tensor) -> float:
    return float((mine - other).abs().max() / other.abs().max())
