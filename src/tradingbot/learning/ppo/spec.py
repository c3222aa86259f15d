"""PPO as the catalogue knows it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tradingbot.learning.action_policy import squashed_layout
from tradingbot.learning.learner_spec import LearnerSpec, MeasuredSettings, import_learner
from tradingbot.learning.ppo.config import PPO_PRESETS, PPOConfig
from tradingbot.networks.heads import Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    preset = PPO_PRESETS["market"]
    actor, critic = (replace(head, pooling=pooling) for head in (preset.actor, preset.critic))
    return MeasuredSettings(replace(preset, actor=actor, critic=critic), n_envs=32, updates=120)


SPEC = LearnerSpec(
    name="ppo",
    config=PPOConfig,
    build=import_learner("tradingbot.learning.ppo.learner:PPO"),
    actor_layout=partial(squashed_layout, prefix="heads.actor.", kind="tanh"),
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="rollout_steps",
    segment_bars="segment_bars",
    critic_prefix="heads.critic.",
    measured=_measured,
)
