"""Settings that are accepted act: what was asked for and cannot act is refused, with the reason.

A setting may depend on another one: hold penalties on a learner that learns from the reward,
pre-training on an encoder. Files of the package describe alternatives, so only what the user wrote
is asked about: options, and a file of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradingbot.configuration.conflicts import place_conflict
from tradingbot.configuration.decoding import COMMAND_LINE
from tradingbot.configuration.files import place_of, preset_folder
from tradingbot.configuration.yaml_reader import KeyPath, Place
from tradingbot.domain.errors import ConfigError
from tradingbot.training.condition import Condition
from tradingbot.training.config import TrainConfig
from tradingbot.training.setting_conditions import setting_conditions
from tradingbot.training.tool_conditions import TOOLS


def check_effects(
    config: TrainConfig, places: Mapping[KeyPath, Place], before: TrainConfig | None = None
) -> None:
    """Refuse what the user asked for and what cannot act with the rest of a configuration.

    A value that equals its default passes: it asks for nothing.

    Args:
        config: Checked otherwise.
        places: Where values were written; those of the package's presets are not asked about.
        before: What the values change: its own then ask for nothing, in place of the defaults, and
            what acted there may be turned off.

    Raises:
        ConfigError: Naming the setting, and what must be so for it to act.
    """
    own, conditions = preset_folder("training"), setting_conditions()
    values, defaults = (each.model_dump(mode="json") for each in (config, before or TrainConfig()))
    asked = {keys: place for keys, place in places.items() if place.file.parent != own}
    for keys, place in asked.items():
        is_section = any(other[: len(keys)] == keys and other != keys for other in asked)
        if is_section or _at(values, keys) == _at(defaults, keys):
            continue
        dotted = ".".join(map(str, keys))
        for condition in conditions:
            is_spared = condition.is_alternative and place.file != COMMAND_LINE
            acts = condition.acts(config) or (before is not None and condition.acts(before))
            if is_spared or not _covers(condition, dotted) or acts:
                continue
            raise ConfigError(
                f"{dotted} must act; {condition.needs(config)}",
                was=repr(_at(values, keys))[:60],
                where=place_of(places, keys),
                remedy="Change that too, or leave the setting out",
            )
    _check_tools(config, places, before)


def _check_tools(
    config: TrainConfig, places: Mapping[KeyPath, Place], before: TrainConfig | None
) -> None:
    """Refuse a tool that is on, a preset's too, where the rest keeps it from acting.

    Sections of learners that do not train are alternatives; a tool that is on is asked for.
    """
    for tool in TOOLS:
        for rule in tool.rules if tool.is_on(config) else ():
            was_idle = before is not None and tool.is_on(before) and not rule.acts(before)
            if rule.acts(config) or was_idle:
                continue
            keys = [tuple(key.split(".")) for key in (tool.switch, *rule.keys)]
            raise ConfigError(
                f"{tool.section} must act where it is on; {rule.needs(config)}",
                was=f"{tool.switch}={_at(config.model_dump(mode='json'), keys[0])}",
                where=place_conflict(places, keys),
                remedy=f"Change that, or set {tool.off}",
            )


def _covers(condition: Condition, dotted: str) -> bool:
    return any(f"{dotted}.".startswith(f"{key.removesuffix('.')}.") for key in condition.keys)


def _at(values: Any, keys: KeyPath) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values
