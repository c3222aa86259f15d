"""IMPALA as the catalogue knows it."""

from __future__ import annotations

from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig, Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates, rollout_steps = 32, 240, 64
    config = IMPALAConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        critic=HeadConfig(hidden=(64,), output_gain=1.0, pooling=pooling),
        actors=1,
        in_processes=False,
        rollout_steps=rollout_steps,
        discount=0.9,
        gradient_clip=1.0,
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=updates * rollout_steps * n_envs),
        weight_decay=5e-4,
        entropy_weight=0.003,
        act_levels=2,
    )
    return MeasuredSettings(config, n_envs, updates)


SPEC = LearnerSpec(
    name="impala",
    config=IMPALAConfig,
    build=import_on_call("tradingbot.learning.impala.learner:IMPALA"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="heads.actor.", kind="tanh"),
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="rollout_steps",
    critic_prefix="heads.critic.",
    trains_encoder=False,
    measured=_measured,
)
