"""SAC as the catalogue knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tradingbot.learning.action_policy import n_policy_outputs
from tradingbot.learning.learner_spec import LearnerSpec, MeasuredSettings
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.schedules import Schedule
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash
from tradingbot.networks.heads import HeadConfig, Pooling

if TYPE_CHECKING:
    from tradingbot.learning.sac.learner import SAC


def _build(*args: Any, **options: Any) -> SAC:
    from tradingbot.learning.sac.learner import SAC

    return SAC(*args, **options)


def _actor_layout(config: SACConfig, action: ActionSpec, private: tuple[str, ...]) -> ActorLayout:
    squash = Squash("tanh", 1.0, action.low, action.high, config.act_levels)
    return ActorLayout(
        "actor.", config.actor, n_policy_outputs(action), squash, private, action.n_components
    )


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
    build=_build,
    actor_layout=_actor_layout,
    action_kinds=("box",),
    steps_per_update="steps_per_update",
    warm_up="warm_up",
    measured=_measured,
)
