"""The numbers that orders are judged by, the same in simulation and live."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.errors import ConfigError


@dataclass(frozen=True)
class RiskLimits:
    """Pre-trade limits of one account."""

    max_position_frac: float = 0.15
    """Largest position, of equity; 1 for a sleeve that holds one symbol only."""
    max_order_frac: float = 1.0
    """Largest single order, of equity."""
    reserve_frac: float = 0.0
    """Cash that buys must leave, of equity."""
    min_trade_ccy: float = 25.0
    allow_short: bool = False
    margin_frac: float = 1.5
    """Cash (with the proceeds) that opening a short needs, of the short's value."""
    max_stale_bars: int = 0
    """Bars without a trade beyond which no position may be opened or increased."""

    def __post_init__(self) -> None:
        require_kinds(self)
        require(0.0 < self.max_position_frac <= 1.0, "max_position_frac must lie in (0, 1]", self)
        require(0.0 < self.max_order_frac < math.inf, "max_order_frac must be above 0", self)
        require(0.0 <= self.reserve_frac < 1.0, "reserve_frac must lie in [0, 1)", self)
        require(0.0 <= self.min_trade_ccy < math.inf, "min_trade_ccy must be 0 or more", self)
        require(1.0 < self.margin_frac < math.inf, "margin_frac must be above 1", self)
        require(self.max_stale_bars >= 0, "max_stale_bars must be 0 or more", self)


_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float)}


def require_kinds(rules: object) -> None:
    """Refuse a field that is declared as truth value or number and holds something else.

    "no" is true to Python, and half a bar is none.
    """
    for name, kind in type(rules).__annotations__.items():
        value, kinds = getattr(rules, name), _KINDS.get(kind)
        if kinds is None or (
            isinstance(value, kinds) and (kind == "bool") == (value is True or value is False)
        ):
            continue
        raise ConfigError(
            f"{name} must be of type {kind}",
            was=repr(value),
            where=f"{type(rules).__name__}.{name}",
        )


def require(holds: bool, rule: str, rules: object) -> None:
    """Raise ConfigError unless a rule holds; the first word of the rule names the field."""
    if not holds:
        name = rule.split()[0]
        raise ConfigError(
            rule, was=getattr(rules, name, None), where=f"{type(rules).__name__}.{name}"
        )
