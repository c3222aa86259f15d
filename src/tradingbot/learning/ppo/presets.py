"""Settings of PPO to start from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tradingbot.learning.entropy import EntropyConfig
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.heads import HeadConfig

_SPEC = PPOConfig(rollout_steps=2048)
_MARKET = PPOConfig(
    # Two years of hourly bars: a small head overfits later.
    actor=HeadConfig(hidden=(64,)),
    critic=HeadConfig(hidden=(64,), output_gain=1.0),
    rollout_steps=64,
    n_epochs=4,
    minibatch=512,
    # A signal of some ten bars: a longer horizon only adds noise to the advantages.
    discount=0.9,
    decay=0.9,
    gradient_clip=1.0,
    kl_stop=0.0,
    # To nothing within 120 updates of 32 environments.
    learning_rate=Schedule("cosine", 3e-3, 0.0, over=245_760),
    # Advantages have deviation 1 and the signal is a few hundredths of it: what shrinks weights
    # must be smaller still, or the directions are gone before agents begin to differ.
    weight_decay=5e-4,
    deviation_penalty=1e-3,
    entropy=EntropyConfig(coefficient=constant(0.003), target=0.0, floor=0.0, guard_entropy=0.0),
    normalise_advantages="rollout",
    # Holding a little more or less earns nothing and pays costs.
    act_levels=2,
)
PPO_PRESETS: Mapping[str, PPOConfig] = MappingProxyType({"spec": _SPEC, "market": _MARKET})
"""`spec`: the specification's numbers, for 8 environments. `market`: tuned on planted edge, with 32
environments of each agent and 120 updates."""
