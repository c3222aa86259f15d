"""Where sections of tools act, and what must be so for that: read by `inert_settings`."""

from __future__ import annotations

from collections.abc import Callable

from tradingbot.training.config import TrainConfig


def _shows(config: TrainConfig, *names: str) -> bool:
    return not config.task.private or {*names} <= {*config.task.private}


TOOL_KEYS = ("curiosity.", "objectives.", "shaping.")
TOOL_RULES: tuple[tuple[str, Callable[[TrainConfig], bool], str], ...] = (
    ("curiosity", lambda c: c.curiosity.mix > 0.0, "curiosity.mix must be above 0"),
    ("shaping", lambda c: c.shaping.weight > 0.0, "shaping.weight must be above 0"),
    (
        "shaping",
        lambda c: c.environment.kind in ("population", "goal"),
        "environment.kind must be population or goal: levels are of the run's own bars",
    ),
    (
        "shaping",
        lambda c: _shows(c, "size", "total_return"),
        "task.private must have size and total_return",
    ),
    ("objectives", lambda c: c.objectives.enabled, "objectives.enabled must be true"),
    (
        "objectives",
        lambda c: c.environment.kind in ("population", "curriculum"),
        "environment.kind must be population or curriculum: others pay one term",
    ),
    ("objectives", lambda c: _shows(c, "total_return"), "task.private must have total_return"),
)
"""Section, where it acts, and what must be so for that."""
