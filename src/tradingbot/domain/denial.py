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
    """The session rule that denied an order; numbers disjoint from those of `Denial`.

    In the order in which the rules are asked; numbers never change, because journals hold them.
    """

    LIMIT_MISSING = 41
    KILL_SWITCH = 42
    SESSION_HALTED = 43
    ACCOUNT_BLOCKED = 44
    SYMBOL_RESTRICTED = 45
    ASSET_NOT_TRADABLE = 46
    ASSET_HALTED = 47
    MARKET_CLOSED = 48
    DUPLICATE_ORDER = 33
    UNANSWERED_ORDER = 49
    SELF_CROSS = 50
    MAX_QUANTITY = 51
    MIN_QUANTITY = 52
    QUANTITY_PRECISION = 53
    PRICE_TICK = 54
    ORDER_NOTIONAL = 55
    MESSAGE_RATE = 56
    STALE_PRICE = 34
    PRICE_COLLAR = 35
    QUOTE_CROSSED = 78
    QUOTE_OLD = 80
    QUOTE_WIDE = 79
    PRICE_JUMP = 57
    CRITICAL_DRAWDOWN = 58
    REDUCING_ONLY = 59
    DRAWDOWN = 60
    DAILY_LOSS = 36
    TRADE_COUNT = 37
    REPEATED_EXECUTION = 61
    CONSECUTIVE_REJECTS = 62
    OVERFILL = 63
    JOURNAL_UNAVAILABLE = 64
    BROKER_DISCONNECTED = 65
    CLOCK_SKEW = 66
    POSITION_DRIFT = 67
    MODEL_UNHEALTHY = 68
    LOW_CONFIDENCE = 38
    AUCTION_CUTOFF = 69
    NOT_SHORTABLE = 70
    STOP_LOSS = 71
    VOLUME_SHARE = 72
    NOTIONAL_WINDOW = 73
    CORRELATED_EXPOSURE = 39
    GROSS_EXPOSURE = 74
    NET_EXPOSURE = 75
    LEVERAGE = 76
    BUYING_POWER = 77
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
    DELISTED = 7
