"""Frozen records from plain values of YAML or JSON, and back: the one decoder of dataclasses.

Records check themselves when they are built; here is what plain values add: unknown keys, lists
that are tuples, whole numbers that are meant as fractions, text that is a time, an exact number or
a member of an enumeration, and types that read a short form of themselves.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tradingbot.domain.errors import ConfigError, UserError, require_known, suggest
from tradingbot.domain.exact_number import plain_text

_Record = TypeVar("_Record")
type_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)
"""Class → types of its fields; evaluating them anew takes a millisecond."""


def read_record(
    kind: type[_Record],
    values: object,
    *,
    name: str,
    base: _Record | None = None,
    error: type[UserError] = ConfigError,
) -> _Record:
    """Build a record from a mapping; what is left out is as in `base`.

    A type with a class method `from_plain(value)` is asked first and may read a short form of
    itself; it returns None where the value is none.

    Args:
        kind: A dataclass.
        values: What a file gave; an instance of the kind is returned as it is.
        name: Where it stands, for messages, e.g. `learner.ppo`.
        base: What the record is by default: PPO's learning rate is not that of any schedule.
        error: What is raised.

    Raises:
        UserError: Of the class `error`, if a key is unknown (with the nearest one) or missing, or
            a value is of the wrong kind.
    """
    return RecordDecoder(error).record(kind, values, name, base)


def read_number(text: str) -> int | float | str:
    """Read a text as a whole number, else as a number, else leave it as it is.

    Example:
        >>> [read_number(text) for text in ("3", "0.5", "word")]
        [3, 0.5, 'word']
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_plain_values(value: object, *, keep_non_finite: bool = False) -> Any:
    """Return a record as what YAML and JSON can say.

    Args:
        value: A dataclass, or anything that one holds.
        keep_non_finite: Leave NaN and infinity as numbers; else they become text.

    Example:
        >>> from tradingbot.domain.timeframe import Timeframe
        >>> as_plain_values(Timeframe(15, "m"))
        {'count': 15, 'unit': 'm'}
    """

    def plain(item: object) -> Any:
        return as_plain_values(item, keep_non_finite=keep_non_finite)

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value) and not keep_non_finite:
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return plain_text(value)
    return value.isoformat() if isinstance(value, datetime) else value


