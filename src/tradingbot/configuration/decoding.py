"""From documents and options to frozen objects: the one way in, whatever the object is made of.

A section is a pydantic model where pipelines are configured, and a dataclass where the library's
own settings are; both come through `decode`, and errors of both name the place of the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tradingbot.configuration.violations import describe_violation
from tradingbot.configuration.yaml_reader import Document, KeyPath, Place
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import read_record

_Config = TypeVar("_Config")
_COMMAND_LINE = Path("command line")


def decode(kind: type[_Config], document: Document, *, name: str = "", where: str = "") -> _Config:
    """Make a checked, frozen configuration of a document.

    Args:
        kind: A pydantic model or a dataclass.
        document: Values, and their places.
        name: Of the configuration, for messages about a dataclass: `evaluation`.
        where: Place that is named where a dataclass does not say one itself.

    Raises:
        ConfigError: Naming place, rule, value and remedy of the first broken rule.
    """
    if issubclass(kind, BaseModel):
        try:
            return kind.model_validate(document.values)
        except ValidationError as e:
            raise describe_violation(e, document.places, kind) from e
    try:
        return read_record(kind, document.values, name=name)
    except ConfigError as e:
        place = e.where or where or None
        raise ConfigError(e.rule, was=e.was, where=place, remedy=e.remedy) from e


def document_of_options(overrides: Mapping[str, object]) -> Document:
    """Lay dotted keys out as the document that a file with the same keys would be.

    Raises:
        ConfigError: If a key is no key, or is set twice.
    """
    values: dict[str, Any] = {}
    places: dict[KeyPath, Place] = {}
    for number, (dotted, value) in enumerate(overrides.items(), start=1):
        keys = tuple(dotted.split("."))
        if not all(keys):
            raise ConfigError("a key must be words with dots between them", was=repr(dotted))
        section = values
        for depth, key in enumerate(keys[:-1], start=1):
            section = section.setdefault(key, {})
            if not isinstance(section, dict):
                raise ConfigError("a key must be set once", was=repr(dotted))
            places.setdefault(keys[:depth], Place(_COMMAND_LINE, number))
        section[keys[-1]] = _option_value(value)
        places[keys] = Place(_COMMAND_LINE, number)
    return Document(values, places)


def _option_value(value: object) -> object:
    """Read what text of a command line may mean: a list, a day, or what it is."""
    if not isinstance(value, str):
        return value
    if value.startswith("[") and value.endswith("]"):
        return [_number(item.strip()) for item in value[1:-1].split(",") if item.strip()]
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None if value == "null" else value


def _number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
