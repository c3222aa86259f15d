"""Why an order was denied, and why a position was closed without being asked: stable codes."""

from __future__ import annotations

from enum import IntEnum


class Denial(IntEnum):
    """The rule that denied an order; the number is what tensors and journals hold."""

    NONE = 0
    UNKNOWN_VALUE = 1
    TRADING_HALTED = 2
    STALE_DATA = 3
    SHORT_NOT_ALLOWED = 4
    MAX_ORDER_VALUE = 5
    MAX_POSITION = 6
    CASH_RESERVE = 7
    MARGIN = 8
    MIN_TRADE_VALUE = 9


class SessionDenial(IntEnum):
    """The session rule that denied an order; numbers disjoint from those of `Denial`."""

    DUPLICATE_ORDER = 33
    STALE_PRICE = 34
    PRICE_COLLAR = 35
    DAILY_LOSS = 36
    TRADE_COUNT = 37
    LOW_CONFIDENCE = 38
    CORRELATED_EXPOSURE = 39
    OPEN_ORDERS = 40


class ExitReason(IntEnum):
    """Why a position was closed by a rule rather than by its agent."""

    NONE = 0
    EMERGENCY = 1
    MARGIN_CALL = 2
    POSITION_LOSS = 3
    MAX_HOLDING = 4
    STOP_LOSS = 5
    TAKE_PROFIT = 6
