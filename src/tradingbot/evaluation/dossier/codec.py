"""Records of the dossier as plain values that JSON can hold, and back without loss.

Dataclasses and intervals become objects, tuples lists; NaN and infinity, which JSON has no
number for, become the texts `nan`, `inf` and `-inf`.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.interval import Interval

_Record = TypeVar("_Record")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_plain(record: object) -> Any:
    """Return a record as what JSON can say.

    Example:
        >>> from tradingbot.evaluation.statistics.interval import Interval
        >>> to_plain((Interval(1.0, 0.5, math.inf),))
        [{'estimate': 1.0, 'low': 0.5, 'high': 'inf'}]
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        names = [field.name for field in dataclasses.fields(record)]
        return {name: to_plain(getattr(record, name)) for name in names}
    if isinstance(record, Interval):
        return {name: to_plain(value) for name, value in record._asdict().items()}
    if isinstance(record, tuple | list):
        return [to_plain(value) for value in record]
    if isinstance(record, float) and not math.isfinite(record):
        return str(float(record))
    if record is None or isinstance(record, str | bool | int | float):
        return record
    raise TypeError(f"a record must hold plain values, was {type(record).__name__}")


def from_plain(kind: type[_Record], value: object, *, name: str = "") -> _Record:
    """Build a record from what `to_plain` wrote.

    Args:
        kind: A dataclass of plain values, tuples, intervals and other such dataclasses.
        value: From JSON.
        name: Where it stands, for messages.

    Raises:
        DataError: If something is missing, unknown or of another kind.
    """
    read: _Record = _read(kind, value, name or kind.__name__)
    return read


def _read(hint: Any, value: Any, name: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _read_union(hint, value, name)
    if origin is tuple:
        return _read_tuple(get_args(hint), value, name)
    if origin is Literal:
        return _require(value in get_args(hint), value, value, name)
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hint is Interval):
        return _read_record(hint, value, name)
    if hint is float:
        return _read_float(value, name)
    fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    return _require(fits, value, value, name)


def _read_record(kind: Any, value: Any, name: str) -> Any:
    _require(isinstance(value, Mapping), value, value, name)
    hints = _hints_of(kind)
    odd = sorted(set(hints) ^ set(value))
    if odd:
        missing = "missing" if odd[0] in hints else "unknown"
        raise DataError(
            f"{name} must have the fields of {kind.__name__}", was=f"{odd[0]} {missing}"
        )
    return kind(**{key: _read(hints[key], value[key], f"{name}.{key}") for key in hints})


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    names = (
        [field.name for field in dataclasses.fields(kind)]
        if dataclasses.is_dataclass(kind)
        else list(kind._fields)
    )
    hints = get_type_hints(kind)
    return {each: hints[each] for each in names}


def _read_union(hint: Any, value: Any, name: str) -> Any:
    members = get_args(hint)
    if value is None and type(None) in members:
        return None
    problem: DataError | None = None
    for member in members:
        if member is type(None):
            continue
        try:
            return _read(member, value, name)
        except DataError as e:
            problem = e
    assert problem is not None
    raise problem


def _read_tuple(members: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    _require(isinstance(value, list), value, value, name)
    if len(members) == 2 and members[1] is Ellipsis:
        return tuple(_read(members[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    _require(len(value) == len(members), value, f"{len(value)} values", name)
    pairs = zip(members, value, strict=True)
    return tuple(_read(member, item, f"{name}[{i}]") for i, (member, item) in enumerate(pairs))


def _read_float(value: Any, name: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return float(_require(fits, value, value, name))


def _require(holds: bool, value: Any, was: object, name: str) -> Any:
    if not holds:
        raise DataError(f"{name} must be as a dossier has it", was=repr(was)[:60])
    return value
