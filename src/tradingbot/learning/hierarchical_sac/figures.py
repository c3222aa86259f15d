"""What gradient steps of both levels are told by."""

from __future__ import annotations

from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.learning.sac.networks import MEASURED

CONTROLLER = ("loss_value", "loss_policy", "entropy", "value")
"""What is measured of the controller in a gradient step, in this order."""


def learned_metrics(
    low: Tensor, over: Tensor, log_temperature: Tensor, log_temperature_over: Tensor
) -> Metrics:
    """Return figures (N,) of both levels.

    Args:
        low: (K, N) of `MEASURED`, of the low level.
        over: (4, N) of `CONTROLLER`.
        log_temperature: (N,) of the low level.
        log_temperature_over: (N,) of the controller.
    """
    metrics: Metrics = dict(zip(MEASURED, low, strict=True))
    metrics["policy/normalised_entropy"] = 0.5 * metrics["policy/entropy"].exp()
    metrics["policy/temperature"] = log_temperature.detach().exp()
    metrics |= {f"controller/{name}": each for name, each in zip(CONTROLLER, over, strict=True)}
    metrics["controller/temperature"] = log_temperature_over.detach().exp()
    return metrics
