"""Hierarchical SAC as the catalogue knows it."""

from __future__ import annotations

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.learner_spec import LearnerSpec

SPEC = LearnerSpec(
    name="hierarchical_sac",
    config=HierarchicalSACConfig,
    build=import_on_call("tradingbot.learning.hierarchical_sac.learner:HierarchicalSAC"),
    actor_layout=import_on_call("tradingbot.learning.hierarchical_sac.layout:low_level_layout"),
    action_kinds=("box",),
    steps_per_update="steps_per_update",
    warm_up="warm_up",
    takes_reward_transform=True,
    takes_options=True,
)
