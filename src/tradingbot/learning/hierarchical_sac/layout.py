"""How a checkpoint's low level is read; the controller stands beside it."""

from __future__ import annotations

from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash


def low_level_layout(
    config: HierarchicalSACConfig, action: ActionSpec, private: tuple[str, ...]
) -> ActorLayout:
    """Say how corrections in [−1, 1] are read; `private` has what is seen of options at its end."""
    squash = Squash("tanh", 1.0, -1.0, 1.0)
    return ActorLayout("low_level.", config.actor, 2, squash, private)
