"""What is fixed of a run before it begins."""

from __future__ import annotations

from tradingbot.runs import RunPlan
from tradingbot.runs.environment import describe_environment, git_state, source_sha256
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.setup import choose_device


def plan_run(config: TrainConfig, data: TrainingData) -> RunPlan:
    """Say what is run, on what data, code and machine."""
    return RunPlan(
        learner=config.learner.name,
        config=config.as_mapping(),
        data=data.identity,
        code_sha256=source_sha256(),
        seed=config.seed,
        environment=describe_environment(str(choose_device(config.device))),
        git=git_state(),
        periods=data.periods,
        tracking=config.tracking_mapping(),
    )
