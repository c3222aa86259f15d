"""Records of the dossier as plain values that JSON can hold, and back without loss.

Dataclasses and intervals become objects, tuples lists; NaN and infinity, which JSON has no
number for, become the texts `nan`, `inf` and `-inf`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

from tradingbot.domain.errors import DataError
from tradingbot.domain.plain_values import RecordDecoder
from tradingbot.evaluation.statistics.interval import Interval

_Record = TypeVar("_Record")


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
    read: _Record = _RecordReader(DataError).read(kind, value, name or kind.__name__)
    return read


class _RecordReader(RecordDecoder):
    """Reads what `to_plain` wrote: every field is there, and intervals are records."""

    # The one object `math.nan`: records that hold it are equal to themselves read again.
    not_finite: ClassVar[Mapping[str, float]] = {**RecordDecoder.not_finite, "nan": math.nan}

    def record(self, kind: Any, values: object, name: str, base: Any = None) -> Any:
        if not isinstance(values, Mapping):
            raise DataError(f"{name} must be a record", was=repr(values)[:60])
        hints = _hints_of(kind)
        odd = sorted(set(hints) ^ set(values))
        if odd:
            missing = "missing" if odd[0] in hints else "unknown"
            rule = f"{name} must have the fields of {kind.__name__}"
            raise DataError(rule, was=f"{odd[0]} {missing}")
        return kind(**{key: self.read(hints[key], values[key], f"{name}.{key}") for key in hints})

    def read(self, hint: Any, value: Any, name: str, base: object = None) -> Any:
        if hint is Interval:
            return self.record(Interval, value, name)
        members = get_args(hint)
        if value is not None and len(members) == 2 and members[1] is type(None):
            return self.read(members[0], value, name)  # so that messages name the place within
        return super().read(hint, value, name, base)


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    names, hints = [field.name for field in fields] or kind._fields, get_type_hints(kind)
    return {name: hints[name] for name in names}
