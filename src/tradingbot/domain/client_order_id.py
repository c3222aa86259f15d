"""Client order ids: the same decision gives the same id, in any process and after any restart.

A venue refuses a second order with an id that it has seen, so sending a decision again can never
make a second order.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

from tradingbot.domain.errors import TradingError
from tradingbot.domain.symbol import require_symbol

MAX_ID_LENGTH = 48
"""Longest id that every supported venue accepts."""
_DIGEST_LENGTH = 24  # 96 bits: a clash among 10⁹ orders is less likely than 10⁻¹¹


def client_order_id(*, decided_at: datetime, symbol: str, model: str, sequence: int) -> str:
    """Name the order of a decision.

    Args:
        decided_at: Close of the bar that was decided on, with its time zone.
        symbol: What is traded.
        model: Version of the model that decided, e.g. the hash of its weights.
        sequence: Number of the order among those of this decision and symbol, from 0: 1 is the
            second leg of a turn, not a second attempt at the first.

    Returns:
        Decision time in UTC and 24 hexadecimal digits, 40 characters.

    Raises:
        TradingError: If the time has no zone, the model has no name, or the number is below 0.

    Example:
        >>> at = datetime(2026, 1, 5, 15, 30, tzinfo=UTC)
        >>> client_order_id(decided_at=at, symbol="SPY", model="5f3a", sequence=0)
        '20260105T153000-f523a88b1a242f33484b8cb9'
    """
    require_symbol(symbol)
    require_zone(decided_at, "decided_at", "client_order_id")
    if not model.strip():
        raise TradingError("model must be named", was=repr(model), where="client_order_id")
    if isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 0:
        raise TradingError("sequence must be 0 or more", was=sequence, where="client_order_id")
    moment = decided_at.astimezone(UTC)
    key = json.dumps([moment.isoformat(timespec="microseconds"), symbol, model, sequence])
    digest = hashlib.sha256(key.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{moment:%Y%m%dT%H%M%S}-{digest}"


def require_zone(moment: datetime, name: str, where: str) -> None:
    """Refuse a time without a zone: it would mean another moment on another machine.

    Raises:
        TradingError: Naming the field.
    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise TradingError(
            f"{name} must have a time zone",
            was=moment,
            where=where,
            remedy="Use datetime(…, tzinfo=UTC)",
        )
