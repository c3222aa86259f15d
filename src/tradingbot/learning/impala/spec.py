"""IMPALA as the catalogue knows it."""

from __future__ import annotations

from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.impala.config import IMPALAConfig
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig, Pooling


def market_settings(pooling: Pooling = "partial", over: int = 245_760) -> IMPALAConfig:
    """Return settings tuned on planted edge; the learning rate falls to 0 in `over` steps."""
    return IMPALAConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        critic=HeadConfig(hidden=(64,), output_gain=1.0, pooling=pooling),
        actors=1,
        in_processes=False,
        rollout_steps=64,
        minibatch=512,
        # As PPO's: without the clip, passes over rollouts that are an update old narrow the policy.
        n_epochs=4,
        clip=0.2,
        discount=0.9,
        decay=0.9,
        entropy_weight=0.003,
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=over),
        weight_decay=5e-4,
        act_levels=2,
    )


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates = 32, 120
    over = updates * n_envs * market_settings().rollout_steps
    return MeasuredSettings(market_settings(pooling, over), n_envs, updates)


SPEC = LearnerSpec(
    name="impala",
    config=IMPALAConfig,
    build=import_on_call("tradingbot.learning.impala.learner:IMPALA"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="heads.actor.", kind="tanh"),
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="rollout_steps",
    critic_prefix="heads.critic.",
    trains_encoder=False,
    takes_reward_transform=True,
    measured=_measured,
)
