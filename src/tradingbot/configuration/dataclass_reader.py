"""Configuration dataclasses of the library from plain values of a YAML file, and back.

The library's configurations check themselves when they are built; here is what YAML adds: unknown
keys, lists that are tuples, whole numbers that are meant as fractions, mappings, and plain numbers
for schedules that never change.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.learning.schedules import Schedule, constant

_Config = TypeVar("_Config")


def read_dataclass(
    kind: type[_Config], values: object, *, name: str, base: _Config | None = None
) -> _Config:
    """Build a configuration from a mapping; what is left out is as in `base`.

    Args:
        kind: A dataclass.
        values: What YAML gave; an instance of the kind is returned as it is.
        name: Where it stands, for messages, e.g. `learner.ppo`.
        base: What the configuration is by default: PPO's learning rate is not that of any schedule.

    Raises:
        ConfigError: If a key is unknown (with the nearest one) or a value is of the wrong kind.
    """
    if isinstance(values, kind):
        return values
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name} must be a mapping of keys to values", was=repr(values)[:60])
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key in values:
        if key not in known:
            raise ConfigError(
                f"key must be known in section {name!r}",
                was=repr(str(key)),
                remedy=suggest(str(key), known),
            )
    base = kind() if base is None else base
    made = {
        key: _read(hints[key], value, f"{name}.{key}", getattr(base, key))
        for key, value in values.items()
    }
    return dataclasses.replace(base, **made)  # type: ignore[type-var]


def plain_values(config: object) -> Any:
    """Return a configuration as what YAML and JSON can say; infinity as text.

    Example:
        >>> from tradingbot.learning.early_stopping import StoppingConfig
        >>> plain_values(StoppingConfig(patience=3))
        {'patience': 3, 'min_gain': 0.0, 'first_updates': 0}
    """
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        fields = dataclasses.fields(config)
        return {field.name: plain_values(getattr(config, field.name)) for field in fields}
    if isinstance(config, tuple | list):
        return [plain_values(item) for item in config]
    if isinstance(config, float) and not math.isfinite(config):
        return str(config)
    return config


def _read(hint: Any, value: Any, name: str, base: object = None) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _read_union(hint, value, name)
    if origin is tuple:
        return _read_tuple(hint, value, name)
    if origin is Literal:
        return _require(value in get_args(hint), hint, value, name)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint is Schedule and isinstance(value, int | float) and not isinstance(value, bool):
            return constant(float(value))
        return read_dataclass(hint, value, name=name, base=base)
    if hint is float:
        return _read_float(value, name)
    is_one = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    return _require(is_one, hint, value, name)


def _read_union(hint: Any, value: Any, name: str) -> Any:
    for member in get_args(hint):
        if member is type(None) and value is None:
            return None
        try:
            return _read(member, value, name)
        except (ConfigError, TypeError):
            continue
    return _require(False, hint, value, name)


def _read_tuple(hint: Any, value: Any, name: str) -> tuple[Any, ...]:
    members = get_args(hint)
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name} must be a list", was=repr(value)[:60])
    if members[-1] is Ellipsis:
        return tuple(_read(members[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    if len(members) != len(value):
        raise ConfigError(f"{name} must be a list of {len(members)}", was=f"{len(value)} values")
    pairs = zip(members, value, strict=True)
    return tuple(_read(member, item, f"{name}[{i}]") for i, (member, item) in enumerate(pairs))


def _read_float(value: Any, name: str) -> float:
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    _require(isinstance(value, int | float) and not isinstance(value, bool), float, value, name)
    return float(value)


def _require(holds: bool, hint: Any, value: Any, name: str) -> Any:
    if not holds:
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        rule = f"{name} must be {words.get(hint) or _options(hint)}"
        choices = [str(choice) for choice in get_args(hint)]
        remedy = suggest(str(value), choices) if get_origin(hint) is Literal else None
        raise ConfigError(rule, was=repr(value)[:60], remedy=remedy)
    return value


def _options(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(hint))
    return f"of type {getattr(hint, '__name__', hint)}"
