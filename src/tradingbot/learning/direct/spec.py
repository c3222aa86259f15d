"""Direct gradients as the catalogue knows them."""

from __future__ import annotations

from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig, Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates, chunk_bars = 16, 300, 64
    config = DirectConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        chunk_bars=chunk_bars,
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=updates * chunk_bars * n_envs),
        fold_bars=128,
        deviation_rate=10.0,
        direction_rate=3.0,
    )
    return MeasuredSettings(config, n_envs, updates)


SPEC = LearnerSpec(
    name="direct",
    config=DirectConfig,
    build=import_on_call("tradingbot.learning.direct.learner:Direct"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="actor.", kind="sigmoid"),
    action_kinds=("box", "simplex"),
    steps_per_update="chunk_bars",
    learns_reward=lambda config: config.objective == "reward",
    takes_auxiliary=True,
    takes_members=True,
    tells_entropy=False,
    keeps_rewards="it follows the gradient of what the task itself pays",
    differentiates=True,
    measured=_measured,
)
