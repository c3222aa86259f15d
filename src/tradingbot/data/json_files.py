"""Values as JSON can hold them, and what is wrong with a JSON file that cannot be read."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from pathlib import PurePath
from typing import Any


def json_problem(error: OSError | ValueError) -> str:
    """Say why a file was not read, without the name of an exception.

    Example:
        >>> try:
        ...     json.loads("{bad")
        ... except ValueError as e:
        ...     json_problem(e)
        'no JSON in line 1: expecting property name enclosed in double quotes'
    """
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON in line {error.lineno}: {error.msg[:1].lower()}{error.msg[1:]}"
    if isinstance(error, UnicodeDecodeError):
        return "no text"
    if isinstance(error, FileNotFoundError):
        return "missing"
    if isinstance(error, OSError):
        return (error.strerror or "unreadable").lower()
    return " ".join(str(error).split())[:120]


def as_json(value: Any) -> Any:
    """Turn a result into what JSON can say.

    Dataclasses and pydantic models become objects, times ISO 8601 text, paths text, arrays lists,
    NaN and infinity null.

    Example:
        >>> as_json({"sharpe": float("nan"), "folder": PurePath("a"), "bars": (1, 2)})
        {'sharpe': None, 'folder': 'a', 'bars': [1, 2]}
    """
    if isinstance(value, Enum):
        return as_json(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(item) for key, item in value.items()}
    return _object_as_json(value)


def _object_as_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    # By method, not by class: pydantic, numpy and torch are too heavy to import for `--help`.
    if hasattr(value, "model_dump"):
        return as_json(value.model_dump())
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [as_json(item) for item in items]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
