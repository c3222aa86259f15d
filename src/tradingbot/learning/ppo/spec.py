"""PPO as the catalogue knows it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.ppo.config import PPO_PRESETS, PPOConfig
from tradingbot.networks.head_config import Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    preset = PPO_PRESETS["market"]
    actor, critic = (replace(head, pooling=pooling) for head in (preset.actor, preset.critic))
    return MeasuredSettings(replace(preset, actor=actor, critic=critic), n_envs=32, updates=120)


SPEC = LearnerSpec(
    name="ppo",
    config=PPOConfig,
    build=import_on_call("tradingbot.learning.ppo.learner:PPO"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="heads.actor.", kind="tanh"),
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="rollout_steps",
    segment_bars="segment_bars",
    critic_prefix="heads.critic.",
    takes_auxiliary=True,
    takes_members=True,
    takes_reward_transform=True,
    measured=_measured,
)