@dataclasses.dataclass(frozen=True)
class RecordDecoder:
    """Reads values by type hints; every message begins with the place of the value."""

    error: type[UserError]
    not_finite: ClassVar[Mapping[str, float]] = {"inf": math.inf, "-inf": -math.inf}
    """Texts that are read as numbers."""

    def record(self, kind: type[_Record], values: object, name: str, base: Any = None) -> _Record:
        """Build a record from a mapping; arguments are those of `read_record`."""
        if isinstance(values, kind):
            return values
        if not isinstance(values, Mapping):
            raise self.error(f"{name} must be a mapping of keys to values", was=repr(values)[:60])
        fields = dataclasses.fields(kind)  # type: ignore[arg-type]
        known, hints = [field.name for field in fields], type_hints(kind)
        for key in values:
            require_known(
                str(key), known, f"key must be known in section {name!r}", error=self.error
            )
        needed = [field.name for field in fields if _is_needed(field)]
        base = kind() if base is None and not needed else base
        made = {
            key: self.read(hints[key], value, f"{name}.{key}", getattr(base, key, None))
            for key, value in values.items()
        }
        for key in needed if base is None else ():
            if key not in values:
                raise self.error(f"{name}.{key} must be given", was="nothing")
        try:
            built: _Record = kind(**made) if base is None else dataclasses.replace(base, **made)
        except UserError as e:
            raise _in_full(e, kind, known, name) from e
        return built

    def read(self, hint: Any, value: Any, name: str, base: object = None) -> Any:
        """Return a value as its type hint says; `base` is what a record is by default."""
        origin = get_origin(hint)
        if hint is Any:
            return value
        if origin in (Union, types.UnionType):
            return self._union(hint, value, name)
        if origin is tuple:
            return self._tuple(hint, value, name)
        if origin is Literal:
            return self._require(value in get_args(hint), hint, value, name)
        if origin is not None:  # a mapping of names to values
            self._require(isinstance(value, Mapping), dict, value, name)
            member = get_args(hint)[1]
            return {key: self.read(member, item, f"{name}.{key}") for key, item in value.items()}
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            short = getattr(hint, "from_plain", None)
            made = None if short is None else short(value)
            return self.record(hint, value, name, base) if made is None else made
        if hint is float:
            return self._float(value, name)
        if hint in _TEXTS or (isinstance(hint, type) and issubclass(hint, Enum)):
            return self._text(hint, value, name)
        is_one = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
        return self._require(is_one, hint, value, name)

    def _union(self, hint: Any, value: Any, name: str) -> Any:
        for member in get_args(hint):
            if member is type(None) and value is None:
                return None
            try:
                return self.read(member, value, name)
            except (self.error, TypeError):
                continue
        return self._require(False, hint, value, name)

    def _tuple(self, hint: Any, value: Any, name: str) -> tuple[Any, ...]:
        members = get_args(hint)
        if not isinstance(value, list | tuple):
            raise self.error(f"{name} must be a list", was=repr(value)[:60])
        if members[-1] is Ellipsis:
            members = (members[0],) * len(value)
        if len(members) != len(value):
            raise self.error(f"{name} must be a list of {len(members)}", was=f"{len(value)} values")
        pairs = zip(members, value, strict=True)
        return tuple(self.read(member, it, f"{name}[{i}]") for i, (member, it) in enumerate(pairs))

    def _float(self, value: Any, name: str) -> float:
        if isinstance(value, str) and value in self.not_finite:
            return self.not_finite[value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        self._require(is_number, float, value, name)
        return float(value)

    def _text(self, hint: Any, value: Any, name: str) -> Any:
        if isinstance(value, hint):
            return value
        try:
            made = _TEXTS.get(hint, hint)(value)
        except (ValueError, TypeError, InvalidOperation):
            made = None
        self._require(made is not None, hint, value, name)
        return made

    def _require(self, holds: bool, hint: Any, value: Any, name: str) -> Any:
        if not holds:
            rule, choices = f"{name} must be {_WORDS.get(hint) or _options(hint)}", _choices(hint)
            remedy = suggest(str(value), choices) if choices else _REMEDIES.get(hint)
            raise self.error(rule, was=repr(value)[:60], remedy=remedy)
        return value


_TEXTS: dict[Any, Any] = {datetime: datetime.fromisoformat, Decimal: Decimal}
"""Types that are written as text, and how it is read."""
_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a mapping of keys to values",
    datetime: "a time as ISO 8601 writes it",
    Decimal: "an exact number as text",
}
_REMEDIES: dict[Any, str] = {
    bool: "Write true or false",
    int: "Write digits only, e.g. 20",
    float: "Write e.g. 0.25 or 1.0e+9",
    str: "Write a word; put it in quotes if it looks like a number",
}


def _in_full(error: UserError, kind: type, known: list[str], name: str) -> UserError:
    """Return what a record says of a field of its own with the name of the field in full."""
    field = error.rule.split()[0]
    if field not in known:
        return error
    is_class = error.where == f"{kind.__name__}.{field}"  # no place that a file or an option has
    where = None if is_class else error.where
    return type(error)(f"{name}.{error.rule}", was=error.was, where=where, remedy=error.remedy)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _choices(hint: Any) -> list[str]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [str(member.value) for member in hint]
    return [str(choice) for choice in get_args(hint)] if get_origin(hint) is Literal else []


def _options(hint: Any) -> str:
    if choices := _choices(hint):
        return "one of " + ", ".join(choices)
    return f"of type {getattr(hint, '__name__', hint)}"
