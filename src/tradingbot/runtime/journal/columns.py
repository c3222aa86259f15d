"""Columns that hold money, times, texts and numbers exactly, in SQLite and in PostgreSQL alike.

SQLite has no decimal number and no time, reads NaN as NULL; PostgreSQL refuses NUL in a text. What
is bound is stored so that exactly the same comes back from either.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import DateTime, Dialect, Float, Numeric, Text
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

from tradingbot.domain.exact_number import plain_text
from tradingbot.domain.order_intent import require_zone

_SQLITE = "sqlite"
_UNSTORABLE = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


class ExactNumber(TypeDecorator[Decimal]):
    """A finite decimal number, digit for digit: NUMERIC, or text without an exponent."""

    impl = Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the type of the database."""
        return dialect.type_descriptor(Text() if dialect.name == _SQLITE else Numeric())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Write a number, 1.500 as 1.5."""
        if value is None:
            return None
        text = plain_text(value)
        return text if dialect.name == _SQLITE else Decimal(text)

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """Read it back."""
        return None if value is None else Decimal(value)


class UtcMoment(TypeDecorator[datetime]):
    """A moment in UTC to the microsecond: TIMESTAMPTZ, or text that sorts as time does."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the type of the database."""
        is_text = dialect.name == _SQLITE
        return dialect.type_descriptor(Text() if is_text else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Write a moment; one without a zone is refused."""
        if value is None:
            return None
        require_zone(value, "a time in the journal", "journal")
        moment = value.astimezone(UTC)
        return moment.isoformat(timespec="microseconds") if dialect.name == _SQLITE else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Read it back, in UTC."""
        if value is None:
            return None
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC)


class ExactText(TypeDecorator[str]):
    """Any text: NUL, lone surrogates and the backslash itself are escaped by a backslash."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Write a text."""
        return None if value is None else _UNSTORABLE.sub(_escape, str(value))

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """Read it back."""
        return None if value is None else _ESCAPED.sub(_unescape, value)


class _Real(UserDefinedType[float]):
    """REAL that is given to SQLite as it is."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "REAL"


class Number(TypeDecorator[float]):
    """A number of 64 bits; what is not finite is a text in SQLite, which has no NaN."""

    impl = Float(53)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the type of the database."""
        return dialect.type_descriptor(_Real() if dialect.name == _SQLITE else Float(53))

    def process_bind_param(self, value: float | None, dialect: Dialect) -> Any:
        """Write a number."""
        if value is None or dialect.name != _SQLITE or math.isfinite(value):
            return value
        return str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:
        """Read it back."""
        return None if value is None else float(value)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    return "\\" if escaped == "\\" else chr(int(escaped[1:], 16))
