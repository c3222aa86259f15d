"""What changes rewards between collecting and learning, as a configuration asks for it."""

from __future__ import annotations

from tradingbot.learning.curiosity.transform import Curiosity
from tradingbot.learning.reward_transform import RewardTransform, TransformChain
from tradingbot.training.config import TrainConfig
from tradingbot.training.environment_task import TrainingTask


def build_reward_transform(
    config: TrainConfig, task: TrainingTask, seed: int
) -> RewardTransform | None:
    """Return the transforms of a run, in their order; None where there is none.

    A learner that takes none gets none: asked for, that is refused before.

    Args:
        config: Of the run.
        task: What is learned.
        seed: Root of every random stream.
    """
    if not config.learner.spec.takes_reward_transform:
        return None
    made: dict[str, RewardTransform] = {}
    if config.curiosity.mix > 0.0:
        made["curiosity"] = Curiosity(task, config.curiosity, seed=seed)
    return TransformChain(made) if made else None
