"""Sections of tools: those that change rewards between collecting and learning, and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from pydantic import InstanceOf

from tradingbot.agents.options.rules import OptionRules
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.shaping.config import ShapingConfig
from tradingbot.training.library_section import library_section

if TYPE_CHECKING:
    from tradingbot.training.config import TrainConfig

CuriositySection = Annotated[
    InstanceOf[CuriosityConfig], *library_section(CuriosityConfig, "curiosity")
]
ObjectivesSection = Annotated[
    InstanceOf[ObjectivesConfig], *library_section(ObjectivesConfig, "objectives")
]
ShapingSection = Annotated[InstanceOf[ShapingConfig], *library_section(ShapingConfig, "shaping")]
OptionsSection = Annotated[InstanceOf[OptionRules], *library_section(OptionRules, "options")]
PLANNED_OPTIONS = OptionRules()
"""The figures of the plan."""
NO_CURIOSITY, NO_OBJECTIVES, NO_SHAPING = CuriosityConfig(), ObjectivesConfig(), ShapingConfig()
"""Sections as they are where nothing is asked for."""


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
