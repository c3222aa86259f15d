"""Direct gradients as the catalogue knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tradingbot.learning.action_policy import n_numbers
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.learner_spec import LearnerSpec, MeasuredSettings
from tradingbot.learning.schedules import Schedule
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash, SquashKind
from tradingbot.networks.heads import HeadConfig, Pooling

if TYPE_CHECKING:
    from tradingbot.learning.direct.learner import Direct


def _build(*args: Any, **options: Any) -> Direct:
    from tradingbot.learning.direct.learner import Direct

    return Direct(*args, **options)


def _actor_layout(
    config: DirectConfig, action: ActionSpec, private: tuple[str, ...]
) -> ActorLayout:
    kind: SquashKind = "softmax" if action.kind == "simplex" else "sigmoid"
    squash = Squash(kind, config.squash_gain, action.low, action.high, config.act_levels)
    return ActorLayout(
        "actor.", config.actor, n_numbers(action), squash, private, action.n_components
    )


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates, chunk_bars = 16, 150, 64
    config = DirectConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        chunk_bars=chunk_bars,
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=updates * chunk_bars * n_envs),
    )
    return MeasuredSettings(config, n_envs, updates)


SPEC = LearnerSpec(
    name="direct",
    config=DirectConfig,
    build=_build,
    actor_layout=_actor_layout,
    action_kinds=("box", "simplex"),
    steps_per_update="chunk_bars",
    measured=_measured,
)
