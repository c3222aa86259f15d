"""SAC as the catalogue knows it."""

from __future__ import annotations

from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig, Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates, steps_per_update = 16, 45, 64
    heads = HeadConfig(hidden=(64, 64), activation="relu", pooling=pooling)
    config = SACConfig(
        actor=heads,
        critic=heads,
        learning_rate=Schedule("cosine", 1e-3, 0.0, over=updates * steps_per_update * n_envs),
        temperature_rate=1e-3,
        discount=0.95,
        steps_per_update=steps_per_update,
        deviation_penalty=0.01,
        act_levels=2,
    )
    return MeasuredSettings(config, n_envs, updates)


SPEC = LearnerSpec(
    name="sac",
    config=SACConfig,
    build=import_on_call("tradingbot.learning.sac.learner:SAC"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="actor.", kind="tanh"),
    action_kinds=("box",),
    steps_per_update="steps_per_update",
    warm_up="warm_up",
    takes_auxiliary=True,
    takes_reward_transform=True,
    critic_prefix="networks/critic.",
    critic=import_on_call("tradingbot.learning.sac.critic:open_critic"),
    measured=_measured,
)
