"""What of a training can be done by workers; the rest is done where its learner is."""

from __future__ import annotations

from tradingbot.domain.errors import ConfigError
from tradingbot.training.config import TrainConfig
from tradingbot.training.setting_conditions import pretrains


def require_divided(config: TrainConfig, *, begins: bool) -> None:
    """Refuse workers elsewhere for a training that would not use them.

    Args:
        config: Of it.
        begins: Whether the run is new: one that is gone on with has its encoder.

    Raises:
        ConfigError: Saying what would use them.
    """
    learner = config.learner
    has_actors = learner.name == "impala" and learner.settings.in_processes
    has_parts = begins and pretrains(config) and config.pretraining.shards > 1
    if has_actors or (has_parts and config.device != "cuda"):
        return
    raise ConfigError(
        "--executor ray must stand with a training that divides its work",
        was=f"learner {config.learner.name}, all of which is done in this process",
        remedy="Add --on-node to train on a node, use --learner impala with "
        "--set learner.impala.in_processes=true, or pre-train an encoder with "
        "--set pretraining.shards=4; else leave --executor out",
    )
