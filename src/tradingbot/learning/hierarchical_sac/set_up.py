"""What hierarchical SAC is built of: a task's options, settings of the low level, the optimiser."""

from __future__ import annotations

import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.device import rate_holder
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.controller import Controller
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.networks import SoftNetworks
from tradingbot.learning.task import Task
from tradingbot.networks.options import Options


def options_of(task: Task) -> Options:
    """Return the options of a task.

    Raises:
        ConfigError: If it has none, or its actions are no single number.
    """
    found: Options | None = getattr(task, "options", None)
    if found is None or task.action.kind != "box" or task.action.n_components:
        raise ConfigError(
            "hierarchical SAC must have options in a task with one number as action",
            was=f"{type(task).__name__}, {task.action.kind}, "
            f"{'no options' if found is None else 'options'}",
            remedy="Train in environment.kind population or goal with continuous actions",
        )
    return found


def low_level_config(config: HierarchicalSACConfig) -> SACConfig:
    """Return the settings of the low level's networks."""
    return SACConfig(
        actor=config.actor,
        critic=config.critic,
        discount=config.discount,
        temperature=config.temperature,
    )


def make_optimiser(
    controller: Controller, low: SoftNetworks, weight_decay: float
) -> torch.optim.Adam:
    """Return one Adam for both levels and their temperatures, in named groups; rates are 0."""
    parts = {
        "controller": [*controller.actor.parameters(), *controller.critics.parameters()],
        "low": [*low.actor.parameters(), *low.critic.parameters()],
        "temperature": [controller.log_temperature, low.log_temperature],
    }
    device = low.log_temperature.device
    groups = [
        {
            "name": name,
            "params": part,
            "weight_decay": 0.0 if name == "temperature" else weight_decay,
            "lr": rate_holder(device),
        }
        for name, part in parts.items()
    ]
    return torch.optim.Adam(groups, fused=True, capturable=device.type == "cuda")
