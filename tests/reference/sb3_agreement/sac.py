"""Our SAC and Stable-Baselines3's compute the same losses and gradients from the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.errors import MissingExtraError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.sac.critic import TwinCritic
from tradingbot.learning.sac.networks import Aim, ReplayBatch, SoftNetworks
from tradingbot.learning.task import Task
from tradingbot.networks.distributions import SquashedGaussian
from tradingbot.networks.heads import StackedHead
from tradingbot_benchmarks.learning.sac.reference import CommonSetting
from tradingbot_benchmarks.learning.task_vec_env import TaskVecEnv

try:
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.type_aliases import ReplayBufferSamples
    from stable_baselines3.sac.sac import SAC as Sb3SAC  # noqa: N811
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e

_SB3_LOG_STD = (-20.0, 2.0)
_SB3_TARGET_ENTROPY = -1.0
"""Nats on [−1, 1], for one action: `target_entropy="auto"`."""
_UNLIKE = 0.05
"""Deviation of what is added to weights of target critics."""


class Agreement(NamedTuple):
    """Largest difference between ours and SB3's, of the largest number in SB3's tensor."""

    losses: float
    actor_gradients: float
    critic_gradients: float
    temperature_gradient: float


def compare_losses(task: Task, setting: CommonSetting, *, seed: int = 0) -> Agreement:
    """Run one gradient step of SB3's own `train`, and ours with its weights, batch and noise.

    Weights do not move meanwhile, so both see the same critics. Ours bounds the deviation of the
    policy as SB3 does here, by cutting it off.
    """
    env = TaskVecEnv(task)
    config, weights = setting.ours(), make_generator(seed, "reference", "weights")
    networks = _ClampedNetworks(1, env.width, config, weights)
    for parameter in networks.target_critic.parameters():
        # Else nobody could tell the slow copies from the critics.
        parameter.data.add_(torch.randn(parameter.shape, generator=weights), alpha=_UNLIKE)
    model = setting.sb3(env, seed)
    _give_weights(networks, model)
    batch = _draw_batch(env.width, setting.batch_size, make_generator(seed, "reference", "batch"))
    losses = networks.losses(batch, Aim(torch.tensor([_SB3_TARGET_ENTROPY]), torch.ones(1)))
    for loss, part in ((losses.critic, networks.critic), (losses.actor, networks.actor)):
        torch.autograd.backward(loss.sum(), inputs=list(part.parameters()))
    torch.autograd.backward(losses.temperature.sum(), inputs=[networks.log_temperature])
    theirs = _train_once(model, batch)
    ours = _Trained(
        [losses.critic.detach(), losses.actor.detach(), losses.temperature.detach()],
        list(sb3_actor(networks.actor, _gradient).values()),
        list(sb3_critic(networks.critic, _gradient).values()),
        [_gradient(networks.log_temperature)],
    )
    return Agreement(*map(_difference, ours, theirs))


class _ClampedNetworks(SoftNetworks):
    """Ours, but for the bounds of the policy's deviation."""

    def policy(self, x: Tensor) -> SquashedGaussian:
        mean, log_std = self.actor(x).unbind(-1)
        return SquashedGaussian(mean, log_std.clamp(*_SB3_LOG_STD), -1.0, 1.0)


class _Trained(NamedTuple):
    losses: list[Tensor]
    """Of critics, actor and temperature."""
    actor: list[Tensor]
    """Gradients, in the order of SB3's parameters."""
    critic: list[Tensor]
    temperature: list[Tensor]


def _train_once(model: Sb3SAC, batch: ReplayBatch) -> _Trained:
    """Call SB3's `train` with a batch of ours, and take its gradients instead of applying them."""
    taken: dict[str, list[Tensor]] = {}
    optimisers: dict[str, Any] = {
        "actor": model.actor.optimizer,
        "critic": model.critic.optimizer,
        "temperature": model.ent_coef_optimizer,
    }
    for name, optimiser in optimisers.items():
        optimiser.step = partial(_take_gradients, taken, name, optimiser)
    continues, reward = batch.continues[0, :, None], batch.reward[0, :, None]
    action = batch.action[0, :, None]
    sampled = ReplayBufferSamples(batch.x[0], action, batch.final_x[0], 1.0 - continues, reward)
    buffer: Any = model.replay_buffer
    buffer.sample = lambda *_, **__: sampled
    policy: Any = model.actor.action_dist
    policy.sample = partial(_sample_with, policy, iter(batch.noise[:, 0, :, None]))
    model.set_logger(Logger(folder=None, output_formats=[]))
    model.train(1, len(reward))
    losses = [
        torch.tensor([model.logger.name_to_value[f"train/{name}_loss"]])
        for name in ("critic", "actor", "ent_coef")
    ]
    return _Trained(losses, taken["actor"], taken["critic"], taken["temperature"])


def _take_gradients(taken: dict[str, list[Tensor]], name: str, optimiser: Any) -> None:
    taken[name] = [x.grad.clone() for group in optimiser.param_groups for x in group["params"]]


def _sample_with(policy: Any, noise: Iterator[Tensor]) -> Tensor:
    gaussian = policy.distribution
    policy.gaussian_actions = gaussian.mean + gaussian.stddev * next(noise)
    return torch.tanh(policy.gaussian_actions)


def _draw_batch(width: int, count: int, generator: torch.Generator) -> ReplayBatch:
    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    continues = (normal(1, count) < 1.0).float()
    return ReplayBatch(
        normal(1, count, width),
        torch.tanh(normal(1, count)),
        normal(1, count),
        continues,
        normal(1, count, width),
        normal(2, 1, count),
    )


def _give_weights(networks: SoftNetworks, model: Sb3SAC) -> None:
    model.actor.load_state_dict(sb3_actor(networks.actor, _weight))
    model.critic.load_state_dict(sb3_critic(networks.critic, _weight))
    model.critic_target.load_state_dict(sb3_critic(networks.target_critic, _weight))


def sb3_actor(actor: StackedHead, tensor_of: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Lay the weights of a pooled actor out as SB3 names them, in SB3's order."""
    named: dict[str, Tensor] = {}
    for place, (weight, bias) in enumerate(zip(actor.weights, actor.biases, strict=True)):
        laid = {"weight": tensor_of(weight).T.contiguous(), "bias": tensor_of(bias)}
        if place < len(actor.weights) - 1:
            named |= {f"latent_pi.{2 * place}.{kind}": part for kind, part in laid.items()}
        else:
            named |= {f"mu.{kind}": part[:1] for kind, part in laid.items()}
            named |= {f"log_std.{kind}": part[1:] for kind, part in laid.items()}
    return named


def sb3_critic(critic: TwinCritic, tensor_of: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Lay the weights of pooled critics out as SB3 names them, in SB3's order."""
    first = torch.cat([tensor_of(critic.observation_weight), tensor_of(critic.action_weight)], 1)
    weights = [first, *map(tensor_of, critic.weights), tensor_of(critic.output_weight)]
    biases = [*map(tensor_of, critic.biases), tensor_of(critic.output_bias)]
    named = {}
    for copy in range(2):
        for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            named[f"qf{copy}.{2 * place}.weight"] = weight[copy].T.contiguous()
            named[f"qf{copy}.{2 * place}.bias"] = bias[copy, 0]
    return named


def _weight(parameter: Tensor) -> Tensor:
    return parameter.detach()


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def _difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """Return the largest difference, of the largest number of SB3's tensor."""
    return max(
        float((mine - other).abs().max() / other.abs().max())
        for mine, other in zip(ours, theirs, strict=True)
    )
