"""Sections of a configuration that are dataclasses of the library."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from tradingbot.domain.errors import UserError
from tradingbot.domain.plain_values import as_plain_values, read_record

_Kind = TypeVar("_Kind")


def _build(kind: type[_Kind], name: str, values: object) -> _Kind:
    try:
        return read_record(kind, values, name=name)
    except UserError as e:
        raise ValueError(str(e)) from e


def library_section(kind: type[_Kind], name: str) -> Any:
    """Say how a section is read as a dataclass of the library, and written as plain values."""
    return (BeforeValidator(partial(_build, kind, name)), PlainSerializer(as_plain_values))
