"""PPO as the catalogue knows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tradingbot.learning.action_policy import n_policy_outputs
from tradingbot.learning.learner_spec import LearnerSpec, MeasuredSettings
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.presets import PPO_PRESETS
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash, SquashKind
from tradingbot.networks.heads import Pooling

if TYPE_CHECKING:
    from tradingbot.learning.ppo.learner import PPO

_ACTOR, _CRITIC = "heads.actor.", "heads.critic."


def _build(*args: Any, **options: Any) -> PPO:
    from tradingbot.learning.ppo.learner import PPO

    return PPO(*args, **options)


def _actor_layout(config: PPOConfig, action: ActionSpec, private: tuple[str, ...]) -> ActorLayout:
    squash = None
    if action.kind != "discrete":
        kind: SquashKind = "softmax" if action.kind == "simplex" else "tanh"
        squash = Squash(kind, 1.0, action.low, action.high, config.act_levels)
    return ActorLayout(
        _ACTOR, config.actor, n_policy_outputs(action), squash, private, action.n_components
    )


def _measured(pooling: Pooling) -> MeasuredSettings:
    preset = PPO_PRESETS["market"]
    actor, critic = (replace(head, pooling=pooling) for head in (preset.actor, preset.critic))
    return MeasuredSettings(replace(preset, actor=actor, critic=critic), n_envs=32, updates=120)


SPEC = LearnerSpec(
    name="ppo",
    config=PPOConfig,
    build=_build,
    actor_layout=_actor_layout,
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="rollout_steps",
    segment_bars="segment_bars",
    critic_prefix=_CRITIC,
    measured=_measured,
)
