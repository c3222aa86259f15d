"""Sections of tools: those that change rewards between collecting and learning, and options."""

from __future__ import annotations

from typing import Annotated

from pydantic import InstanceOf

from tradingbot.agents.options.rules import OptionRules
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.shaping.config import ShapingConfig
from tradingbot.training.library_section import library_section

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
