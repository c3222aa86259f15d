"""Evolution strategies as the catalogue knows them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.learner_spec import ACTOR_LAYOUT, LearnerSpec, MeasuredSettings
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig, Pooling


def _measured(pooling: Pooling) -> MeasuredSettings:
    n_envs, updates = 5, 60
    head = HeadConfig(hidden=(64,), activation="relu", pooling=pooling)
    config = ESConfig(actor=head, act_levels=2)
    over = updates * config.generation_steps * n_envs
    rate = Schedule("cosine", 0.01, 0.0, over=over)
    return MeasuredSettings(replace(config, learning_rate=rate), n_envs, updates)


SPEC = LearnerSpec(
    name="es",
    config=ESConfig,
    build=import_on_call("tradingbot.learning.es.learner:ES"),
    actor_layout=partial(import_on_call(ACTOR_LAYOUT), prefix="actor.", kind="sigmoid"),
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="generation_steps",
    update_fields=("bars", "population"),
    trains_encoder=False,
    keeps_rewards="its members are ranked by what the task itself pays",
    measured=_measured,
)
